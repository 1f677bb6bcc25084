# SPDX-License-Identifier: MIT
"""--sample: estimates from blocks that are chosen by their bytes, in the kernel (tests/victims/bysize.c has the
truth)."""
import json
import math
import pathlib
import subprocess

import pytest

from engines import has_uprobe
from estimated import DEVIATIONS, INTERVAL, LEAST, SITES, assert_estimated, by_site, deviation, run
from harness import MMATTACH, Watch, lost, rounds
from test_uprobe import WAYS

LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")
ALLOCATORS = {"glibc": None, "jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4", "mimalloc": "libmimalloc.so.2"}


@pytest.fixture(autouse=True, scope="module")
def _engine():
    if not has_uprobe():
        pytest.skip("clang or libbpf-dev is not installed")


@pytest.mark.parametrize("way", WAYS)
def test_estimates(victim, way):
    """Each way of the kernel: estimates are unbiased, whatever the size, and their intervals hold; blocks that were
    freed are gone, to the last one."""
    target = victim("bysize")
    sums, held, of = {site: [0, 0, 0] for site in SITES}, 0, 0
    for _ in range(rounds(3, 50)):
        report, truth = run(target, "--verdicts", "no", "--engine", way)
        assert report["run"]["mode"] == "sampled-bytes" and report["run"]["sample_bytes"] == INTERVAL
        assert report["totals"]["unmatched_frees"] == report["totals"]["double_frees"] == 0
        assert {f["function"] for g in report["groups"] for f in g["stack"]}.isdisjoint({"come_and_go", "grow"}), "all were freed"
        ok, n = assert_estimated(report, truth)
        held, of = held + ok, of + n
        for site, (blocks, size) in truth.items():
            sums[site][0] += by_site(report).get(site, (0,))[0]
            sums[site][1] += blocks
            sums[site][2] += deviation(blocks, size // blocks) ** 2
    for site, (estimated, blocks, variance) in sums.items():
        assert abs(estimated - blocks) <= DEVIATIONS * math.sqrt(variance) + 1, (site, sums)
    assert held >= 0.8 * of, (held, of)
    target.end()


@pytest.mark.parametrize("name", ALLOCATORS)
def test_allocators(victim, name):
    """Other allocators, whose functions may call or jump to each other."""
    library = LIBRARIES / (ALLOCATORS[name] or "libc.so.6")
    if not library.exists():
        pytest.skip(f"optional: not installed: {library}")
    target = victim("bysize", env={"LD_PRELOAD": str(library)} if ALLOCATORS[name] else None)
    for _ in range(rounds(1, 10)):
        report, truth = run(target)
        assert_estimated(report, truth)
        assert report["totals"]["unmatched_frees"] == 0
    target.end()


def test_verdicts_and_a_trace(victim, tmp_path):
    """Verdicts of sampled blocks count as many as these stand for; the trace has the same report."""
    target = victim("bysize")
    report, truth = run(target, "-o", tmp_path / "a.mmt", "--free-stacks")
    verdicts = report["run"]["verdicts"]
    assert verdicts["why_not"] is None
    assert sum(v["blocks"] for v in verdicts["watched"].values()) == sum(g["blocks"] for g in report["groups"])
    assert_estimated(report, truth)
    again = subprocess.run([MMATTACH, "report", "--format", "json", "--top", "0", tmp_path / "a.mmt"], capture_output=True, check=True)
    assert json.loads(again.stdout)["groups"] == report["groups"]
    target.end()


def test_shrunk(victim, tmp_path):
    """A shrunken trace has the same numbers."""
    target = victim("bysize")
    report, _ = run(target, "-o", tmp_path / "a.mmt", "--verdicts", "no")
    subprocess.run([MMATTACH, "shrink", tmp_path / "a.mmt", "-o", tmp_path / "b.mmt"], check=True)
    again = subprocess.run([MMATTACH, "report", "--format", "json", "--top", "0", tmp_path / "b.mmt"], capture_output=True, check=True)
    for name in ("totals", "groups"):
        assert json.loads(again.stdout)[name] == report[name]
    target.end()


@pytest.mark.parametrize("way", ["", *WAYS])
def test_no_argument_has_the_size(victim, way):
    """Where the size is not known, each block counts with the same few bytes; the entry is watched for that alone."""
    target = victim("bysize")
    watch = Watch("-p", str(target.pid), "--sample", "1K", "--top", "0", "--verdicts", "no", "--probe", "alloc make_thing",
                  "--probe", "free drop_thing", *(["--engine", way] if way else [])).wait_watching()
    target.ask("things 40000", limit=60)
    report = watch.finish()
    assert lost(report) == {}
    share = -math.expm1(-LEAST / 1024)
    for name, truth in (("allocs", 40000), ("frees", 20000), ("live_blocks", 20000)):
        assert abs(report["totals"][name] - truth) <= DEVIATIONS * math.sqrt(truth * (1 - share) / share) + 1, report["totals"]
    target.end()


def test_below_a_call_that_threw(victim):
    """A call that an exception has left is over: blocks of deeper calls are no part of it."""
    target = victim("throws")
    watch = Watch("-p", str(target.pid), "--sample", "1K", "--top", "0", "--verdicts", "no", "--family", "cxx").wait_watching()
    target.ask("below 30000", limit=60)
    found = [g for g in watch.finish()["groups"] if any((f["function"] or "").startswith("leak") for f in g["stack"])]
    share = -math.expm1(-100 / 1024)
    assert abs(sum(g["blocks"] for g in found) - 30000) <= DEVIATIONS * math.sqrt(30000 * (1 - share) / share) + 1, found
    target.end()


def test_what_a_condition_takes_for_a_block(victim):
    """mremap of a sampled mapping, to one that is not in the sample: no block at address 0 is made up."""
    target = victim("bysize")
    watch = Watch("-p", str(target.pid), "--sample", "256K", "--top", "0", "--verdicts", "no", "--family", "mmap").wait_watching()
    target.ask("maps 500", limit=60)
    report = watch.finish()
    assert lost(report) == {} and report["totals"]["allocs"] > 0
    assert report["totals"]["live_blocks"] == report["totals"]["unmatched_frees"] == 0, report["totals"]
    target.end()
