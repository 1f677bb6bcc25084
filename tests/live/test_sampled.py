# SPDX-License-Identifier: MIT
"""A watch with a budget finds what leaks, says what does not, keeps to its price, and leaves the target as it was.

The victim (sampled.c) takes and gives back blocks in 53 places, of which three leak. Here the budgets are larger than one has in
earnest, so that it takes seconds and not minutes, whatever else this machine does.
"""
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import time

import pytest

import mmt
from harness import MMATTACH, Watch, everyday, last_for, random_moment, slept_so_often, wait_for
from untouched import assert_untouched, code_differences

pytestmark = pytest.mark.alone
TOO_YOUNG = {"site_cache_token", "site_table_entry"}  # 40 seconds are too little to see the end of what lives 20, and of a table that was filled meanwhile
RATES = {"site_leak_fast": 100, "site_leak_middle": 10, "site_leak_wrapped": 10, "site_leak_slow": 1}  # a second


def leaf(group):
    return group["stack"][group["wrappers"]]["function"]


def by_place(report):
    """The turnovers that a place's groups were called, by its name."""
    places = {}
    for group in report["groups"]:
        places.setdefault(leaf(group), []).append(group)
    return places


def staying(report):
    return {name for name, groups in by_place(report).items() if any(g["turnover"] == "stays" for g in groups)}


def assert_price_kept(report):
    """All in all always. In any ten seconds unless other tests may leave the keeper without a processor while threads stand."""
    budget = report["run"]["budget"]
    assert report["run"]["mode"] == "sampled"
    assert budget["spent"] <= budget["promise"]
    # a thread that is on its way to a trap when all are lifted is seen after it
    assert budget["worst_ten_seconds"] <= 1.25 * budget["promise"], budget


def assert_rate(report, name):
    """The interval is for 95 of 100: here so much wider that it holds nearly always. (A thread that was stopped has some of its work left to do.)"""
    [group] = [g for g in by_place(report)[name] if g["turnover"] == "stays"]
    value, low, high = group["estimate"]["allocs_per_minute"]
    bounded = high is not None and not group["estimate"]["at_least"]
    assert low <= value and (high is None or value <= high)
    assert low / 1.6 <= 60 * RATES[name] and (not bounded or 60 * RATES[name] <= 1.6 * high), (name, group["estimate"])


def kinds(truth):
    return {place["name"]: place["kind"] for place in truth["sites"]}


def watch_for(target, seconds, *args, budget="5%"):
    watch = Watch("-p", str(target.pid), "--budget", budget, "-d", f"{seconds}s", "--top", "0", *args)
    return watch.finish(sig=None, limit=seconds + 60)


def test_leaks_are_no_tables_when_the_budget_is_spent(victim):
    """A small budget and a short watch: traps may be away for all of its end. What leaks all the time may be unknown then, but neither going nor a table."""
    target = victim("leaky_service")
    leaks = {"cache_insert", "session_open", "log_context"}
    report = watch_for(target, 10, budget="1%")
    called = {name: {g["turnover"] for g in groups} for name, groups in by_place(report).items() if name in leaks}
    assert called and set.union(*called.values()) <= {"stays", "unknown"}, called
    assert_untouched(target)


def assert_no_false_leaks(report, target):
    truth = target.ask("truth")
    false = {name for name in staying(report) if kinds(truth).get(name) not in ("leak", None)}
    assert false <= TOO_YOUNG, false


def test_leaks_are_found_and_what_goes_is_not_called_one(victim, tmp_path):
    target = victim("sampled", "-r", "20000")
    trace = tmp_path / "t.mmt"
    report = watch_for(target, 40, "-o", trace)
    assert_untouched(target)
    assert_price_kept(report)
    assert {"site_leak_fast", "site_leak_middle"} <= staying(report)
    assert_rate(report, "site_leak_fast")
    assert_rate(report, "site_leak_middle")
    assert_no_false_leaks(report, target)
    again = subprocess.run([MMATTACH, "report", "--format", "json", "--top", "0", trace], capture_output=True, check=True)
    assert json.loads(again.stdout)["groups"] == report["groups"]
    target.end()


def told_and_true(report, before, after):
    """Of each place that was seen: told / true, of how often it allocates."""
    minutes = (after["now_ns"] - before["now_ns"]) / 60e9
    began = {place["name"]: place["allocs"] for place in before["sites"]}
    done = {place["name"]: (place["allocs"] - began[place["name"]]) / minutes for place in after["sites"]}
    told = {name: sum(g["estimate"]["allocs_per_minute"][0] or 0 for g in groups) for name, groups in by_place(report).items()}
    return [told[name] / done[name] for name in told if done.get(name)]


def test_hot_places_leave_some_for_the_others(victim):
    """
    A thread without a pause at 1 %: some fifty places are hot, and a round of each would cost more than comes in by then. What leaks goes on being watched.
    When all hot ones began as soon as there was something to spend, all traps were lifted for 10 to 28 of 30 seconds. One burst, when others have taken
    the processor from us, closes for as long: so once of three times is enough.
    """
    target = victim("sampled", "-f")
    for _ in range(3):
        before = target.ask("truth")
        report = watch_for(target, 30, budget="1%")
        rates = told_and_true(report, before, target.ask("truth"))
        assert_untouched(target)
        if report["run"]["budget"]["closed_seconds"] < 8:
            break
    assert report["run"]["budget"]["closed_seconds"] < 8, report["run"]["budget"]
    assert len(rates) > 30 and 0.4 < statistics.median(rates) < 1.8, rates  # others use the same two processors
    target.end()


def test_eight_threads(victim):
    target = victim("sampled", "-r", "8000", "-t", "8")
    report = watch_for(target, 20)
    assert_untouched(target)
    assert_price_kept(report)
    assert "site_leak_fast" in staying(report)
    assert_no_false_leaks(report, target)
    target.end()


def test_threads_in_lockstep(victim, tmp_path):
    """
    32 threads meet, and then all allocate at the same place. While the first one stands there, the others come, too, and are not counted: what is told is
    far too low, 0.12 to 0.52 of the truth, and the report says that it may be any number more. (Not for longer: once some of it is known to stay, the trap
    does, too, and all are counted.) Where others keep the threads apart it may be told as it is.
    """
    target = victim("lockstep", "32", "4000")
    trace = tmp_path / "t.mmt"
    for _ in range(3):
        before = target.ask("pairs")
        report = watch_for(target, 10, "-o", trace, budget="1%")
        after = target.ask("pairs")
        assert_untouched(target)
        assert_price_kept(report)
        [group] = by_place(report)["site_lockstep"]
        told, low, _ = group["estimate"]["allocs_per_minute"]
        true = (after["allocs"] - before["allocs"]) / (after["ns"] - before["ns"]) * 60e9
        sample = [record.fields for record in mmt.read(trace) if record.kind == "SAMPLE"][-1]
        if sample["missed"] > sample["site_hits"] and group["estimate"]["at_least"]:
            break
        trace.unlink()
    assert sample["missed"] > sample["site_hits"] and sample["stood_us"] > 0, sample
    assert group["estimate"]["at_least"] and low <= 1.6 * true, (told / true, group["estimate"], sample)
    text = subprocess.run([MMATTACH, "report", trace], capture_output=True, text=True, check=True).stdout
    assert re.search(r"takes at least \d+/min \(\d+ or more\)", text), text
    assert target.end()["damaged"] == 0


def test_threads_that_wake_together_are_not_in_lockstep(victim):
    """
    Eight threads that wake at each millisecond and draw their places by chance: of those called all the time hardly one may be marked. (What fills a table,
    grows an array or comes with a request does so in bunches.)
    """
    target = victim("sampled", "-r", "8000", "-t", "8")
    report = watch_for(target, 20)
    drawn = {name for name, kind in kinds(target.ask("truth")).items() if kind == "short"}
    groups = [g for g in report["groups"] if leaf(g) in drawn]
    marked = [leaf(g) for g in groups if g["estimate"]["at_least"]]
    assert_untouched(target)
    assert len(groups) > 25 and len(marked) <= len(groups) / 8, (len(groups), marked)
    target.end()


def assert_faster_leaks_lead(report):
    """In the order of what they keep, as far as that can be known by then; and their rates."""
    leading = [leaf(g) for g in report["groups"] if leaf(g) not in TOO_YOUNG]
    assert leading[:2] == ["site_leak_fast", "site_leak_middle"], leading
    for name in leading[:2]:
        assert_rate(report, name)


def test_thirty_two_threads(victim):
    """Two pairs a millisecond each."""
    target = victim("sampled", "-r", "64000", "-t", "32")
    report = watch_for(target, 40)
    assert_untouched(target)
    assert_price_kept(report)
    assert_faster_leaks_lead(report)
    assert_no_false_leaks(report, target)
    target.end()


def test_bursts(victim):
    """Idle for three seconds, then fifty thousand pairs as fast as it can, again and again: what leaks comes in bunches, too."""
    target = victim("sampled", "-b", "3")
    report = watch_for(target, 40, budget="10%")
    assert_untouched(target)
    assert_price_kept(report)
    assert_faster_leaks_lead(report)
    assert_no_false_leaks(report, target)
    target.end()


def test_callers_of_a_wrapper_are_told_apart(victim):
    """One of the places behind victim_alloc leaks: it is a group of its own."""
    target = victim("sampled", "-r", "3000", "-w")
    report = watch_for(target, 45, budget="10%")
    assert_untouched(target)
    assert_price_kept(report)
    assert "site_leak_wrapped" in staying(report)
    assert_rate(report, "site_leak_wrapped")
    told = {g["stack"][0]["function"] for g in report["groups"] if leaf(g).startswith("site_wrapped")}
    assert not [note for note in report["notes"] if "--stack-bytes" in note]
    assert "victim_alloc" not in told, "what was seen inside of the wrapper is forgotten when its callers are watched"
    target.end()


@pytest.fixture
def load():
    """Three who take all of the processor that they get."""
    others = [subprocess.Popen(["timeout", "120", "sh", "-c", "while :; do :; done"]) for _ in range(3)]
    yield
    for one in others:
        one.terminate()
        one.wait()


@pytest.mark.parametrize("budget", everyday(["1%"], ["1%", "5%"]))
def test_many_wrappers_under_load(victim, load, budget):
    """Threads are held for trials all the time, by a mmattach that has to wait for a processor itself: the promise is kept all the same."""
    target = victim("wrappers")
    report = watch_for(target, 25, budget=budget)
    had = report["run"]["budget"]
    assert_untouched(target)
    assert had["worst_ten_seconds"] <= had["promise"], had
    assert len(report["groups"]) >= 24, [leaf(g) for g in report["groups"]]
    target.end()


def test_stacks_too_short_for_callers(victim):
    """Who calls the wrapper cannot be seen: that is said."""
    target = victim("sampled", "-r", "3000", "-w")
    report = watch_for(target, 6, "--stack-bytes", "1", budget="20%")
    assert_untouched(target)
    [note] = [note for note in report["notes"] if "too little of the stack was copied (--stack-bytes)" in note]
    assert re.search(r"was never seen at \d+ places", note)
    target.end()


def test_idle_at_first(victim):
    target = victim("sampled", "-r", "20000", "-i", "8")
    report = watch_for(target, 35)
    assert_untouched(target)
    assert_price_kept(report)
    assert "site_leak_fast" in staying(report)
    target.end()


def wakings(pids, seconds):
    """How often a second each was woken meanwhile."""
    before, began = [slept_so_often(pid) for pid in pids], time.monotonic()
    last_for(seconds)
    return [(slept_so_often(pid) - had) / (time.monotonic() - began) for pid, had in zip(pids, before)]


def test_traps_that_nobody_meets_wake_nobody(victim):
    """Hundreds of them have a round a second each; but not each a timer, nor does the controller look because the keeper does."""
    target = victim("sampled", "-i", "60")
    watch = Watch("-p", str(target.pid), "--budget", "1%").wait_watching()
    for _ in range(4):  # the first rounds, in which much is made known, are over soon
        a_second = wakings((watch.pid, watch.keeper()), 3)
        if a_second[0] < 60 and a_second[1] < 250:
            break
    assert a_second[0] < 60 and a_second[1] < 250, a_second
    assert watch.finish()["run"]["budget"]["sites"] > 300


def test_pieces_of_a_trace_are_one_run(victim, tmp_path):
    target = victim("sampled")
    last = tmp_path / "report.json"
    watch = Watch("-p", str(target.pid), "--budget", "30%", "-d", "30s", "--top", "0", "--report", last, "-o", tmp_path / "t.mmt", "--rotate", "64K",
                  "--raw", "--interval", "1s")  # at each interim report all numbers are told
    assert watch.wait(120) == 0, watch.said()
    report = json.loads(last.read_text())
    pieces = sorted(tmp_path.glob("t*.mmt"))
    assert len(pieces) > 1
    again = subprocess.run([MMATTACH, "report", "--format", "json", "--top", "0", *pieces], capture_output=True, check=True)
    got = json.loads(again.stdout)
    assert got["run"]["budget"] == report["run"]["budget"]
    assert [(g["seen"], g["turnover"], g["blocks"]) for g in got["groups"]] == [(g["seen"], g["turnover"], g["blocks"]) for g in report["groups"]]
    assert_untouched(target)
    target.end()


def test_modules_that_come_and_go(victim):
    """Nobody waits for us while they do; what has gone is not touched, what is there still is as it was."""
    target = victim("dl")
    watch = Watch("-p", str(target.pid), "--budget", "20%").wait_watching()
    end = time.monotonic() + 6
    while time.monotonic() < end:
        target.ask("open")
        target.ask("call 25")
        random_moment(0.4)
        target.ask("close")
    target.ask("open")
    report = watch.finish()
    assert_price_kept(report)
    assert_untouched(target)
    target.ask("call 25")
    target.ask("close")
    target.end()


def test_keeper_killed(victim):
    """Nobody has stepped over a trap, so nothing was written into padding: all that stood is put back."""
    target = victim("sampled", "-r", "20000", "-i", "30")
    watch = Watch("-p", str(target.pid), "--budget", "20%").wait_watching()
    wait_for(lambda: len(code_differences(target.pid)) > 20, "traps stand")
    os.kill(watch.keeper(), signal.SIGKILL)
    assert watch.wait() == 1
    assert_untouched(target)
    target.kill()


@pytest.mark.parametrize("args, why", [
    (["--family", "fd"], "family fd: these are no blocks"),
    (["--family", "gobject"], "references are counted one by one"),
    (["--family", "growth"], "where memory grows"),
    (["--family", "mmap"], "no blocks of memory"),
    (["--probe", "alloc site_x if=arg1>8"], "more is needed than their result"),
    (["--in", "main"], "the moment when this is reached is not seen"),
    (["--ref", "a:b"], "references are counted one by one"),
])
def test_refused_before_anything_is_touched(victim, args, why):
    target = victim("sampled", "-r", "1000")
    run = subprocess.run([MMATTACH, "-p", str(target.pid), "--budget", "1%", *args], capture_output=True, text=True)
    assert (run.returncode, why in run.stderr) == (2, True), run.stderr
    assert_untouched(target)
    target.end()


def test_another_allocator_is_refused(victim):
    library = pathlib.Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")
    if not library.exists():
        pytest.skip("optional: jemalloc is not installed")
    target = victim("sampled", "-r", "1000", env=dict(os.environ, LD_PRELOAD=str(library)))
    run = subprocess.run([MMATTACH, "-p", str(target.pid), "--budget", "1%"], capture_output=True, text=True)
    assert run.returncode == 1 and "here malloc is that of libjemalloc.so.2" in run.stderr, run.stderr
    assert_untouched(target)
    target.end()
