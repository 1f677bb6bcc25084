# SPDX-License-Identifier: MIT
"""A watch with a budget ends with a pause, if the budget leaves one, to find which tracked blocks are lost: so a watch
of seconds finds what leaks, and the promise holds with the pause."""
import re
import time

import pytest

from harness import Watch
from test_sampled import leaf
from untouched import assert_untouched

pytestmark = pytest.mark.quiet  # how long a pause takes, and how much is seen until then, depends on what else runs
LEAKS = {"session_open", "cache_insert", "log_context"}
PAUSED = "at the end the process was stopped for "
NOT_PAUSED = "which tracked blocks are lost is not known: "


def watch_for(target, *args, budget="3%", seconds=3):
    """The report of a watch that is too short to know by their age which blocks stay."""
    return Watch("-p", str(target.pid), "--budget", budget, "-d", f"{seconds}s", "--top", "0", *args).finish(sig=None, limit=60)


def notes(report, first):
    return [note for note in report["notes"] if note.startswith(first)]


def lost(report):
    """{place: tracked blocks that are lost}"""
    return {leaf(g): g["estimate"]["lost"] for g in report["groups"] if g["turnover"] == "stays"}


def test_what_is_lost_is_a_leak_after_seconds(victim):
    target = victim("leaky_service")
    report = watch_for(target)
    assert_untouched(target)
    budget = report["run"]["budget"]
    assert budget["worst_ten_seconds"] <= budget["promise"], budget
    [note] = notes(report, PAUSED)
    # of the others it may be that another stack of about that size has lost blocks, too
    assert "log_context" in lost(report) and set(lost(report)) <= LEAKS, (note, lost(report))
    assert all(n >= 3 for n in lost(report).values())
    assert all(g["estimate"]["lost"] <= g["estimate"]["searched"] <= g["estimate"]["followed"] for g in report["groups"])
    assert "verdicts" not in report["run"] or not report["run"]["verdicts"]["known"]


def test_without_a_pause_it_may_leak(victim):
    target = victim("leaky_service")
    for args in (["--verdicts", "no"], ["--max-pause", "1us"]):
        report = watch_for(target, *args)
        assert not notes(report, PAUSED)
        assert len(notes(report, NOT_PAUSED)) == (args[0] == "--max-pause")
        assert not any(g["estimate"]["searched"] for g in report["groups"])


@pytest.mark.alone  # its threads are busy
def test_a_pause_that_the_budget_does_not_leave(victim):
    """Divided by 64 threads a hundredth is about a millisecond, and to stop so many takes longer."""
    target = victim("sampled", "-t", "64", "-r", "20000")
    report = watch_for(target, budget="1%", seconds=6)
    assert_untouched(target)
    [note] = notes(report, NOT_PAUSED)
    assert "and the budget leaves" in note and not notes(report, PAUSED)


@pytest.mark.alone
def test_a_pause_for_which_samples_leave_room(victim):
    """Samples spend all of a budget. A pause of a large process, of 20 ms and more, needs a good part of it: for ten
    seconds before it they spend less."""
    target = victim("sampled", "-m", "96", "-k", "differ")
    report = watch_for(target, budget="1%", seconds=27)
    assert_untouched(target)
    budget = report["run"]["budget"]
    assert budget["worst_ten_seconds"] <= budget["promise"], budget
    assert len(notes(report, PAUSED)) == 1, report["notes"]
    assert budget["loss"]["blocks"], (budget, report["notes"])


def test_a_report_on_the_way_has_none(victim):
    """Nor does it say how to get some: what SIGUSR1 makes has none, either."""
    target = victim("leaky_service")
    watch = Watch("-p", str(target.pid), "--budget", "3%", "-d", "3s", "--interval", "1s", json_report=False)
    assert watch.wait(60) == 0, watch.said()
    *early, last = watch.out.text().split("interim report ")[1:]
    assert early and "verdicts" not in watch.out.text()
    assert PAUSED in " ".join(last.split()) and not any(PAUSED in " ".join(text.split()) for text in early)


def test_what_the_whole_process_loses(victim):
    """Also what was lost before, and what no trap sees being allocated. As the watch begins a copy is made."""
    target = victim("loser")
    target.ask("lose 300")
    watch = Watch("-p", str(target.pid), "--budget", "3%", "-d", "16s", json_report=False).wait_watching()
    time.sleep(3)
    for _ in range(10):
        target.ask("lose 100")
    assert watch.wait(60) == 0, watch.said()
    assert_untouched(target)
    assert re.search(r"^lost in 1\d(\.\d)?s: 1000 blocks, .*; ", watch.out.text(), re.M), watch.out.text()
    target.end()


def test_nothing_is_lost(victim):
    target = victim("loser")
    report = watch_for(target, seconds=15)
    assert_untouched(target)
    loss = report["run"]["budget"]["loss"]
    assert loss["blocks"] == loss["bytes"] == 0 and 14 < loss["over_s"] < 16
    assert "loss" not in watch_for(target)["run"]["budget"], "a watch of three seconds has no time for a copy at its beginning"


@pytest.mark.parametrize("order", ["exec", "end"])
def test_the_target_goes_while_it_is_copied(victim, order):
    """That it runs another program, or has ended, is noticed, whatever is done at that moment: half a second after the
    beginning the process is copied."""
    for at in (0.45, 0.5, 0.55, 0.6, 0.65):
        target = victim("exits")
        watch = Watch("-p", str(target.pid), "--budget", "3%", "-d", "25s", json_report=False).wait_watching()
        time.sleep(at)
        began = time.monotonic()
        target.say(order)
        if order == "exec":
            target.expect_ready()
            assert time.monotonic() - began < 1, "it was held at its exec"
        assert watch.wait(20) == 0, watch.said()
        assert time.monotonic() - began < 10, "the watch went on without its target"
        assert re.search("another program" if order == "exec" else "ended", watch.said() + watch.out.text()), watch.out.text()
        if order == "exec":
            assert_untouched(target)
            target.end()
