# SPDX-License-Identifier: MIT
"""The second engine's test of itself, on a child of mmattach's: it costs the machine little whatever becomes of mmattach,
refuses no engine that is right, and names what it lacks."""
import contextlib
import os
import pathlib
import signal
import sys

import pytest

from engines import has_uprobe
from harness import MMATTACH, TOP, Program, Watch, children, hits, last_for, wait_for
from untouched import assert_untouched

ENGINE = ["--engine", "uprobe"]


@pytest.fixture(autouse=True, scope="module")
def _engine():
    if not has_uprobe():
        pytest.skip("clang or libbpf-dev is not installed")


def stats(pid):
    """The numbers of its threads, from the third on as in proc(5)."""
    found = []
    with contextlib.suppress(OSError):  # it has ended
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found.append((task / "stat").read_text().rpartition(")")[2].split())
    return found


def ticks(pid):
    return sum(int(stat[11]) + int(stat[12]) for stat in stats(pid))


def ticks_in(pid, seconds):
    before = ticks(pid)
    last_for(seconds)
    return ticks(pid) - before


def policies(pid):
    return sorted(int(stat[38]) for stat in stats(pid))


# As files have it, the dynamic linker of x86-64.
LINKER = pathlib.Path("/lib64/ld-linux-x86-64.so.2")


def child_at_work(run):
    """The child of the test, when it has both threads; others of mmattach's have one."""
    return next((pid for pid in children(run.pid) if len(stats(pid)) == 2), None)


@pytest.fixture
def stopped_in_test(watch):
    """stopped_in_test(ARG...): a watch that was stopped in the middle of its test, and the test's child."""
    def start(*args, **kwargs):
        for _ in range(20):
            run = watch("-d", "500ms", *ENGINE, *args, **kwargs)
            wait_for(lambda run=run: child_at_work(run) or run.err.all, "a test")
            run.interrupt(signal.SIGSTOP)
            child = child_at_work(run)
            if child:
                return run, child
            run.interrupt(signal.SIGCONT)
            run.wait()
        raise AssertionError("never stopped in the middle of its test")
    return start


def assert_watches(run):
    assert hits(run.finish(sig=None), "alloc malloc") > 0


def test_while_we_are_stopped_it_sleeps(victim, stopped_in_test):
    """It has a thread with a real-time priority."""
    target = victim("hot", 1, 1)
    run, child = stopped_in_test("-p", target.pid)
    wait_for(lambda: ticks_in(child, 0.2) == 0, "the end of its calls", 20)
    took = ticks_in(child, 2.0) / os.sysconf("SC_CLK_TCK")
    run.interrupt(signal.SIGCONT)
    assert took <= 0.06, f"{took} s of a processor in 2 s"
    assert_watches(run)
    assert_untouched(target)


@pytest.mark.parametrize("policy, priority", [(os.SCHED_FIFO, 5), (os.SCHED_IDLE, 0)])
def test_it_has_no_priority_of_ours(victim, stopped_in_test, policy, priority):
    """A busy thread with a real-time priority is the target's loss; an idle one might get no processor."""
    target = victim("hot", 1, 1)
    run, child = stopped_in_test(
        "-p", target.pid, preexec_fn=lambda: os.sched_setscheduler(0, policy, os.sched_param(priority)))
    wait_for(lambda: policies(child) == [os.SCHED_OTHER, os.SCHED_FIFO], "an ordinary thread, and one that is woken", 5)
    run.interrupt(signal.SIGCONT)
    assert_watches(run)
    assert_untouched(target)


def test_it_ends_before_it_is_made(victim, stopped_in_test):
    """Killed, as for want of memory."""
    target = victim("hot", 1, 1)
    run, child = stopped_in_test("-p", target.pid)
    os.kill(child, signal.SIGKILL)
    run.interrupt(signal.SIGCONT)
    assert run.wait() == 1
    assert "the test of its records could not be made: its process was ended" in run.said()
    assert_untouched(target)


@pytest.mark.skipif(not LINKER.exists(), reason="no dynamic linker of that name")
def test_started_by_the_dynamic_linker(victim):
    """Then /proc/self/exe is the linker's file."""
    target = victim("hot", 1, 1)
    run = Watch(MMATTACH, "-p", target.pid, "-d", "500ms", "--format", "json", *ENGINE, program=LINKER, json_report=False)
    assert_watches(run)
    assert_untouched(target)


def test_the_child_cannot_be_killed(victim):
    """A filter forbids kill, and pidfd_send_signal: the child ends by itself."""
    target = victim("hot", 2, 3)
    run = Program([sys.executable, TOP / "tests/tools/denied.py", "62,424", MMATTACH, "-p", str(target.pid), "-d", "200ms",
                   "--verdicts", "no", *ENGINE])
    assert run.wait(30) == 0, run.said()
    assert_untouched(target)
    target.end()
