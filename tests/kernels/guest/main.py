# SPDX-License-Identifier: MIT
"""Runs the checks within the virtual machine. Each result is one line of JSON on the descriptor RESULTS:

    {"check", "ok", "said", "seconds", ["right", "of"]}

The kernel's command line has what to run, which init gets as environment variables:

    MM_CHECKS   their names, with commas between them
    MM_ROUNDS   how often to repeat what is repeated
    MM_SEED     of all that is random
"""
import json
import os
import pathlib
import random
import re
import sys
import time
import traceback

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(TOP / "tests/live"), str(TOP / "tests/kernels")]

import log  # noqa: E402
import plan  # noqa: E402
from proofs import Wrong  # noqa: E402

RESULTS = 3
RELEASE = os.uname().release
PREEMPT = pathlib.Path("/sys/kernel/debug/sched/preempt")


def say(**result):
    os.write(RESULTS, json.dumps(result).encode() + b"\n")


def preemption():
    """The mode in use, and all that it can be set to: "none voluntary (full)". Kernels before 5.12 have one."""
    words = PREEMPT.read_text().split() if PREEMPT.exists() else ["(fixed)"]
    return next(word.strip("()") for word in words if word.startswith("(")), [word.strip("()") for word in words]


def version():
    """That of the source: in Debian's stable releases the kernel's own name for itself stays the same."""
    found = re.search(r"Debian (\d+(\.\d+)+)", os.uname().version)
    return found[1] if found else RELEASE


def where(error):
    """The line of a check at which it failed."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{pathlib.Path(frames[-1].filename).name}:{frames[-1].lineno}: {frames[-1].line}"


def result_of(check):
    try:
        return {"ok": True, "said": "", **(check() or {})}
    except Wrong as wrong:
        return {"ok": False, "said": str(wrong), "right": wrong.right, "of": wrong.of}
    except Exception as error:  # whatever it is, the next check can be run
        return {"ok": False, "said": f"{error or type(error).__name__} ({where(error)})"}


def run(name, check):
    began = time.monotonic()
    print(f"{time.monotonic():.1f} {name}", flush=True)
    result = result_of(check)
    say(check=name, **result, seconds=round(time.monotonic() - began, 1))


def main():
    mode, modes = preemption()
    say(check="boot", ok=True, said=f"{version()}, {mode}", version=version(), processors=os.cpu_count(), preempt=mode, modes=modes,
        seconds=round(time.monotonic(), 1))
    random.seed(int(os.environ["MM_SEED"]))
    before = log.Kernel()
    for name, check in plan.checks(RELEASE, os.environ["MM_CHECKS"].split(","), int(os.environ["MM_ROUNDS"])):
        run(name, check)
    run("log", before.assert_clean)


main()
