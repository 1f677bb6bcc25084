# SPDX-License-Identifier: MIT
"""Sudden death: kill -9 of mmattach at any moment, from its start on; and what is left to be repaired when its keeper is
killed with it."""
import contextlib
import os
import random
import signal

from harness import (MMATTACH, PTRACE_DETACH, PTRACE_INTERRUPT, PTRACE_SEIZE, Program, Victim, Watch, last_for, ptrace,
                     wait_for)
from proofs import LIMIT, in_rounds, started
from untouched import assert_untouched, code_differences, code_mappings, tracers

LONGEST = 4.0   # seconds: by then it has attached, as a rule
ALL_GONE = 20.0  # seconds; on a machine that is not emulated it takes one
INT3 = 0xCC
WALL = 0x40000000  # of waitpid: whatever kind of child or tracee it is


def assert_let_go(target):
    wait_for(lambda: not target.alive() or not tracers(target.pid), "it is not traced any more", ALL_GONE)
    # the kernel takes its probes out some time after the last process that has them open
    wait_for(lambda: not target.alive() or not code_differences(target.pid), "its code is as in the files", ALL_GONE)
    assert_untouched(target)


def kill_once(start, target, engine, planted):
    run = start(Watch("-p", target.pid, "--engine", engine))
    if planted:
        run.wait_watching(LIMIT)
    else:
        last_for(random.uniform(0, LONGEST))
    run.process.kill()
    run.wait(LIMIT)
    assert_let_go(target)
    target.wait_working()


def kill(engine, rounds):
    """The controller alone: the keeper then leaves by itself, the kernel takes out its own probes. The first time when
    it is certain that something is planted."""
    with started() as start:
        target = start(Victim("hot", 2))
        result = in_rounds(rounds, lambda i: kill_once(start, target, engine, planted=i == 0))
        told = target.end()
        assert told["damaged"] == 0, f"{told}"
        return result


def kill_keeper():
    """Of an idle process: no thread runs into a trap before mmattach has removed them all."""
    with started() as start:
        target = start(Victim("hot", 0, 2))
        run = start(Watch("-p", target.pid)).wait_watching(LIMIT)
        assert code_differences(target.pid), "no trap was planted"
        os.kill(run.keeper(), signal.SIGKILL)
        assert run.wait(LIMIT) == 1 and "the keeper was killed" in run.said(), run.said()
        assert_let_go(target)
        assert target.end()["damaged"] == 0


# --- repair ---

def repair(target):
    run = Program([MMATTACH, "repair", target.pid])
    status = run.wait(LIMIT)
    assert status == 0, f"status {status}: {run.out.text()} {run.said()}"


@contextlib.contextmanager
def traced(pid):
    """Its first thread is stopped: there are kernels on which a tracer alone may write into code."""
    assert ptrace(PTRACE_SEIZE, pid) == 0 and ptrace(PTRACE_INTERRUPT, pid) == 0
    os.waitpid(pid, WALL)
    try:
        yield
    finally:
        assert ptrace(PTRACE_DETACH, pid) == 0


def plant(target):
    """An int3 in the middle of each module's code, as another tool may leave it."""
    with traced(target.pid), open(f"/proc/{target.pid}/mem", "r+b", buffering=0) as memory:
        for low, high, *_ in list(code_mappings(target.pid)):
            memory.seek(low + (high - low) // 3)
            memory.write(bytes([INT3]))


def kill_both(start, target):
    run = start(Watch("-p", target.pid)).wait_watching(LIMIT)
    keeper = run.keeper()
    os.kill(run.pid, signal.SIGSTOP)    # it would take out the traps when it sees that the keeper has died
    os.kill(keeper, signal.SIGKILL)
    run.process.kill()
    run.wait(LIMIT)


def repaired():
    """An idle process, since a busy one dies of a trap that is left."""
    with started() as start:
        target = start(Victim("hot", 0, 2))
        for harm in [lambda: plant(target), lambda: kill_both(start, target)]:
            harm()
            assert code_differences(target.pid), "no int3 was left"
            repair(target)
            assert_untouched(target)
        assert target.end()["damaged"] == 0
