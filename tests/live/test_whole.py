# SPDX-License-Identifier: MIT
"""Attach and detach, over and over, to a process that would notice any disturbance.

The victim (storm.c) has threads in every system call that an interruption ends early, under a storm of
numbered signals, with checksums in its blocks.
"""
import pytest

from harness import random_moment, rounds, wait_for
from untouched import assert_untouched, threads

UNHARMED = {"eintr": 0, "odd": 0, "damaged": 0, "lost": 0, "doubled": 0, "wrong_info": 0, "mask_kept": True}


def assert_unharmed(told):
    assert {key: told[key] for key in UNHARMED} == UNHARMED, told


@pytest.mark.parametrize("signals", [False, True], ids=["sleeping", "signal storm"])
def test_cycles(victim, attach, signals):
    target = victim("storm", 64)
    if signals:
        target.say("signals")
    seen = 0
    for _ in range(rounds(5, 300)):
        watch = attach(target)
        random_moment(0.15)
        seen += watch.finish()["totals"]["allocs"]
        assert_untouched(target)
    assert seen > 0
    told = target.end()
    assert_unharmed(told)
    assert told["sent"] > 0 or not signals
    assert all(told["idle_kinds"].values()), "a kind of sleep was never woken from"


def test_long_watch(victim, attach):
    """Not only attaching and detaching: signals and sleeps while watched."""
    target = victim("storm", 64)
    target.say("signals")
    watch = attach(target, "-d", "3s")
    watch.finish(sig=None)
    assert_untouched(target)
    assert_unharmed(target.end())


def test_end_while_watched(victim, attach):
    """The victim's own end, with its checks, under watch; the report comes without a request."""
    target = victim("storm", 64)
    target.say("signals")
    watch = attach(target)
    assert_unharmed(target.end())
    assert watch.finish(sig=None)["totals"]["allocs"] > 0


def test_a_thousand_idle_threads(victim, attach):
    target = victim("hot", 2, 1000)
    wait_for(lambda: len(threads(target.pid)) == 1003, "all threads are there")
    for _ in range(rounds(3, 20)):
        watch = attach(target)
        target.wait_working()
        watch.finish()
        assert_untouched(target)
    assert target.end()["damaged"] == 0
