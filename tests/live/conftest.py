# SPDX-License-Identifier: MIT
"""Victims and watches for the live tests; processes that a test leaves running are ended after it."""
import os
import pathlib
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "real/recipes"))

import engines  # noqa: E402
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


def pytest_generate_tests(metafunc):
    """Where equal reports are the point: once with each engine. MM_ENGINE=uprobe runs all with the second one."""
    if "MM_ENGINE" not in os.environ and engines.is_run_twice(metafunc.module.__name__, metafunc.function.__name__):
        metafunc.parametrize("engine", ["ptrace", "uprobe"], indirect=True)


@pytest.fixture(autouse=True)
def engine(request, monkeypatch):
    chosen = getattr(request, "param", os.environ.get("MM_ENGINE"))
    if chosen is None:
        return
    why_not = engines.why_not(request.module.__name__, request.node.name)
    if chosen == "uprobe" and why_not:
        pytest.skip(f"optional: with ptrace only: {why_not}")
    if chosen == "uprobe" and not engines.has_uprobe():
        pytest.skip("clang or libbpf-dev is not installed")
    monkeypatch.setenv("MM_ENGINE", chosen)


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
