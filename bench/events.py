# SPDX-License-Identifier: MIT
"""The cost of an event after the stop: bench/events.c, which has no target.

A hundred million events through the ledger and a trace; then ten million, reported by mmattach and by
heaptrack_print from the same events, each in its own format; and by mmattach in each format that it has.
"""
import json
import pathlib
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).parent.parent
PROGRAM = TOP / "build/bench/events"
FOLDER = TOP / "build/bench/events.traces"
MANY, HELD, STACKS = 100_000_000, 10_000_000, 5000
FEWER, HELD_OF_FEWER = 10_000_000, 1_000_000


def made(events, held, *more):
    """The figures of one run of the program, which leaves the trace in FOLDER."""
    command = [PROGRAM, events, held, STACKS, FOLDER / "events.mmt", *more]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


# In a small separate process: a child's peak memory starts with that of the process that forked it.
TIMER = """
import resource, subprocess, sys, time
began = time.monotonic()
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
print(time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
"""


def timed(command):
    """(seconds, peak MB) of a program whose output is discarded."""
    words = [sys.executable, "-c", TIMER, *(str(word) for word in command)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return tuple(float(word) for word in done.stdout.split())


def side_by_side(rounds):
    """[(ours, heaptrack_print's)], each (seconds, MB); theirs is None if it is not installed."""
    other = shutil.which("heaptrack_print")
    theirs = [FOLDER / "events.heaptrack"] if other else []
    made(FEWER, HELD_OF_FEWER, *theirs)
    return [(timed([TOP / "mmattach", "report", FOLDER / "events.mmt"]),
             timed([other, "-f", theirs[0]]) if other else None) for _ in range(rounds)]


def formats():
    """Their names, as --help has them, without text."""
    help_text = subprocess.run([TOP / "mmattach", "complete", "report", "--format", ""], capture_output=True, text=True, check=True).stdout
    return [line.split("\t")[0] for line in help_text.splitlines() if line.split("\t")[0] != "text"]


def dearest_format():
    """The largest ratio of a format to the text report that is made beside it: of the times, of the memory."""
    report = [TOP / "mmattach", "report", "-o", FOLDER / "report"]
    ratios = []
    for name in formats():
        text, other = timed([*report, FOLDER / "events.mmt"]), timed([*report, "--format", name, FOLDER / "events.mmt"])
        ratios.append((other[0] / text[0], other[1] / text[1]))
    return max(ratio[0] for ratio in ratios), max(ratio[1] for ratio in ratios)


def rows(plan):
    """The rows of the table, as keyword arguments of run.py's Row."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    try:
        many = made(MANY, HELD)
        both = side_by_side(plan.rounds)
        slowest, largest = dearest_format()
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
    out = [{
        "name": "events/table", "what": f"{MANY // 1_000_000} million events: the ledger, each", "unit": "ns",
        "values": [many["ledger_ns"]]
    }, {
        "name": "events/trace", "what": "the same: the trace file, in addition", "unit": "ns",
        "values": [many["trace_ns"]]
    }, {
        "name": "events/block", "what": f"the same: memory a block held, of {many['peak_blocks']}",
        "unit": "B", "values": [many["rss_per_block"]], "at_most": 32
    }, {
        "name": "events/file", "what": "the same: the file, an event", "unit": "B",
        "values": [many["bytes_per_event"]]
    }, {
        "name": "events/report", "what": f"{FEWER // 1_000_000} million events: report", "unit": "s",
        "values": [ours[0] for ours, _ in both], "at_most": 5
    }, {
        "name": "events/rss", "what": "the same: memory", "unit": "MB",
        "values": [ours[1] for ours, _ in both]
    }, {
        "name": "events/formats", "what": "the slowest other format / the text report", "values": [slowest], "at_most": 2
    }, {
        "name": "events/formats-rss", "what": "the same: memory", "values": [largest], "at_most": 2
    }]
    if both[0][1]:
        out += [{
            "name": "events/heaptrack", "what": "heaptrack_print of the same events / ours",
            "values": [theirs[0] / ours[0] for ours, theirs in both]
        }, {
            "name": "events/heaptrack-rss", "what": "the same: memory",
            "values": [theirs[1] / ours[1] for ours, theirs in both]
        }]
    return out
