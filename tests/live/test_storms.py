# SPDX-License-Identifier: MIT
"""Storms of children and threads, under attach and across attach and detach: no child dies from a trap."""
import pytest

from harness import everyday, random_moment, rounds, wait_for
from untouched import assert_untouched, wait_untraced

CHILDREN = ["fork", "big", "vfork", "spawn", "system", "exec", "shared"]


def made(target):
    return target.ask("made")["made"]


def wait_made(target, more):
    """@more children or threads than now have been made and have ended."""
    goal = made(target) + more
    wait_for(lambda: made(target) >= goal, f"{more} more made", 120, every=0.02)


def assert_all_well(told):
    assert (told["killed"], told["wrong"], told["damaged"]) == (0, 0, 0), told
    assert told["made"] > 0


@pytest.mark.parametrize("mode", CHILDREN + ["thread"])
def test_across_attach_and_detach(victim, attach, mode):
    target = victim("forker", mode)
    for _ in range(rounds(4, 50)):
        watch = attach(target)
        random_moment(0.3)
        watch.finish()
        assert_untouched(target)
    assert_all_well(target.end())


@pytest.mark.parametrize("mode", CHILDREN + ["thread"])
def test_under_watch(victim, attach, mode):
    target = victim("forker", mode)
    watch = attach(target)
    wait_made(target, everyday(*{"thread": (1000, 3000), "big": (5, 10)}.get(mode, (50, 100))))
    report = watch.finish()
    assert report["totals"]["allocs"] > 0
    assert_untouched(target)
    assert_all_well(target.end())


@pytest.mark.parametrize("mode", ["fork", "spawn", "thread"])
def test_killed_in_the_middle(victim, attach, mode):
    """kill -9 of mmattach while children are being made: they are cleaned all the same."""
    target = victim("forker", mode)
    for _ in range(rounds(4, 50)):
        run = attach(target)
        random_moment(0.2)
        run.process.kill()
        run.wait()
        wait_untraced(target.pid, 1.0)
        assert_untouched(target)
    assert_all_well(target.end())


def test_end_of_a_storm_under_watch(victim, attach):
    target = victim("forker", "thread")
    watch = attach(target)
    wait_made(target, 500)
    assert_all_well(target.end())
    assert watch.finish(sig=None)["totals"]["allocs"] > 0
