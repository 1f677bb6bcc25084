# SPDX-License-Identifier: MIT
"""Blocks in pools, pools in pools: what is live is what the allocator itself has, with four threads that use each
other's old addresses."""
import json
import subprocess

import pytest

from harness import MMATTACH, hits, lost, rounds
from untouched import assert_untouched

RULES = """
family pooled
pool     pool_new           pool=arg1  tag=str(arg2)
alloc    pool_alloc         pool=arg1  size=arg2  tag=str(arg1+0x20)
realloc  pool_grow          old=arg2   size=arg3  tag=str(arg1+0x20)
free     pool_give          ptr=arg2
free     pool_destroy
reset    pool_clear
reset    pool_clear_blocks  children=0
move     pool_move          ptr=arg2   pool=arg1
"""


@pytest.fixture
def rules(tmp_path):
    file = tmp_path / "own.probes"
    file.write_text(RULES)
    return ["--probes", file, "--verdicts", "no"]


def run_json(*command):
    done = subprocess.run([MMATTACH, *command], capture_output=True, text=True, check=True)
    return json.loads(done.stdout) if done.stdout else None


def assert_live(report, told):
    totals = report["totals"]
    assert lost(report) == {}
    assert (totals["live_blocks"], totals["live_bytes"], totals["double_frees"]) == (
        told["blocks"] + told["pools"], told["bytes"], 0), (totals, told)


@pytest.mark.parametrize("turn", range(rounds(2, 30)))
def test_as_the_allocator_has_it(victim, attach, rules, turn):
    target = victim("pooled")
    run = attach(target, *rules)
    told = target.ask(f"go 3000 {turn}", 120)
    report = run.finish()
    assert_live(report, told)
    assert report["totals"]["unmatched_frees"] == 0
    assert hits(report, "alloc pool_alloc") == told["taken"] and hits(report, "pool pool_new") == told["created"]
    assert hits(report, "free pool_give") == told["given"] and hits(report, "free pool_destroy") == told["destroyed"]
    assert {group["tag"] for group in report["groups"]} == {"a pool", "a root"}
    assert_untouched(target)
    target.end()


def test_older_pools(victim, attach, rules):
    """All that there is was made before, is freed, and made anew; then everything is freed."""
    target = victim("pooled")
    target.ask("go 3000 7")
    run = attach(target, *rules)
    told = target.ask("go 2000 8", 120)
    report = run.finish()
    assert_live(report, told)
    assert report["totals"]["unmatched_frees"] == 4     # the roots
    run = attach(target, *rules)
    target.ask("go 2000 9", 120)
    told = target.ask("clear")
    assert_live(run.finish(), told)
    assert_untouched(target)
    target.end()


def test_shrunken_trace(victim, attach, rules, tmp_path):
    """A trace needs to know nothing of pools."""
    target, trace = victim("pooled"), tmp_path / "t.mmt"
    run = attach(target, *rules, "-o", trace)
    target.ask("go 2000 1", 120)
    told = target.ask("go 500 2", 120)
    report = run.finish()
    assert_live(report, told)
    short = tmp_path / "short.mmt"
    for command in (["shrink", trace, "-o", short], ["report", "--format", "json", short]):
        again = run_json(*command)
    for name in ("live_blocks", "live_bytes", "allocs", "frees", "double_frees"):
        assert again["totals"][name] == report["totals"][name]
    assert short.stat().st_size < trace.stat().st_size
    target.end()


def test_not_in_a_sample(victim, watch, rules):
    """A budget follows single blocks."""
    target = victim("pooled")
    run = watch("-p", target.pid, *rules[:2], "--budget", "1%")
    assert run.wait() == 2
    assert "freed with their pools" in run.said()
    target.end()
