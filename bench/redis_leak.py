# SPDX-License-Identifier: MIT
"""redis at --budget 1%, under full load, with a leak: whether that is found, and what the watch costs.

The load is redis-benchmark's SETs of 100,000 keys on a unix socket. Meanwhile one more client adds a new member
to a set, 100 times a second, and nothing is ever removed: two blocks each, an entry of the table and a string.

Cost: SETs per second of the time that the server's threads ran or (as mmattach reports) were stopped, watched
and unwatched alternately. Time in which it waited for a processor or for its clients is left out: on a shared
machine that varies by a fifth from minute to minute. The row of wall-clock time has it all.
"""
import contextlib
import pathlib
import shutil
import socket
import statistics
import tempfile
import threading
import time

from redis import NEEDS, Redis
from sides import Mmattach

PROMISE = 1.0  # percent
UNWATCHED_S, WATCHED_S = 8, 60
LEAKS_A_SECOND = 100
WHERE = "saddCommand"  # in the stacks of what leaks


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


def cpu_s(pid):
    return sum(int(thread.read_text().split()[0]) for thread in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


def counts(redis, leak):
    return {"sets": redis.served(), "cpu": cpu_s(redis.pid), "wall": time.monotonic(), "leaked": leak.added}


def during(redis, leak, seconds):
    before = counts(redis, leak)
    time.sleep(seconds)
    after = counts(redis, leak)
    return {key: after[key] - before[key] for key in after}


def watched(redis, leak, seconds):
    """What was done meanwhile, and the report."""
    with Sampling(redis) as tracer:
        did = during(redis, leak, seconds)
    did["stopped"] = tracer.run["budget"]["spent"] * did["wall"]
    return did, tracer.report


def speed(did):
    return did["sets"] / (did["cpu"] + did.get("stopped", 0))


def all_rounds(redis, leak, n, seconds):
    """Watches, each with the unwatched time before and after it."""
    alone = during(redis, leak, UNWATCHED_S)
    for _ in range(n):
        did, report = watched(redis, leak, seconds)
        before, alone = alone, during(redis, leak, UNWATCHED_S)
        both = [before, alone]
        yield {
            "did": did, "report": report,
            "lost": 100 * (1 - speed(did) / statistics.mean(speed(a) for a in both)),
            "wall": 100 * (1 - did["sets"] / did["wall"] / statistics.mean(a["sets"] / a["wall"] for a in both)),
        }


def found(round_):
    """Estimated / true, of each group of the leak that is reported as leaking."""
    a_minute = 60 * round_["did"]["leaked"] / round_["did"]["wall"]
    leaks = [g for g in round_["report"]["groups"] if g["turnover"] == "stays"]
    return [g["estimate"]["allocs_per_minute"][0] / a_minute for g in leaks
            if any(f["function"] == WHERE for f in g["stack"])]


def others(round_):
    leaks = [g for g in round_["report"]["groups"] if g["turnover"] == "stays"]
    return sum(not any(f["function"] == WHERE for f in g["stack"]) for g in leaks)


def rows(plan):
    """The rows of the table, as keyword arguments of run.py's Row."""
    missing = [need for need in NEEDS if not shutil.which(need)]
    if missing:
        print(f"bench: not installed: {' '.join(missing)}")
        return
    seconds = plan.seconds or WATCHED_S
    with contextlib.ExitStack() as stack:
        redis = stack.enter_context(Redis(stack.enter_context(tempfile.TemporaryDirectory(prefix="mm-bench-"))))
        leak = stack.enter_context(Leak(redis.socket))
        had = list(all_rounds(redis, leak, plan.rounds, seconds))
    rates = [rate for round_ in had for rate in found(round_)]
    what = f"redis, SET, --budget 1%, {seconds} s"
    yield {"name": "redis_leak/found", "what": f"{what}: of the leak's two groups, found",
           "values": [len(found(round_)) for round_ in had]}
    yield {"name": "redis_leak/others", "what": "of the other groups, reported as leaking",
           "values": [others(round_) for round_ in had]}
    if rates:
        yield {"name": "redis_leak/rate", "what": "of those found: allocations a minute, estimated / true",
               "values": rates}
    yield {"name": "redis_leak/lost", "what": "SETs lost, per second of running or being stopped", "unit": "%",
           "values": [round_["lost"] for round_ in had], "at_most": 1.5}
    yield {"name": "redis_leak/wall", "what": "SETs lost, to any process", "unit": "%",
           "values": [round_["wall"] for round_ in had]}
    yield {"name": "redis_leak/worst", "what": "stopped in the worst ten seconds, as told", "unit": "%",
           "values": [100 * round_["report"]["run"]["budget"]["worst_ten_seconds"] for round_ in had],
           "at_most": PROMISE}
