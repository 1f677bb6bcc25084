# SPDX-License-Identifier: MIT
"""The cost of a pause: its copy compared with a plain copy of the same ranges, and its stop compared with
bare interrupts.

tests/tools/pauser makes the pauses. The plain copy is one process_vm_readv loop over what the pause has
copied, into memory that is resident already, while the target runs (and does nothing).
"""
import json
import pathlib
import subprocess

from sides import PROGRAMS, TOP, Failed, Target, end, read_line

PAUSER = TOP / "build/release/tools/pauser"
MIB = 1024
PAUSES = 7  # in a round; the least counts: other processes on the machine can only add to it


class Talk:
    """A program that answers a line with a line."""

    def __init__(self, *argv):
        self.argv = [str(a) for a in argv]
        self.process = subprocess.Popen(self.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.first = self.line()

    def line(self):
        line = read_line(self.process.stdout, self.argv[0])
        if not line:
            raise Failed(f"{self.argv[0]} ended: status {end(self.process)}")
        return line

    def ask(self, order):
        self.process.stdin.write(order.encode() + b"\n")
        return json.loads(self.line())

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.stdin.close()
        end(self.process)
        self.process.stdout.close()


def resident_pages(pid):
    """As the kernel counts them by walking the page tables."""
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Rss:"):
            return int(line.split()[1]) // 4
    raise Failed(f"no Rss of {pid}")


def pause(pauser):
    had = pauser.ask("pause")
    if had["r"] != 0:
        raise Failed(f"a pause failed: {had}")
    return had


def copying(rounds):
    """For each round: (speed of the pause / of the plain copy, expected / actual time, pages that became
    resident, GB/s)."""
    out = []
    with Talk(PROGRAMS / "heavy", MIB) as target:
        pid = int(target.first.split()[1])
        with Talk(PAUSER, pid) as pauser:
            for _ in range(rounds):
                before = resident_pages(pid)
                had = [pause(pauser) for _ in range(PAUSES)]
                plain = min(pauser.ask("plain")["ns"] for _ in range(PAUSES))
                best = min(had, key=lambda h: h["had_ns"])
                out.append((plain / best["had_ns"], best["expected_ns"] / best["had_ns"],
                            resident_pages(pid) - before, best["bytes"] / best["had_ns"]))
    return out


def stopping(idle, rounds):
    """(ns of the pause, ns of bare interrupts) for a target with @idle threads that sleep."""
    out = []
    with Target(hot=1, idle=idle) as target:
        for _ in range(rounds):
            with Talk(PAUSER, target.pid) as pauser:
                ours = min(pause(pauser)["had_ns"] for _ in range(PAUSES))
            with Talk(PROGRAMS / "interrupts", target.pid) as bare:
                theirs = min(bare.ask("") for _ in range(PAUSES))
            out.append((ours, theirs))
    return out


def rows(plan):
    """The rows of the table, as keyword arguments of run.py's Row."""
    copies = copying(plan.rounds)
    few, many = stopping(9, plan.rounds), stopping(1000, plan.rounds)
    return [{
        "name": "pause/copy", "what": f"{MIB} MiB: speed of a whole pause / of a warm readv",
        "values": [c[0] for c in copies], "at_least": 0.8
    }, {
        "name": "pause/speed", "what": "the same, all of the pause counted", "unit": "GB/s",
        "values": [c[3] for c in copies]
    }, {
        "name": "pause/expected", "what": "pause as expected / as it was", "values": [c[1] for c in copies]
    }, {
        "name": "pause/resident", "what": "pages that the target has more afterwards",
        "values": [c[2] for c in copies], "at_most": 0
    }, {
        "name": "pause/9", "what": "10 threads, hardly any memory: the pause", "unit": "ms",
        "values": [o / 1e6 for o, _ in few]
    }, {
        "name": "pause/9 bare", "what": "the same / bare interrupts of as many",
        "values": [o / t for o, t in few]
    }, {
        "name": "pause/1000", "what": "1001 threads", "unit": "ms", "values": [o / 1e6 for o, _ in many]
    }, {
        "name": "pause/1000 bare", "what": "the same / bare interrupts of as many",
        "values": [o / t for o, t in many]
    }]
