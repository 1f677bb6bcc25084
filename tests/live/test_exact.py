# SPDX-License-Identifier: MIT
"""Every call is seen, exactly once, and interpreted correctly: the counts are equal to the last one.

The victim (exact.cc) counts its own calls between two marks, and the watch counts between the same two
(--from, --until).
"""
import json
import os
import random

import pytest

from harness import hits, lost, rounds
from untouched import assert_untouched

MARKS = ["--from", "mm_mark_begin", "--until", "mm_mark_end"]
OPS = rounds(600, 1200)  # by each of the eight threads


def assert_equal(report, told, size="live_usable"):
    """@report has the counts that the victim @told."""
    assert told["failures_missed"] == 0, "the victim's own expectations are wrong"
    assert lost(report) == {}
    totals = report["totals"]
    assert {
        "allocs": totals["allocs"],
        "frees": totals["frees"],
        "old_frees": totals["unmatched_frees"],
        "double_frees": totals["double_frees"],
        "live_blocks": totals["live_blocks"],
        "live_bytes": totals["live_bytes"],
    } == {
        "allocs": told["allocs"],
        "frees": told["frees"],
        "old_frees": told["old_frees"],
        "double_frees": 0,
        "live_blocks": told["live_blocks"],
        "live_bytes": told[size],
    }


def calls_seen(report):
    """Calls of each function, grouped as by the victim: aligned_alloc, valloc and pvalloc are memalign."""
    aligned = ["memalign", "aligned_alloc", "valloc", "pvalloc"]
    return {
        "malloc": hits(report, "alloc malloc"),
        "calloc": hits(report, "alloc calloc"),
        "realloc": hits(report, "realloc realloc"),
        "posix_memalign": hits(report, "alloc posix_memalign"),
        "memalign": sum(hits(report, f"alloc {name}") for name in aligned),
        "free": hits(report, "free free"),
    }


def small_alignments_joined(calls):
    """aligned_alloc(16, n) is malloc within glibc. Which of the two is counted depends on whether
    aligned_alloc's entry has a trap, which exact sizes need.
    """
    joined = dict(calls)
    joined["malloc"] += joined.pop("memalign")
    return joined


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
        "allocs": 0, "frees": 0, "unmatched_frees": 0, "double_frees": 0, "live_blocks": 0, "live_bytes": 0,
    }
    assert_untouched(target)
    target.end()
