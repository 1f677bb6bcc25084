# SPDX-License-Identifier: MIT
"""Compare the counts of a report with those that the victim exact.cc made itself, between the same two marks."""
from harness import hits, lost

MARKS = ["--from", "mm_mark_begin", "--until", "mm_mark_end"]


def assert_equal(report, told, size="live_usable"):
    """@report has the counts that the victim @told."""
    assert told["failures_missed"] == 0, "the victim's own expectations are wrong"
    assert lost(report) == {}, f"lost {lost(report)}"
    totals = report["totals"]
    seen = {
        "allocs": totals["allocs"],
        "frees": totals["frees"],
        "old_frees": totals["unmatched_frees"],
        "double_frees": totals["double_frees"],
        "live_blocks": totals["live_blocks"],
        "live_bytes": totals["live_bytes"],
    }
    made = {
        "allocs": told["allocs"],
        "frees": told["frees"],
        "old_frees": told["old_frees"],
        "double_frees": 0,
        "live_blocks": told["live_blocks"],
        "live_bytes": told[size],
    }
    assert seen == made, f"seen {seen}, made {made}, gaps {report['run']['gaps']}"


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
