# SPDX-License-Identifier: MIT
"""The second engine, and what a program does to its own stacks, threads and processes while it is watched:
exceptions, longjmp, signals on other stacks, contexts, children without pause. The report is exact, and the target
goes on.

A return probe is an address on the target's stack: all that leaves a frame in another way than by its `ret` is
tried here.
"""
import os
import time

import pytest

from harness import PTRACE_DETACH, PTRACE_INTERRUPT, PTRACE_SEIZE, Watch, hits, last_for, lost, ptrace, rounds, wait_for
from own_libc import victim  # noqa: F401
from untouched import assert_code_whole, assert_untouched, code_differences

SETTLED = 0.12  # until then no free is called a double one
CAUGHT_UP = 0.1
TRIES = 20


def watching(target, *args):
    watch = Watch("-p", target.pid, "--engine", "uprobe", "--verdicts", "no", *args).wait_watching()
    last_for(SETTLED)
    return watch


def whole(target, orders, *args):
    """The answers to @orders, and the report on them, in which nothing is lost: no thread waits, so on a busy machine
    it may have to be tried again. In each try no free is a double one."""
    for _ in range(TRIES):
        watch = watching(target, *args)
        told = []
        for order in orders:
            told.append(target.ask(order, limit=120))
            last_for(CAUGHT_UP)
        report = watch.finish()
        assert_untouched(target)
        assert report["totals"]["double_frees"] == 0, report["totals"]
        if not lost(report):
            return told, report["totals"], report
    raise AssertionError(f"events are lost in each of {TRIES} watches: {lost(report)}")


def total(told, *names):
    return sum(answer[name] for answer in told for name in names)


# --- frames that are left in another way ---

@pytest.mark.parametrize("order, times, full", [("throw", 2000, 500), ("bad", 2000, 500), ("jump", 2000, 500),
                                                ("cancel", 200, 50), ("leave", 200, 50)])
def test_frames_that_do_not_return(victim, order, times, full):
    """By an exception, by longjmp, by the end of the thread: all calls are seen, and all blocks are freed. An
    exception is a block, too."""
    target = victim("leaps")
    for _ in range(rounds(1, full // 10)):
        told, totals, _ = whole(target, [f"{order} {times}"] * 10)
        assert total(told, "caught") == 10 * times
        allocs = total(told, "allocs", *(["caught"] if order in ("throw", "bad") else []))
        assert (totals["allocs"], totals["frees"], totals["live_blocks"]) == (allocs, allocs, 0)
    target.end()


def test_an_allocator_that_throws(victim):
    """leaps_take, watched by a rule, throws every second time: its other blocks are seen."""
    target = victim("leaps")
    for _ in range(rounds(1, 50)):
        told, totals, report = whole(target, ["own 2000"] * 10, "--probe", "alloc leaps_take size=arg1",
                                     "--probe", "free leaps_drop")
        assert total(told, "caught") == 20000
        probes = {p["rule"]: p["hits"] for p in report["run"]["probes"]}
        assert probes["alloc leaps_take size=arg1"] == 20000, probes
        assert (totals["allocs"], totals["frees"], totals["live_blocks"]) == (20000, 20000, 0)
    target.end()


def test_an_allocator_that_cannot_be_watched(victim):
    """leaps_pass ends by a jump, and throws: that is said. Its blocks have the same address each time, and no free
    of them is called a double one."""
    target = victim("leaps")
    watch = watching(target, "--probe", "alloc leaps_pass size=arg1", "--probe", "free leaps_drop")
    assert target.ask("pass 1000")["caught"] == 1000
    report = watch.finish()
    assert "leaps_pass in leaps is not watched" in watch.said()
    totals = report["totals"]
    assert (totals["allocs"], totals["frees"], totals["double_frees"]) == (0, 1000, 0), totals
    assert_untouched(target)
    target.end()


def test_leaks_among_them(victim):
    target = victim("leaps")
    told, totals, _ = whole(target, ["throw 500", "keep 7", "jump 500", "leave 50", "keep 5", "bad 500"])
    assert total(told, "caught") == 500 + 7 + 500 + 50 + 5 + 500
    assert totals["live_blocks"] == 12
    target.end()


# --- other stacks ---

@pytest.mark.parametrize("order", ["alt", "own"])
@pytest.mark.parametrize("place", ["above", "below"])
def test_signals(victim, place, order):
    """A handler that allocates has interrupted malloc, on the thread's own stack or on an alternate one, of a thread
    that began during the watch. Before such calls were left out, the kernel forgot the return probe of the interrupted
    one, and the target died of SIGILL."""
    target = victim("altstacks", place)
    inner = unfollowed = 0
    for _ in range(rounds(1, 30)):
        watch = watching(target)
        told = target.ask(f"{order} {1000}", limit=120)
        report = watch.finish()
        assert_untouched(target)
        assert told["damaged"] == 0 and report["totals"]["double_frees"] == 0
        assert report["totals"]["live_blocks"] <= sum(lost(report).values())
        if (place, order) == ("above", "alt"):
            unfollowed += lost(report).get("call not followed", 0)
        else:
            assert "call not followed" not in lost(report)
        inner += told["inner"]
    assert inner > 0 and (unfollowed > 0) == ((place, order) == ("above", "alt"))
    target.end()


def test_signals_at_silent_probes(victim):
    """Probes that record nothing any more, as those that stay because of a tracer, make no return probe either: they
    would not be asked which call to leave out."""
    target = victim("altstacks", "above")
    assert ptrace(PTRACE_SEIZE, target.pid) == 0
    try:
        watch = watching(target)
        watch.finish()
        assert "the probes stay" in watch.said(), watch.said()
        for _ in range(rounds(1, 30)):
            assert target.ask("alt 1000", limit=120)["damaged"] == 0
    finally:
        ptrace(PTRACE_INTERRUPT, target.pid)
        os.waitpid(target.pid, 0)
        ptrace(PTRACE_DETACH, target.pid)
    wait_for(lambda: not code_differences(target.pid), "the probes are out")
    target.end()


@pytest.mark.parametrize("place", ["above", "below"])
def test_signals_of_a_thread_that_was_there(victim, place):
    """With its alternate stack above its own one, no return is probed: so it does not matter that others do."""
    target = victim("altstacks", place)
    target.ask("start")
    for _ in range(rounds(1, 30)):
        watch = watching(target)
        target.ask("send 1000", limit=120)
        report = watch.finish()
        assert_untouched(target)
        assert report["totals"]["double_frees"] == 0 and hits(report, "alloc malloc") > 1000
        assert "call not followed" not in lost(report)
    assert target.ask("stop")["damaged"] == 0
    target.end()


@pytest.mark.parametrize("order, times", [("calls", 5000), ("made", 1000)])
def test_contexts(victim, order, times):
    """Each context allocates on its own stack, and frees the block of another one; and stacks are blocks."""
    target = victim("altstacks", "above")
    for _ in range(rounds(1, 20)):
        told, totals, _ = whole(target, [f"{order} {times}"] * 10)
        assert (totals["allocs"], totals["frees"]) == (total(told, "allocs"),) * 2
    target.end()


# --- children ---

@pytest.mark.parametrize("order", ["fork", "vfork", "spawn", "thread"])
def test_children_without_pause(victim, order):
    """They end well; their calls are not counted, those of threads are."""
    target = victim("brood")
    for _ in range(rounds(1, 20)):
        told, totals, _ = whole(target, [f"{order} 100"] * 5)
        assert total(told, "bad") == total(told, "damaged") == 0
        if order != "thread":   # to make one allocates
            assert (totals["allocs"], totals["frees"]) == (total(told, "allocs"),) * 2
        assert total(told, "allocs") <= totals["allocs"] <= total(told, "allocs") + 500
        assert totals["live_blocks"] <= 5, totals
    target.end()


def sharing(report):
    return [note for note in report["notes"] if "in the memory of this one" in note]


@pytest.mark.parametrize("order", ["handed", "beside"])
def test_a_child_in_its_memory_with_perf_events(victim, order):
    """There the kernel probes it: nothing is missing, and no note says so."""
    target = victim("brood")
    told, totals, report = whole(target, [f"{order} 1"], "--engine", "uprobe-perf")
    assert totals["allocs"] == total(told, "allocs") + 1 and totals["unmatched_frees"] == 0
    assert not sharing(report), report["notes"]
    assert sharing(whole(target, [f"{order} 1"])[2])[0].startswith("1 child process ran")
    target.end()


@pytest.mark.parametrize("order", ["handed", "beside"])
def test_children_in_its_memory(victim, order):
    """The kernel does not probe them. What they allocate at an address that was freed before is no double free when
    it is freed, and the report has how many there were."""
    target = victim("brood")
    told, totals, report = whole(target, [f"{order} 30", "spawn 5"])
    assert total(told, "bad") == 0
    assert totals["allocs"] == total(told, "allocs")
    assert totals["unmatched_frees"] == 30
    assert sharing(report) and sharing(report)[0].startswith("30 child processes"), report["notes"]
    target.end()


def test_no_note_of_spawned_children(victim):
    """posix_spawn's children call no allocator."""
    target = victim("brood")
    assert not sharing(whole(target, ["spawn 20"])[2])
    target.end()


def rates(target, seconds=0.3):
    first, began = target.ask("pairs")["pairs"], time.monotonic()
    last_for(seconds)
    second, took = target.ask("pairs")["pairs"], time.monotonic() - began
    return [(b - a) / took for a, b in zip(first, second)]


def is_clean(pid):
    return not code_differences(pid)


def test_children_go_on(victim):
    """Children that were made during the watch have copies of the probes. Once mmattach has gone they have none, and
    are as fast as before."""
    target = victim("brood")
    target.ask("stay 1")
    alone = rates(target)[0]
    target.ask("go")
    for turn in range(rounds(2, 100)):
        watch = watching(target)
        told = target.ask("stay 2")
        last_for(0.2)
        paid = rates(target)
        if turn % 2:
            watch.process.kill()
            watch.wait()
        else:
            report = watch.finish()
            assert report["totals"]["allocs"] == told["allocs"]
        for pid in told["children"]:
            wait_for(lambda: is_clean(pid), "the code of the child is whole", 1.0)   # noqa: B023
        free = rates(target)
        print(f"alone {alone:.0f}/s, during the watch {paid}, after it {free}")
        assert min(free) > 2 * max(paid), "they do not pay any more"
        assert target.ask("go")["bad"] == 0
        assert_code_whole(target.pid)
    target.end()
