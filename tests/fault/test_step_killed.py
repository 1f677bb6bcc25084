# SPDX-License-Identifier: MIT
"""The keeper is killed while a thread runs a displaced instruction in padding.

It is traced itself, and so killed at the very moment: the thread has not run the instruction yet, as a signal came
first. That signal is delivered, and when its handler has returned the thread runs what is in the padding, alone."""
import ctypes
import os
import pathlib
import signal

from harness import PTRACE_INTERRUPT, PTRACE_SEIZE, libc, ptrace, wait_for
from untouched import code_differences, state_letters, wait_untraced

PTRACE_SINGLESTEP, PTRACE_SYSCALL, SYS_ptrace = 9, 24, 101
SYSCALL_STOP = signal.SIGTRAP | 0x80
PTRACE_O_TRACESYSGOOD = 1
WALL = 0x40000000


class Stepper:
    """Traces a keeper, and stops it at its system calls."""

    def __init__(self, keeper):
        self.pid = keeper
        assert libc.ptrace(PTRACE_SEIZE, keeper, None, ctypes.c_void_p(PTRACE_O_TRACESYSGOOD)) == 0
        assert ptrace(PTRACE_INTERRUPT, keeper) == 0
        self.wait()

    def wait(self):
        status = wait_for(lambda: os.waitpid(self.pid, WALL | os.WNOHANG)[1], "the keeper makes a system call", 20)
        assert os.WIFSTOPPED(status), f"the keeper has ended: {status:#x}"
        return status

    def go_on(self, sig=0):
        """To the next system call, or back from one. Its own signals are delivered."""
        while True:
            assert libc.ptrace(PTRACE_SYSCALL, self.pid, None, ctypes.c_void_p(sig)) == 0
            status = self.wait()
            sig = os.WSTOPSIG(status)
            if sig == SYSCALL_STOP:
                return
            if status >> 16:  # an event of ours
                sig = 0

    def call(self):
        """The system call that it is in: its number and first argument."""
        return [int(word, 0) for word in pathlib.Path(f"/proc/{self.pid}/syscall").read_text().split()[:2]]

    def until_step(self, before):
        """It has told a thread to step, and what before() did was done first."""
        self.go_on()
        while self.call() != [SYS_ptrace, PTRACE_SINGLESTEP]:
            self.go_on()
        before()
        self.go_on()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """kill -9. Its parent learns of it when its tracer does."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, WALL)


def in_padding(pid):
    """Where in the code is what is no int3 and not in the file?"""
    return [address for address, now, _ in code_differences(pid) if now != 0xcc]


def test_a_signal_comes_first(victim, attach):
    """Without a way back it ran into the next function, and what it was to free stayed."""
    target = victim("indirect")
    run = attach(target, "--probe", "free step_free")
    with Stepper(run.keeper()) as stepper:
        target.say("apart 400")
        stepper.until_step(lambda: os.kill(target.pid, signal.SIGUSR1))
        wait_for(lambda: state_letters(target.pid) == {"t"}, "the thread has stopped for the signal")
        pc = int(pathlib.Path(f"/proc/{target.pid}/syscall").read_text().split()[-1], 16)
        assert any(pc <= address < pc + 16 for address in in_padding(target.pid)), hex(pc)
    assert target.answer() == {"signals": 1, "freed": True}
    assert run.wait() == 1 and "the keeper was killed" in run.said(), run.said()
    wait_untraced(target.pid, 5)
    assert 0xcc not in {now for _, now, _ in code_differences(target.pid)}
    target.ask("go 20")
    assert target.end() == {"ended": True}
