# SPDX-License-Identifier: MIT
"""Allocators other than glibc's: preloaded into the victims of glibc's tests, musl's, and a static
program's."""
import os
import pathlib
import random
import re

import pytest

from harness import VICTIMS, hits, last_for, lost, rounds
from untouched import assert_untouched, threads

LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")
PRELOADED = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4",
             "tcmalloc_full": "libtcmalloc.so.4", "mimalloc": "libmimalloc.so.2"}
MARKS = ["--from", "mm_mark_begin", "--until", "mm_mark_end"]
OPS = rounds(400, 1000)  # by each thread


def give_way(target):
    """Its threads, which never wait, get what others leave: else they take the time in which mmattach attaches."""
    for tid in threads(target.pid):
        os.setpriority(os.PRIO_PROCESS, tid, 15)


@pytest.fixture(params=PRELOADED)
def preloaded(request, victim):
    """preloaded(NAME, ARG...): a victim with one of the allocators in it."""
    library = LIBRARIES / PRELOADED[request.param]
    if not library.exists():
        pytest.skip(f"optional: not installed: {library}")

    def start(*args):
        target = victim(*args, env={"LD_PRELOAD": str(library)})
        assert library.resolve().name in pathlib.Path(f"/proc/{target.pid}/maps").read_text()
        give_way(target)
        return target

    return start


def assert_equal(report, told):
    totals = report["totals"]
    assert {name: totals[name] for name in ("allocs", "frees", "live_blocks", "live_bytes", "double_frees")} == {
        "allocs": told["allocs"], "frees": told["frees"], "live_blocks": told["live_blocks"],
        "live_bytes": told["live_requested"], "double_frees": 0}
    assert totals["unmatched_frees"] == told.get("old_frees", 0)
    assert lost(report) == {}


@pytest.mark.parametrize("sizes", ["usable", "exact"])
def test_preloaded(preloaded, attach, sizes):
    """Only glibc stores the usable size where it can be read: for other allocators the requested size is
    reported either way."""
    target = preloaded("exact", OPS)
    for _ in range(rounds(2, 20)):
        run = attach(target, "--sizes", sizes, *MARKS)
        told = target.ask(f"go {random.getrandbits(40)}", limit=120)
        assert_equal(run.finish(limit=120), told)
        assert_untouched(target)
        target.ask("churn")
    target.end()


@pytest.mark.parametrize("library", [VICTIMS / "libbump.so", LIBRARIES / "libtcmalloc.so.4"], ids=lambda path: path.name)
def test_functions_that_go_on_by_another_name(victim, attach, library):
    """A sized delete that ends in a jump to another name of free, through the PLT, is one free; and valloc, which
    goes on to another name of memalign, is one allocation."""
    if not library.exists():
        pytest.skip(f"optional: not installed: {library}")
    target = victim("sized", env={"LD_PRELOAD": str(library)})
    run = attach(target, "--sizes", "exact", "--family", "libc", *MARKS)
    told = target.ask("go 500", limit=120)
    assert_equal(run.finish(limit=120), told)
    assert_untouched(target)
    target.end()


def test_nothing_is_missed_and_nothing_said(preloaded, attach):
    """Rules for every malloc and rules for this allocator's mean the same there: no warning, and no function
    "NOT WATCHED"."""
    target = preloaded("hot")
    run = attach(target)
    target.wait_working()
    report = run.finish()
    assert "not watched" not in run.err.text()
    assert not [probe for probe in report["run"]["probes"] if probe.get("note")]
    target.end()


def test_preloaded_and_left_to_itself(preloaded, attach):
    """It continues as if it had never been watched, attached to in the middle of its work, again and
    again."""
    target = preloaded("hot")
    for _ in range(rounds(3, 100)):
        run = attach(target)
        target.wait_working()
        report = run.finish()
        assert hits(report, "free") > 0
        # of a call that was in progress in a thread when we attached, only the end was seen
        assert lost(report).pop("size not read", 0) < len(threads(target.pid)) and set(lost(report)) <= {"size not read"}, lost(report)
        assert_untouched(target)
    assert target.end()["damaged"] == 0


# --- by the kernel's probes, whose return probes must not be in the way of what walks the stack ---

# in which of them all relatives of malloc get a return probe, and operator new can be watched
BY_RETURNS = ["jemalloc", "mimalloc"]


def probed_at_returns(log):
    return set(re.findall(r"plan: lib(?!c\.so)\S+: (\w+): 1 sites, its entry and its return, probed by the kernel", log))


def by_the_kernel(attach, target, *args):
    return attach(target, "--engine", "uprobe", "--verdicts", "no", "--debug=plan", *args)


@pytest.mark.parametrize("preloaded", BY_RETURNS, indirect=True)
def test_probed_at_returns(preloaded, attach):
    """Every call is seen, and its sizes."""
    target = preloaded("exact", OPS)
    whole = 0
    for _ in range(rounds(4, 20)):
        run = by_the_kernel(attach, target, *MARKS)
        told = target.ask(f"go {random.getrandbits(40)}", limit=120)
        report = run.finish(limit=120)
        assert {"malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign"} <= probed_at_returns(run.err.text())
        if not lost(report):
            whole += 1
            assert_equal(report, told)
        assert_untouched(target)
        target.ask("churn")
    assert whole
    target.end()


@pytest.mark.parametrize("preloaded", ["jemalloc", "tcmalloc"], indirect=True)
def test_exceptions_pass(preloaded, attach):
    """operator new throws its std::bad_alloc, and malloc fails, in threads that are watched."""
    target = preloaded("throws")
    for _ in range(rounds(3, 20)):
        run = by_the_kernel(attach, target)
        last_for(0.5)
        report = run.finish()
        assert hits(report, "alloc calloc") > 0
        assert "malloc" in probed_at_returns(run.err.text())
        assert_untouched(target)
    told = target.end()
    assert told["caught"] == told["asked"] > 100


def test_a_profile_is_left_alone(victim, attach):
    """jemalloc that makes a profile of its callers gets no return probe: in it the callers would be missing."""
    library = LIBRARIES / PRELOADED["jemalloc"]
    if not library.exists():
        pytest.skip(f"optional: not installed: {library}")
    target = victim("hot", env={"LD_PRELOAD": str(library), "MALLOC_CONF": "prof:true,lg_prof_sample:12"})
    give_way(target)
    run = by_the_kernel(attach, target)
    target.wait_working()
    report = run.finish()
    assert hits(report, "alloc malloc") > 0 and not probed_at_returns(run.err.text())
    assert_untouched(target)
    target.end()


@pytest.mark.parametrize("name", ["allocs_static", "allocs_musl", "allocs_musl_static"])
def test_linked_otherwise(victim, attach, built, name):
    target = victim(built(name))
    for turn in range(rounds(2, 20)):
        run = attach(target, "--sizes", "exact", *MARKS)
        told = target.ask(f"go {OPS + turn}", limit=120)
        assert_equal(run.finish(limit=120), told)
        assert_untouched(target)
    target.end()
