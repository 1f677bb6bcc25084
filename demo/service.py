#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The services of doc/recipes.md, each in a folder of its own and with something that it keeps:

  mariadb   a session that prepares statements, and closes none of them
  nginx     a connection that stays, and for each of its requests keeps the address in a header
  postgres  a session that prepares statements, and deallocates none of them
  redis     a list to which elements are added, and none is removed

Prints "ready PID", the process to watch. Ends on SIGTERM.
"""
import pathlib
import signal
import sys
import tempfile
import threading

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TOP / "tests/live"), str(TOP / "tests/real/recipes")]

from mariadb import MariaDB  # noqa: E402
from pools import Nginx, Postgres  # noqa: E402
from redis_server import Redis  # noqa: E402

ENDING = threading.Event()


# Each of these yields when it has begun.


def mariadb(service):
    session, n = service.session(), 0
    yield
    while not ENDING.wait(0.01):
        n += 1
        session.stdin.write(f"prepare kept{n} from 'select {n}, count(*) from information_schema.tables';\n")
    session.stdin.close()
    session.wait()


def redis(service):
    n = 0
    yield
    while not ENDING.wait(0.01):
        n += 1
        service.command(f"rpush kept {n:0100}")
        service.command(f"set last {n:0100}")


class OneWorker(Nginx):
    count = 1


def nginx(service):
    request = b"GET / HTTP/1.1\r\nHost: here\r\nX-Real-IP: 10.1.2.3\r\n\r\n"
    with service.connect() as connection:
        yield
        while not ENDING.wait(0.01):
            connection.sendall(request)
            answer = b""
            while b"as ever" not in answer:
                answer += connection.recv(65536)


def postgres(service):
    session, n = service.session(), 0
    session.stdin.write("select 'begun';\n")
    assert session.stdout.readline() == "begun\n"
    yield
    while not ENDING.wait(0.01):
        n += 1
        session.stdin.write(f"prepare kept{n} as select {n}, count(*) from pg_class;\n")
    session.stdin.close()
    session.wait()


KINDS = {"mariadb": (MariaDB, mariadb), "nginx": (OneWorker, nginx), "postgres": (Postgres, postgres), "redis": (Redis, redis)}


def main():
    if sys.argv[1:] not in ([kind] for kind in KINDS):
        sys.exit(f"usage: service.py {' | '.join(KINDS)}")
    for sig in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sig, lambda *_: ENDING.set())
    recipe, keep = KINDS[sys.argv[1]]
    with tempfile.TemporaryDirectory(prefix="mm-demo-") as folder, recipe(folder) as service:
        work = keep(service)
        next(work)
        print(f"ready {service.pid}", flush=True)
        for _ in work:
            pass


if __name__ == "__main__":
    main()
