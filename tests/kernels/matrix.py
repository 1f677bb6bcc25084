#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""matrix: what `make kernels` runs. Each kernel is booted with all checks, and then once more for each other preemption
that it has, and number of processors, with exact counts alone. Prints each result, and writes the table into
doc/limits.md. The exit status is 1 if a result was not as expected, or a kernel cannot be had."""
import argparse
import random
import signal
import sys
import textwrap

import image
import kernels
import machine
import results

CHECKS = ["ptrace", "uprobe", "exact", "sample", "kill", "budget", "scan", "follow", "storm", "scripts", "container", "repair"]
REPEATED = ["exact"]
SHOWN = 400  # characters; all of it is in results.json
# One processor is the sharpest where the kernel is preempted: all threads share it.
ONE_PROCESSOR = {"6.17+"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", default=" ".join(kernels.ALL), help="names as kernels.py has them")
    parser.add_argument("--rounds", type=int, default=3, help="how often to repeat what is repeated")
    parser.add_argument("--checks", default=" ".join(CHECKS))
    parser.add_argument("--preempt", default="all", help="all, own (as the kernel has it), or some of none voluntary lazy full")
    parser.add_argument("--processors", default="1 2", help="for exact counts")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    return parser.parse_args()


def show(result):
    rounds = f" {result['right']} of {result['of']}" if "right" in result else ""
    word = "right" if result["ok"] else "WRONG"
    said = " ".join(result["said"].split())
    print(f"  {word} {result['check']}{rounds} ({result['seconds']} s) {textwrap.shorten(said, SHOWN)}", flush=True)


class Matrix:
    def __init__(self, asked):
        self.asked = asked
        self.kept = results.load()
        self.image = kernels.FOLDER / "image.cpio"
        self.wrong = 0

    def boot(self, name, checks, processors, mode=None):
        """Run them; returns what the kernel has said of itself, or None."""
        print(f"{name}: {', '.join(checks)}; preempt={mode or 'as it is'}, {processors} processors, seed {self.asked.seed}", flush=True)
        orders = {"MM_CHECKS": ",".join(checks), "MM_ROUNDS": self.asked.rounds, "MM_SEED": self.asked.seed,
                  **({"preempt": mode} if mode else {})}
        found = []
        try:
            for result in machine.results(kernels.file(name), self.image, processors, orders):
                show(result)
                found.append(result)
        except machine.Stopped as error:
            self.wrong += 1
            print(f"  WRONG it stopped {error}", flush=True)
        return self.add(found)

    def add(self, found):
        if not found:
            return None
        boot, *others = found
        self.wrong += sum(not result["ok"] for result in others)
        results.add(self.kept, boot, others)
        return boot

    def others(self, boot):
        """(preemption, processors) of the further boots."""
        modes = {"all": boot["modes"], "own": [boot["preempt"]]}.get(self.asked.preempt)
        modes = modes or [mode for mode in self.asked.preempt.split() if mode in boot["modes"]]
        pairs = [(mode, int(n)) for mode in modes for n in self.asked.processors.split()]
        return [pair for pair in pairs if pair != (boot["preempt"], boot["processors"])]

    def kernel(self, name):
        checks = self.asked.checks.split()
        boot = self.boot(name, checks, 1 if name in ONE_PROCESSOR else 2)
        repeated = [check for check in checks if check in REPEATED]
        if boot is None or not repeated:
            return
        for mode, processors in self.others(boot):
            self.boot(name, repeated, processors, mode if mode != "fixed" else None)


def run(asked):
    image.require()
    names = asked.kernels.split()
    why = kernels.get(names)
    matrix = Matrix(asked)
    image.write(matrix.image)
    for name in names:
        if name in why:
            print(f"{name}: cannot be had: {why[name]}")
        elif kernels.is_second_name(name):
            print(f"{name}: is {kernels.what(name)['release']}, which was tried already")
        else:
            matrix.kernel(name)
    results.write_table(matrix.kept)
    print(f"{matrix.wrong} results were not as expected, {len(why)} kernels cannot be had; the table is in {results.DOCUMENT}")
    return 1 if matrix.wrong or why else 0


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the virtual machine is ended, too
    try:
        return run(arguments())
    except image.NotHere as error:
        print(f"kernels: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
