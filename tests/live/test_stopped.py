# SPDX-License-Identifier: MIT
"""Job control: a target that is stopped when we attach is stopped when we detach; one that is stopped during
the watch stops, and continues on SIGCONT."""
import os
import signal

import pytest

from harness import wait_for
from untouched import assert_untouched, stopped, wait_untraced


def wait_stopped(target):
    wait_for(lambda: stopped(target.pid), "every thread is stopped")


def parent_sees(target, options):
    """What waitid returns to us, its parent: the report of a stop must pass through a tracer."""
    return wait_for(lambda: os.waitid(os.P_PID, target.pid, options | os.WNOHANG), "its parent is told")


@pytest.mark.parametrize("sig", [signal.SIGSTOP, signal.SIGTSTP])
def test_stopped_before(victim, attach, sig):
    target = victim("hot", 4, 4)
    os.kill(target.pid, sig)
    wait_stopped(target)
    watch = attach(target)
    assert stopped(target.pid)
    watch.finish()
    assert_untouched(target, stopped_before=True)
    os.kill(target.pid, signal.SIGCONT)
    target.wait_working()
    assert_untouched(target)
    assert target.end()["damaged"] == 0


def test_stopped_before_and_continued_under_watch(victim, attach):
    target = victim("hot", 4, 4)
    os.kill(target.pid, signal.SIGSTOP)
    wait_stopped(target)
    watch = attach(target)
    os.kill(target.pid, signal.SIGCONT)
    target.wait_working()
    assert watch.finish()["totals"]["allocs"] > 0
    assert_untouched(target)
    assert target.end()["damaged"] == 0


@pytest.mark.parametrize("sig", [signal.SIGSTOP, signal.SIGTSTP])
def test_stopped_and_continued_under_watch(victim, attach, sig):
    target = victim("hot", 4, 4)
    watch = attach(target)
    for _ in range(5):
        os.kill(target.pid, sig)
        assert parent_sees(target, os.WSTOPPED).si_status == sig
        wait_stopped(target)
        os.kill(target.pid, signal.SIGCONT)
        assert parent_sees(target, os.WCONTINUED).si_status == signal.SIGCONT
        target.wait_working()
    watch.finish()
    assert_untouched(target)
    assert target.end()["damaged"] == 0


def test_stopped_under_watch_stays_so(victim, attach):
    target = victim("hot", 4, 4)
    watch = attach(target)
    os.kill(target.pid, signal.SIGSTOP)
    wait_stopped(target)
    watch.finish()
    assert_untouched(target, stopped_before=True)
    os.kill(target.pid, signal.SIGCONT)
    target.wait_working()
    assert target.end()["damaged"] == 0


def test_stopped_and_mmattach_killed(victim, attach):
    """A keeper without mmattach leaves a stopped target stopped, too."""
    target = victim("hot", 4)
    os.kill(target.pid, signal.SIGSTOP)
    wait_stopped(target)
    run = attach(target)
    run.process.kill()
    run.wait()
    wait_untraced(target.pid, 1.0)
    assert_untouched(target, stopped_before=True)
    os.kill(target.pid, signal.SIGCONT)
    assert target.end()["damaged"] == 0
