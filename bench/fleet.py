# SPDX-License-Identifier: MIT
"""What merging the traces of many processes costs: processor time, and memory.

Traces of 10 MB, of one program on so many hosts (bench/traces.c), are merged 50 at a time, and then what came of
that. MM_FULL=1 in the environment: 2,000 of them, which takes a quarter of an hour; they are made as they are
needed, and removed.
"""
import os
import pathlib
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).parent.parent
MAKER = TOP / "build/bench/traces"
FOLDER = TOP / "build/bench/fleet"
COUNT = 2000 if os.environ.get("MM_FULL") else 200
STEP = 50
EVENTS, LIVE, STACKS = 1_800_000, 100_000, 3000

# In a small separate process: a child's peak memory starts with that of the process that forked it.
TIMER = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


def timed(*command):
    """(seconds of processor time, peak MB)"""
    words = [sys.executable, "-c", TIMER, *(str(word) for word in command)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return tuple(float(word) for word in done.stdout.split())


def merge(inputs, out):
    return timed(TOP / "mmattach", "merge", "-q", *inputs, "-o", out)


def step(number):
    """Make STEP traces, merge them, remove them: (seconds, MB, bytes of a trace)."""
    folder = FOLDER / "one"
    folder.mkdir(parents=True)
    subprocess.run([str(word) for word in (MAKER, folder, number * STEP, STEP, EVENTS, LIVE, STACKS)], check=True)
    size = next(folder.glob("*.mmt")).stat().st_size
    used = merge([folder], FOLDER / f"{number}.mmt")
    shutil.rmtree(folder)
    return (*used, size)


def rows(plan):
    """The rows of the table, as keyword arguments of run.py's Row; however many rounds @plan has, one is made."""
    del plan
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    try:
        steps = [step(number) for number in range(COUNT // STEP)]
        last = merge(sorted(FOLDER.glob("*.mmt")), FOLDER / "all.mmt")
        size = (FOLDER / "all.mmt").stat().st_size
        report = timed(TOP / "mmattach", "report", FOLDER / "all.mmt")
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
    return [{
        "name": "fleet/trace", "what": f"merging traces of {steps[0][2] / 1e6:.0f} MB, {STEP} at a time: each",
        "unit": "s", "values": [seconds / STEP for seconds, *_ in steps]
    }, {
        "name": "fleet/step-rss", "what": "the same: memory", "unit": "MB", "values": [mb for _, mb, _ in steps]
    }, {
        "name": "fleet/last", "what": f"merging what came of it, {COUNT} processes in {size / 1e6:.1f} MB",
        "unit": "s", "values": [last[0]]
    }, {
        "name": "fleet/rss", "what": "the same: memory", "unit": "MB", "values": [last[1]], "at_most": 100
    }, {
        "name": "fleet/report", "what": "its report", "unit": "s", "values": [report[0]]
    }, {
        "name": "fleet/report-rss", "what": "the same: memory", "unit": "MB", "values": [report[1]]
    }]
