# SPDX-License-Identifier: MIT
"""mmattach is killed while it rehearses attaching on a child of its own: that ends with it, and by nothing else."""
import ctypes
import os
import signal

import pytest

from faults import PTRACE, Refused
from harness import children, rounds, wait_for

PR_SET_CHILD_SUBREAPER = 36


@pytest.fixture
def reaper():
    """What a process leaves becomes our child when it ends."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    yield
    libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def test_the_child_has_stepped(victim, reaper):
    """Killed at PTRACE_DETACH, behind a step. The child died of its SIGTRAP, which a system notes as a crash of mmattach,
    unless the signal that its parent's end sends it came first."""
    target = victim("hot", 1)
    others = set(children(os.getpid()))
    for _ in range(rounds(20, 200)):
        run = Refused([f"ptrace:0={PTRACE['DETACH']}:0"], "-p", target.pid, "-d", "1s")
        assert run.wait() == -signal.SIGSYS, run.said()
        left = wait_for(lambda: set(children(os.getpid())) - others, "its child is ours")
        for pid in left:
            _, status = os.waitpid(pid, 0)
            assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, hex(status)
    target.end()
