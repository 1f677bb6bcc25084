# SPDX-License-Identifier: MIT
"""What other leak finders cost, beside mmattach, on the same program: tests/victims/sampled.

Two loads: one thread that allocates and frees without a pause, and four that together are asked for 20,000
pairs a second and sleep in between. valgrind (memcheck) and heaptrack start the
program; mmattach attaches to it, once with every call seen and once with a budget, and so does bpftrace, with
the script of real.py. A value is the pairs a second of wall time without a tool over those with it, of the
same round.
"""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

from sides import Failed, Mmattach, end, read_line
from budget import VICTIM, Sampling
from real import Bpftrace

LOADS = [("hot", "a thread that never pauses", ["-f"]),
         ("paced", "four threads, 20,000 pairs a second", ["-r", "20000", "-t", "4"])]
STARTED = {"valgrind": ["valgrind", "-q", "--leak-check=full"],
           "heaptrack": ["heaptrack", "-o", "{folder}/heaptrack"]}
ATTACHED = {"exact": Mmattach, "budget": Sampling, "bpftrace": Bpftrace}
SETTLED_S = 5


class Program:
    """The program, begun by @words."""

    def __init__(self, *words):
        self.process = subprocess.Popen([*words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, bufsize=0, start_new_session=True)
        line = "begun"
        while line and not line.startswith("ready "):
            line = read_line(self.process.stdout, words[0])
        if not line:
            raise Failed(f"{words[0]} ended: status {end(self.process)}")
        self.pid = int(line.split()[1])

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self.process.stdin.close()
        end(self.process)
        self.process.stdout.close()

    def pairs(self):
        self.process.stdin.write(b"pairs\n")
        return json.loads(read_line(self.process.stdout, "the program"))["pairs"]

    def rate(self, seconds):
        began, before = time.monotonic(), self.pairs()
        time.sleep(seconds)
        return (self.pairs() - before) / (time.monotonic() - began)


def started(words, load, seconds):
    with tempfile.TemporaryDirectory(prefix="mm-bench-") as folder:
        with Program(*(word.format(folder=folder) for word in words), VICTIM, *load) as program:
            program.rate(SETTLED_S)
            return program.rate(seconds)


def attached(tracer, load, seconds):
    with Program(VICTIM, *load) as program, tracer(program):
        program.rate(SETTLED_S)
        return program.rate(seconds)


def sides():
    """{name: how to measure it}; bpftrace needs a kernel that allows it, the others their packages."""
    found = {"alone": lambda *load: started([], *load)}
    for name, tracer in ATTACHED.items():
        found[name] = lambda *load, tracer=tracer: attached(tracer, *load)
    for name, words in STARTED.items():
        found[name] = lambda *load, words=words: started(words, *load)
    missing = [name for name in found if name not in ("alone", "exact", "budget") and not shutil.which(name)]
    if missing:
        print(f"bench: not installed: {' '.join(missing)}")
    return {name: measure for name, measure in found.items() if name not in missing}


def rows(plan):
    """One after the other in each round, of one program each."""
    measures = sides()
    for load, what, options in LOADS:
        rates = {name: [] for name in measures}
        for _ in range(plan.rounds):
            for name, measure in measures.items():
                rates[name].append(measure(options, plan.slice_ms / 1000))
        alone = rates.pop("alone")
        yield {"name": f"others/{load}", "what": f"{what}: pairs a second, alone", "values": alone}
        for name, with_it in rates.items():
            yield {"name": f"others/{load}/{name}", "what": f"{what}: alone / with it",
                   "values": [a / b for a, b in zip(alone, with_it)]}
