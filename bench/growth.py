# SPDX-License-Identifier: MIT
"""What --growth costs a busy service (bench/grower.c): a slice watched and two that are not, in turn, again and again.

The second of those that are not watched is the yardstick: between it and the first nothing differs, so what they differ by is
what the machine makes of such a measurement. That is more than what --growth costs, so the bound is on the time that threads stood still.
"""
import types

from pauses import Talk
from sides import PROGRAMS, Mmattach

SLICE_MS = 1000


class Growth(Mmattach):
    options = ["--growth"]


def slice_of(service):
    return service.ask(str(SLICE_MS))


def watched_slice(service):
    """The slice, and how long threads stood still in it, from what the whole watch says."""
    with Growth(types.SimpleNamespace(pid=int(service.first))) as tracer:
        told = slice_of(service)
    return told, tracer.run["stopped_seconds"] / tracer.run["seconds"]


def rows(plan):
    plain, again, watched = [], [], []
    with Talk(PROGRAMS / "grower") as service:
        slice_of(service)
        for turn in range(plan.rounds + plan.rounds // 2):
            steps = [lambda: plain.append(slice_of(service)["ns_per_pair"]), lambda: again.append(slice_of(service)["ns_per_pair"]),
                     lambda: watched.append(watched_slice(service))]
            for step in steps[turn % 3:] + steps[:turn % 3]:
                step()
    stopped = [1e6 * share for _, share in watched]
    growths = [1000 * told["growths"] / SLICE_MS for told, _ in watched]
    watched = [told["ns_per_pair"] for told, _ in watched]
    what = f"{1e6 / min(plain):.0f} thousand pairs/s, {max(growths):.0f} growths/s"
    return [{"name": "growth", "what": f"--growth / not watched: {what}", "values": [a / b for a, b in zip(watched, plain)]},
            {"name": "growth/noise", "what": "not watched / not watched, as often", "values": [a / b for a, b in zip(again, plain)]},
            {"name": "growth/stopped", "what": "threads stood still, of a million, attaching included", "values": stopped, "unit": "ppm",
             "at_most": 2000}]
