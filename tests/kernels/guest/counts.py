# SPDX-License-Identifier: MIT
"""Exact counts, compared with the victim's own: by ptrace, and by each way of the kernel's probes; and samples."""
import random

import estimated
from counted import MARKS, assert_equal
from harness import Victim, Watch
from proofs import LIMIT, assert_refused, in_rounds, started, without_gap
from untouched import assert_untouched

# By each of the victim's eight threads: many, where a race decides about each.
OPS, OPS_BY_PTRACE = 500, 150


def watch_once(start, target, way):
    """(what the watch has counted, what the victim has)"""
    watch = start(Watch("-p", target.pid, "--engine", way, "--verdicts", "no", *MARKS)).wait_watching(LIMIT)
    told = target.ask(f"go {random.getrandbits(40)}", LIMIT)
    report = watch.finish(limit=LIMIT)
    assert_untouched(target)
    target.ask("churn", LIMIT)
    return report, told


def one_round(start, target, way):
    assert_equal(*without_gap(lambda: watch_once(start, target, way)))


def exact(way, rounds):
    """ROUNDS watches of a process that is always busy."""
    with started() as start:
        target = start(Victim("exact", OPS_BY_PTRACE if way == "ptrace" else OPS))
        result = in_rounds(rounds, lambda i: one_round(start, target, way))
        assert target.end() == {"ended": True}
        return result


def sample_once(target, way):
    report, truth = estimated.run(target, "--verdicts", "no", "--engine", way, limit=LIMIT)
    assert report["run"]["gaps"] or report["totals"]["unmatched_frees"] == report["totals"]["double_frees"] == 0
    return report, truth


def sample(way, rounds):
    """Each site's estimate is near the truth, and each hit is accounted for."""
    with started() as start:
        target = start(Victim("bysize"))
        result = in_rounds(rounds, lambda i: estimated.assert_estimated(*without_gap(lambda: sample_once(target, way))))
        assert target.end() is not None
        return result


def refused(way):
    """A way that this kernel does not have."""
    with started() as start:
        target = start(Victim("exact", OPS))
        said = assert_refused(target, "--engine", way)
        assert target.end() == {"ended": True}
        return {"said": said}
