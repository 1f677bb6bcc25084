# SPDX-License-Identifier: MIT
"""A DPDK program that loses one block in fifty, at a known site for each way of allocating one
(dpdk_leak.c)."""
from harness import lost
from reports import of_family, where
from untouched import assert_untouched

TURNS = 400  # of each of its two threads


def test_one_in_fifty(victim, attach, built):
    target = victim(built("dpdk_leak"))
    run = attach(target, "--family", "dpdk")
    told = target.ask(f"go {TURNS}", limit=120)
    report = run.finish()
    groups = of_family(report, "rte_malloc")
    assert {where(g): [g["blocks"], g["bytes"]] for g in groups} == told
    assert report["totals"]["live_blocks"] == sum(count for count, _ in told.values())
    assert report["totals"]["double_frees"] == report["totals"]["unmatched_frees"] == 0
    assert lost(report) == {}
    assert_untouched(target)
    target.end()


def test_a_call_counts_once_though_rte_functions_call_each_other(victim, attach, built):
    target = victim(built("dpdk_leak"))
    run = attach(target, "--family", "dpdk")
    target.ask(f"go {TURNS}", limit=120)
    totals = run.finish()["totals"]
    # malloc, zmalloc, calloc and zmalloc_socket once; for rte_realloc a block, a wall, and two that the block
    # is moved to
    assert totals["allocs"] == 2 * TURNS * (4 + 4)
    assert totals["allocs"] - totals["frees"] == totals["live_blocks"]
    target.end()
