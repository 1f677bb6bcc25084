# SPDX-License-Identifier: MIT
"""The live tests' fixtures, and gdb with the scripts loaded."""
import os
import pathlib
import signal
import subprocess
import sys

import pytest

LIVE = pathlib.Path(__file__).resolve().parents[1] / "live"
sys.path.insert(0, str(LIVE))

from borrow import attach, ready_to_run, victim, watch  # noqa: E402, F401
from harness import ended, wait_for  # noqa: E402
from session import ENVIRONMENT, GDB, Gdb, TerminalGdb, engines, sourced  # noqa: E402


@pytest.fixture(scope="session", autouse=True)
def gdb_is_there():
    if not GDB:
        pytest.skip("gdb is not installed")


@pytest.fixture(scope="session")
def gdb_calls():
    """gdb can call functions in a process. gdb 13 cannot if the processor has AMX: it writes back registers
    of a size that the kernel refuses."""
    sleeper = subprocess.Popen(["sleep", "60"])
    done = subprocess.run([GDB, "-nx", "-q", "-batch", "-p", str(sleeper.pid), "-ex", "call (int)getpid()"], capture_output=True, text=True, check=False)
    sleeper.kill()
    sleeper.wait()
    if "write extended state" in done.stdout + done.stderr:
        pytest.skip("optional: this gdb cannot call functions on this processor: " + (done.stdout + done.stderr).splitlines()[-1])


@pytest.fixture(scope="session")
def watchpoints():
    """Whether the processor's debug registers work: some virtual machines accept writes to them, but no
    watchpoint ever stops a program."""
    done = subprocess.run([GDB, "-nx", "-q", "-batch", "-ex", "starti", "-ex", "watch -l *(long *)($sp-8)", "-ex", "continue", "/bin/true"],
                          capture_output=True, text=True, check=False)
    return "Old value" in done.stdout


@pytest.fixture
def plain_gdb(victim, tmp_path):
    """plain_gdb(ARG...): gdb without the scripts. If gdb or its engine are still there after the test, they
    are ended before the victims."""
    started, own = [], tmp_path / "gdb"
    own.mkdir()

    def start(*args, terminal=False):
        started.append((TerminalGdb if terminal else Gdb)(*args, env={**ENVIRONMENT, "TMPDIR": str(own)}))
        return started[-1]

    yield start
    for gdb in started:
        left = engines(gdb.pid)
        gdb.kill()
        for pid in left:
            end_engine(pid)


def end_engine(pid):
    """Its gdb has been killed: it ends by itself, or is killed."""
    try:
        wait_for(lambda: ended(pid), "the engine ends with its gdb", 5)
    finally:
        if not ended(pid):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def gdb(plain_gdb):
    """gdb(VICTIM, COMMAND...): gdb with the scripts, attached to it; the commands are given before it
    attaches."""
    def start(target=None, *before, **kwargs):
        session = sourced(plain_gdb(**kwargs))
        for command in before:
            session.do(command)
        if target:
            said = session.do(f"attach {target.pid}")
            assert "ptrace" not in said, said
        return session

    return start


@pytest.fixture
def started(gdb):
    """started(VICTIM, OPTION...): the same, with a watch started."""
    def start(target, *options):
        session = gdb(target)
        said = session.mmleak("start", *options)
        assert session.mmleak("status").find(str(target.pid)) >= 0, said
        return session

    return start
