#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The services of doc/recipes.md, each in a folder of its own and with something that it keeps:

  mariadb   a session that prepares statements, and closes none of them
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
from redis_server import Redis  # noqa: E402

ENDING = threading.Event()


def mariadb(service):
    session, n = service.session(), 0
    while not ENDING.wait(0.01):
        n += 1
        session.stdin.write(f"prepare kept{n} from 'select {n}, count(*) from information_schema.tables';\n")
    session.stdin.close()
    session.wait()


def redis(service):
    n = 0
    while not ENDING.wait(0.01):
        n += 1
        service.command(f"rpush kept {n:0100}")
        service.command(f"set last {n:0100}")


KINDS = {"mariadb": (MariaDB, mariadb), "redis": (Redis, redis)}


def main():
    if sys.argv[1:] not in ([kind] for kind in KINDS):
        sys.exit(f"usage: service.py {' | '.join(KINDS)}")
    for sig in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sig, lambda *_: ENDING.set())
    recipe, keep = KINDS[sys.argv[1]]
    with tempfile.TemporaryDirectory(prefix="mm-demo-") as folder, recipe(folder) as service:
        print(f"ready {service.pid}", flush=True)
        keep(service)


if __name__ == "__main__":
    main()
