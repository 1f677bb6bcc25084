# SPDX-License-Identifier: MIT
"""What watching many processes costs beside watching one: a pair of the only one of them that is busy, and the
memory of all of mmattach's processes, divided by the number of watches."""
import contextlib
import pathlib

from engines import COUNTS_ALL, EVERY, SETTLED_S, WATCHES, children, in_turn, microseconds
from sides import Mmattach, Target

NUMBERS = [1, 8, 40]


class All:
    """@targets, as the target of a Mmattach."""

    def __init__(self, targets):
        self.pid = ",".join(str(target.pid) for target in targets)


class Watch(Mmattach):
    """The watch @name of all of @targets. Has ended after the block; .mb is its memory at the end."""

    def __init__(self, name, targets):
        self.options = [*WATCHES[name], "--verdicts", "no"]
        super().__init__(All(targets))

    def find_keeper(self):
        return self.process.pid

    def __exit__(self, *exc):
        self.mb = sum(pss_kb(pid) for pid in descendants(self.process.pid)) / 1024
        super().__exit__(*exc)


def descendants(pid):
    return [pid, *(each for child in children(pid) for each in descendants(child))]


def pss_kb(pid):
    """Its share of the memory that processes have in common, and its own."""
    rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(errors="replace")
    return int(rollup.split("\nPss:")[1].split()[0])


def measure(name, targets, plan):
    """(microseconds a pair, MB a watch)"""
    with Watch(name, targets) as watch:
        targets[0].run("pairs", 1000 * SETTLED_S, EVERY)
        own, _ = microseconds(targets[0].run("pairs", plan.slice_ms, EVERY))
    return own, watch.mb / len(targets)


def rows(plan):
    """The rows of the table, as keyword arguments of run.py's Row."""
    sides = [(name, number) for name in COUNTS_ALL for number in NUMBERS]
    had = {side: [] for side in sides}
    with contextlib.ExitStack() as stack:
        targets = [stack.enter_context(Target()) for _ in range(max(NUMBERS))]
        for turn in range(plan.rounds):
            for side in in_turn(sides, turn):
                had[side].append(measure(side[0], targets[:side[1]], plan))
    for name, number in sides:
        values = had[name, number]
        yield {"name": f"many/{name}/{number}", "unit": "us", "values": [own for own, _ in values],
               "what": f"a pair of one of {number} processes that are watched"}
        yield {"name": f"many/{name}/{number}/mb", "unit": "MB", "values": [mb for _, mb in values],
               "what": "the same: memory of mmattach, for each process"}
