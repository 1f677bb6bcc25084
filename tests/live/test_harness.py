# SPDX-License-Identifier: MIT
"""The message of a test whose victim does not answer: where each thread is, including those of its children.
And storm.c answers even if signals were lost."""
import os
import signal

import pytest

from harness import children, wait_for
from untouched import stopped, threads

# system calls of storm's long sleepers
SLEEPS = {"epoll_wait": 232, "semtimedop": 220, "futex": 202, "read": 0}


def silence(target):
    with pytest.raises(AssertionError) as said:
        target.ask("an order that it does not know", limit=0.3)
    return str(said.value)


def test_no_answer(victim):
    target = victim("storm", 64)
    said = silence(target)
    assert all(str(tid) in said for tid in threads(target.pid)), said
    for number in SLEEPS.values():
        assert f"call {number}(" in said, said
    # its own threads, and the child that sends signals
    assert len({line.split(": ")[0] for line in said.splitlines() if ": storm " in line}) == 2, said
    assert target.end()["damaged"] == 0


def test_no_answer_as_it_is_stopped(victim):
    target = victim("hot", 1)
    os.kill(target.pid, signal.SIGSTOP)
    wait_for(lambda: stopped(target.pid), "it is stopped")
    assert "hot T in" in silence(target)


def test_no_answer_as_it_is_traced(victim, attach):
    target = victim("hot", 0, 1)
    run = attach(target)
    assert f"traced by {run.keeper()}" in silence(target)
    run.finish()


def test_no_answer_as_it_has_ended(victim):
    target = victim("hot", 1)
    target.process.kill()
    target.wait()
    said = target.silence("rate")
    assert "status -9" in said and "is gone" in said


def test_lost_signals_are_told(victim):
    """It waited for them a thousand times as long as a round takes: beside other work, longer than a test
    waits for its answer."""
    target = victim("storm", 64)
    target.say("miss")
    told = target.end()
    assert (told["lost"], told["eintr"], told["odd"], told["damaged"]) == (1, 0, 0, 0), told


def test_sender_that_was_killed_is_told(victim):
    target = victim("storm", 8)
    os.kill(children(target.pid)[0], signal.SIGKILL)
    target.say("end")
    assert target.wait() == 3 and "the sender" in target.said()
