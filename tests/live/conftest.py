# SPDX-License-Identifier: MIT
"""Victims and watches for the live tests; processes that a test leaves running are ended after it."""
import os
import pathlib
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "real/recipes"))

from harness import MMATTACH, PTRACE_DETACH, PTRACE_SEIZE, VICTIMS, Victim, Watch, ptrace  # noqa: E402


def may_trace():
    """Try it on a child of ours, as every test here does."""
    child = subprocess.Popen(["sleep", "60"])
    try:
        err = ptrace(PTRACE_SEIZE, child.pid)
        if err == 0:
            ptrace(PTRACE_DETACH, child.pid)
        return err == 0
    finally:
        child.kill()
        child.wait()


@pytest.fixture(scope="session", autouse=True)
def ready_to_run():
    assert MMATTACH.exists(), f"{MMATTACH} is not built: make"
    assert (VICTIMS / "hot").exists(), "the victims are not built: make victims"
    if not may_trace():
        pytest.skip("ptrace is not permitted here")


@pytest.fixture
def victim():
    """victim(NAME, ARG...): a victim that has printed that it is ready."""
    started = []

    def start(name, *args, **kwargs):
        started.append(Victim(name, *args, **kwargs))
        return started[-1]

    yield start
    for v in started:
        v.kill()


@pytest.fixture
def watch():
    """watch(ARG...): mmattach, only started. It is ended by a signal that it handles: after a SIGKILL its
    keeper would still be there in the next test."""
    started = []

    def start(*args, **kwargs):
        started.append(Watch(*args, **kwargs))
        return started[-1]

    yield start
    for w in started:
        if w.alive():
            os.kill(w.pid, signal.SIGCONT)
            w.interrupt()
            try:
                w.process.wait(10)
            except subprocess.TimeoutExpired:
                w.kill()


@pytest.fixture
def attach(watch):
    """attach(VICTIM, ARG...): mmattach, attached to it."""
    def start(target, *args, **kwargs):
        return watch("-p", target.pid, *args, **kwargs).wait_watching()

    return start
