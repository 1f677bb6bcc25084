# SPDX-License-Identifier: MIT
"""Every call is seen, exactly once, and interpreted correctly: the counts are equal to the last one.

The victim (exact.cc) counts its own calls between two marks, and the watch counts between the same two
(--from, --until).
"""
import json
import os
import random

import pytest

from counted import MARKS, assert_equal, calls_seen, small_alignments_joined
from harness import lost, rounds
from untouched import assert_untouched

OPS = rounds(600, 1200)  # by each of the eight threads


@pytest.mark.parametrize("sizes, size", [("usable", "live_usable"), ("exact", "live_requested")])
def test_attached_while_running(victim, attach, sizes, size):
    target = victim("exact", OPS)
    for _ in range(rounds(4, 50)):
        watch = attach(target, "--sizes", sizes, *MARKS)
        told = target.ask(f"go {random.getrandbits(40)}", limit=120)
        report = watch.finish()
        assert_equal(report, told, size)
        # with the kernel's probes, too, aligned_alloc has its entry
        if sizes == "exact" or os.environ.get("MM_ENGINE") == "uprobe":
            assert small_alignments_joined(calls_seen(report)) == small_alignments_joined(told["calls"])
        else:
            assert calls_seen(report) == told["calls"]
        assert_untouched(target)
        target.ask("churn")
    assert target.end() == {"ended": True}


def test_started(watch, tmp_path):
    for turn in range(rounds(4, 50)):
        report_file = tmp_path / f"report.{turn}"
        run = watch("--report", report_file, *MARKS, "--", "build/victims/exact", OPS, stdin=-1)
        run.wait_watching()
        assert run.out.take().startswith("ready ")
        run.process.stdin.write(f"go {random.getrandbits(40)}\nend\n".encode())
        run.process.stdin.close()
        told = json.loads(run.out.take(120))
        assert run.wait() == 0, run.said()
        report = json.loads(report_file.read_text())
        assert_equal(report, told)
        if os.environ.get("MM_ENGINE") == "uprobe":
            assert small_alignments_joined(calls_seen(report)) == small_alignments_joined(told["calls"])
        else:
            assert calls_seen(report) == told["calls"]


def test_marks_may_be_passed_twice(victim, attach):
    """Calls between an end mark and the next begin mark are not counted; and an address that was freed and
    allocated again there must not look like a double free.
    """
    target = victim("exact", OPS)
    watch = attach(target, *MARKS)
    told = [target.ask("go 1", limit=120)]
    target.ask("churn")
    told.append(target.ask("go 2", limit=120))
    report = watch.finish()
    totals = report["totals"]
    assert totals["allocs"] == sum(t["allocs"] for t in told)
    assert totals["frees"] == sum(t["frees"] for t in told)
    assert totals["double_frees"] == 0
    assert lost(report) == {}
    assert_untouched(target)
    target.end()


def test_nothing_between_the_marks_counts_nothing(victim, attach):
    """A hot process outside the marks leaves every count at zero."""
    target = victim("exact", OPS)
    report = attach(target, *MARKS).finish()
    assert report["totals"] == {
        "allocs": 0, "frees": 0, "unmatched_frees": 0, "older_blocks": 0, "older_bytes": 0, "double_frees": 0, "live_blocks": 0, "live_bytes": 0,
    }
    assert_untouched(target)
    target.end()


def test_detached_threads(victim, attach):
    """A thread that ends frees what is in its cache, which was freed before, and then what others that have ended
    had: none of these frees is the program's, and none is a double one. The program's own are."""
    target = victim("bursts")
    watch = attach(target, "--verdicts", "no")
    assert target.ask("detach", limit=120) == {"detached": 400}
    target.ask("twice 3")
    report = watch.finish()
    assert report["totals"]["double_frees"] == 3 and lost(report) == {}, report["totals"]
    assert_untouched(target)
    target.end()
