# SPDX-License-Identifier: MIT
"""A busy service at --budget 1%, with a leak: whether that is found, and what the watch costs.

redis_leak: redis, with redis-benchmark's SETs of 100,000 keys on a unix socket. Meanwhile one more client adds a new
member to a set, 100 times a second, and nothing is ever removed: two blocks each, an entry of the table and a string.

rust_leak: a Rust program with a jemalloc of its own (tests/real/targets/jemallocated.rs), two threads of which serve
requests without a pause. One in 1000 is kept.

Cost: requests per second of the time that its threads ran or (as mmattach reports) were stopped, watched
and unwatched alternately. Time in which it waited for a processor or for its clients is left out: on a shared
machine that varies by a fifth from minute to minute. The row of wall-clock time has it all.
"""
import pathlib
import shutil
import socket
import statistics
import tempfile
import threading
import time

from pauses import Talk
from redis import NEEDS, Redis
from sides import TOP, Mmattach

PROMISE = 1.0  # percent
UNWATCHED_S, WATCHED_S = 8, 60
LEAKS_A_SECOND = 100
RUST = TOP / "build/real/jemallocated"


class Sampling(Mmattach):
    options = ["--budget", f"{PROMISE:g}%", "--top", "0"]


class Leak(threading.Thread):
    """Adds members to a set until it is stopped."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path, self.added, self.stopped = path, 0, threading.Event()

    def run(self):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.path)
            began = time.monotonic()
            while not self.stopped.wait(max(0, began + self.added / LEAKS_A_SECOND - time.monotonic())):
                member = f"member-{self.added:037d}"
                client.sendall(f"*3\r\n$4\r\nSADD\r\n$4\r\nleak\r\n${len(member)}\r\n{member}\r\n".encode())
                client.recv(100)
                self.added += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exc):
        self.stopped.set()
        self.join()


class LeakyRedis(Redis):
    where = "saddCommand"  # in the stacks of what leaks

    def __enter__(self):
        super().__enter__()
        self.leak = Leak(self.socket).__enter__()
        return self

    def __exit__(self, *exc):
        self.leak.__exit__(*exc)
        super().__exit__(*exc)

    def leaked(self):
        return self.leak.added


class LeakyRust(Talk):
    where = "jemallocated::keep"

    def __init__(self):
        super().__init__(RUST, 1000, 0)
        self.pid = self.process.pid

    def served(self):
        return self.ask("truth")["served"]

    def leaked(self):
        return self.ask("truth")["kept"]


def cpu_s(pid):
    return sum(int(thread.read_text().split()[0]) for thread in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


def counts(service):
    return {"served": service.served(), "cpu": cpu_s(service.pid), "wall": time.monotonic(), "leaked": service.leaked()}


def during(service, seconds):
    before = counts(service)
    time.sleep(seconds)
    after = counts(service)
    return {key: after[key] - before[key] for key in after}


def watched(service, seconds):
    """What was done meanwhile, and the report."""
    with Sampling(service) as tracer:
        did = during(service, seconds)
    did["stopped"] = tracer.run["budget"]["spent"] * did["wall"]
    return did, tracer.report


def speed(did):
    return did["served"] / (did["cpu"] + did.get("stopped", 0))


def all_rounds(service, n, seconds):
    """Watches, each with the unwatched time before and after it."""
    alone = during(service, UNWATCHED_S)
    for _ in range(n):
        did, report = watched(service, seconds)
        before, alone = alone, during(service, UNWATCHED_S)
        both = [before, alone]
        yield {
            "did": did, "report": report,
            "lost": 100 * (1 - speed(did) / statistics.mean(speed(a) for a in both)),
            "wall": 100 * (1 - did["served"] / did["wall"] / statistics.mean(a["served"] / a["wall"] for a in both)),
        }


def found(round_, where):
    """Estimated / true, of each group of the leak that is reported as leaking."""
    a_minute = 60 * round_["did"]["leaked"] / round_["did"]["wall"]
    leaks = [g for g in round_["report"]["groups"] if g["turnover"] == "stays"]
    return [g["allocs_per_minute"][0] / a_minute for g in leaks
            if any(f["function"] == where for f in g["stack"])]


def others(round_, where):
    leaks = [g for g in round_["report"]["groups"] if g["turnover"] == "stays"]
    return sum(not any(f["function"] == where for f in g["stack"]) for g in leaks)


def rows(plan, name, what, service, most):
    """The rows of the table, as keyword arguments of run.py's Row. @most: groups that leak."""
    seconds = plan.seconds or WATCHED_S
    with service:
        had = list(all_rounds(service, plan.rounds, seconds))
    rates = [rate for round_ in had for rate in found(round_, service.where)]
    yield {"name": f"{name}/found", "what": f"{what}, --budget 1%, {seconds} s: groups of the leak found, of {most}",
           "values": [len(found(round_, service.where)) for round_ in had]}
    yield {"name": f"{name}/others", "what": "of the other groups, reported as leaking",
           "values": [others(round_, service.where) for round_ in had]}
    if rates:
        yield {"name": f"{name}/rate", "what": "of those found: allocations a minute, estimated / true",
               "values": rates}
    yield {"name": f"{name}/lost", "what": "requests lost, per second of running or being stopped", "unit": "%",
           "values": [round_["lost"] for round_ in had], "at_most": 1.5}
    yield {"name": f"{name}/wall", "what": "requests lost, to any process", "unit": "%",
           "values": [round_["wall"] for round_ in had]}
    yield {"name": f"{name}/worst", "what": "stopped in the worst ten seconds, as told", "unit": "%",
           "values": [100 * round_["report"]["run"]["budget"]["worst_ten_seconds"] for round_ in had],
           "at_most": PROMISE}


def redis_rows(plan):
    missing = [need for need in NEEDS if not shutil.which(need)]
    if missing:
        print(f"bench: not installed: {' '.join(missing)}")
        return
    with tempfile.TemporaryDirectory(prefix="mm-bench-") as folder:
        yield from rows(plan, "redis_leak", "redis, SET", LeakyRedis(folder), 2)


def rust_rows(plan):
    if not RUST.exists():
        print(f"bench: not built: {RUST} (make real, with rustc and libjemalloc-dev)")
        return
    yield from rows(plan, "rust_leak", "Rust, a jemalloc of its own", LeakyRust(), 1)
