# SPDX-License-Identifier: MIT
"""The cost of a stack: ours compared with libunwind-ptrace and libdwfl, on the same stacks (bench/unwind.c).

Each round is one run of the program, and each ratio is taken within it. "libunwind-ptrace" is that library as
shipped; "--unwinder libunwind" is the same unwinder with accessors that need no ptrace.
"""
import json
import pathlib
import subprocess

PROGRAM = pathlib.Path(__file__).parent.parent / "build/bench/unwind"

OTHERS = {"libunwind_ptrace": "libunwind-ptrace", "libunwind": "--unwinder libunwind", "dwfl": "libdwfl"}
MUST = {"12": None, "30": 100.0, "stream": 60.0}
WHAT = {"12": "12 frames", "30": "30 frames", "stream": "thousands of stacks"}
BOUND = ("libunwind_ptrace", "dwfl")    # the bounds apply to these


def run_once():
    result = subprocess.run([PROGRAM], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True,
                            timeout=120)
    return json.loads(result.stdout)


def ratio_rows(rounds, kind):
    return [{"name": f"{kind}/{other.split('_')[-1]}", "what": f"{WHAT[kind]}: {name} / ours",
             "values": [r[kind][other] / r[kind]["ours"] for r in rounds],
             "at_least": MUST[kind] if other in BOUND else None} for other, name in OTHERS.items()]


def measure(plan):
    """The rows of the table, as keyword arguments of run.py's Row."""
    rounds = [run_once() for _ in range(plan.rounds)]
    rows = [{"name": f"ns/{kind}", "what": f"{WHAT[kind]}: ours", "unit": "ns",
             "values": [r[kind]["ours"] for r in rounds]} for kind in MUST]
    for kind in MUST:
        rows += ratio_rows(rounds, kind)
    return rows
