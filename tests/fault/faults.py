# SPDX-License-Identifier: MIT
"""mmattach with failing system calls (build/fault/refuse), and what must be true afterwards."""
import errno
import json
import os
import pathlib
import re
import subprocess

from harness import MMATTACH, TOP, Program, Watch, comm, ended
from untouched import assert_untouched

REFUSE = TOP / "build/fault/refuse"
SANITIZED = "address" in MMATTACH.parent.name  # its shadow memory leaves no room for limits

MARK = f"MM_FAULT_RUN={os.getpid()}"
os.environ.update([MARK.split("=")])

# ptrace requests by name, as in linux/ptrace.h
PTRACE = {"CONT": 7, "SINGLESTEP": 9, "POKEUSER": 6, "GETREGS": 12, "SETREGS": 13, "DETACH": 17, "GETEVENTMSG": 0x4201,
          "GETSIGINFO": 0x4202, "SEIZE": 0x4206, "INTERRUPT": 0x4207, "LISTEN": 0x4208, "PEEKSIGINFO": 0x4209,
          "GETSIGMASK": 0x420A, "SETSIGMASK": 0x420B}


def refusal(call, error="ENOSYS"):
    """The argument of refuse for a call's name, or "ptrace NAME", and an error's name."""
    name, _, request = call.partition(" ")
    which = f":0={PTRACE[request]}" if request else ""
    return f"{name}{which}:{getattr(errno, error)}"


class Refused(Watch):
    """mmattach with @args, whose @refusals fail."""

    def __init__(self, refusals, *args, **kwargs):
        kwargs.setdefault("stdin", subprocess.DEVNULL)
        Program.__init__(self, [REFUSE, *refusals, "--", MMATTACH, "--format", "json", *args], **kwargs)


def ours(pid):
    """Was it started by this run of the tests? Other runs may watch processes on the same machine."""
    try:
        return MARK.encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def keepers():
    return {int(p) for p in os.listdir("/proc") if p.isdigit() and comm(p) == "mm-keeper" and ours(p) and not ended(p)}


def assert_says(said, *patterns):
    for pattern in patterns:
        assert re.search(pattern, said, re.IGNORECASE), f"no {pattern!r} in: {said}"


def assert_refuses(run, target, *patterns):
    """It reports why it cannot, with exit status 1, prints no result, and leaves @target as it was."""
    status = run.wait()
    said = run.err.text()
    assert_unharmed(target)
    assert status == 1, f"status {status}: {said}"
    assert_says(said, *patterns)
    assert run.out is None or run.out.text() == ""
    return said


def assert_unharmed(target):
    """It is as it was found, at work, and its own checks are right at its normal end."""
    assert_untouched(target)
    target.wait_working()
    told = target.end()
    assert told["damaged"] == 0


def report(run):
    """The report of a run that has ended."""
    return json.loads(run.out.text())
