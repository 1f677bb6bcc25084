# SPDX-License-Identifier: MIT
"""What --growth costs a busy service (bench/grower.c): one slice watched and two unwatched, in rotation,
again and again.

The second unwatched slice is the reference: it is the same as the first, so their difference is the machine's
noise. The noise is larger than the cost of --growth, so the bound is on the time that threads were stopped,
relative to the time one process needs to wake another and to be woken by it, which is 0.05 to 0.5 ms on
machines that share processors.
"""
import os
import statistics
import time
import types

from pauses import Talk
from sides import PROGRAMS, Mmattach

SLICE_MS = 1000
TRIPS, BUSY_S = 20, 0.01


class Growth(Mmattach):
    options = ["--growth"]


def slice_of(service):
    return service.ask(str(SLICE_MS))


def watched_slice(service):
    """The slice, and the share of the time that threads were stopped, as reported for the whole watch."""
    with Growth(types.SimpleNamespace(pid=int(service.first))) as tracer:
        told = slice_of(service)
    return told, tracer.run["stopped_s"] / tracer.run["seconds"]


def answer(orders, answers):
    while os.read(orders, 1):
        os.write(answers, b".")


def busy_for(seconds):
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def round_trip():
    """Seconds from waking a sleeping process until it has woken us; the median of some, with some busy time
    in between, as between growths."""
    (orders, order), (answers, reply) = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(order)
        answer(orders, reply)
        os._exit(0)
    took = []
    for _ in range(TRIPS):
        busy_for(BUSY_S)
        began = time.perf_counter()
        os.write(order, b".")
        os.read(answers, 1)
        took.append(time.perf_counter() - began)
    for fd in order, orders, answers, reply:
        os.close(fd)
    os.waitpid(pid, 0)
    return statistics.median(took)


def rows(plan):
    plain, again, watched, trips = [], [], [], []
    with Talk(PROGRAMS / "grower") as service:
        slice_of(service)
        for turn in range(plan.rounds + plan.rounds // 2):
            steps = [
                lambda: plain.append(slice_of(service)["ns_per_pair"]),
                lambda: again.append(slice_of(service)["ns_per_pair"]),
                lambda: watched.append(watched_slice(service))
            ]
            for step in steps[turn % 3:] + steps[:turn % 3]:
                step()
            trips.append(round_trip())
    shares = [share for _, share in watched]
    growths = [1000 * told["growths"] / SLICE_MS for told, _ in watched]
    watched = [told["ns_per_pair"] for told, _ in watched]
    what = f"{1e6 / min(plain):.0f} thousand pairs/s, {max(growths):.0f} growths/s"
    return [{
        "name": "growth", "what": f"--growth / not watched: {what}",
        "values": [a / b for a, b in zip(watched, plain)]
    }, {
        "name": "growth/noise", "what": "not watched / not watched, as often",
        "values": [a / b for a, b in zip(again, plain)]
    }, {
        "name": "growth/ppm", "what": "time of threads that were stopped, of a million, attaching included",
        "values": [1e6 * share for share in shares], "unit": "ppm"
    }, {
        "name": "growth/stopped",
        "what": "the same, for a growth / one process wakes another and back "
                f"({1e6 * statistics.median(trips):.0f} us)",
        "values": [share / rate / trip for share, rate, trip in zip(shares, growths, trips)], "at_most": 4
    }]
