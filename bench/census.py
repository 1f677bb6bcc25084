# SPDX-License-Identifier: MIT
"""The cost of a census, after the copy, and of finding the classes of its blocks (bench/census.c)."""
import json
import pathlib
import subprocess

CENSUS = pathlib.Path(__file__).parent.parent / "build/bench/census"
BLOCKS = 10_000_000


def census():
    return json.loads(
        subprocess.run([CENSUS, str(BLOCKS), "1"], capture_output=True, text=True, check=True).stdout)


def rows(plan):
    """The rows of the table, as keyword arguments of run.py's Row. Each is the first census of a process: it
    includes all page faults."""
    runs = [census() for _ in range(min(plan.rounds, 5))]
    what = f"census of {BLOCKS // 1_000_000} million blocks, after the copy"
    return [{
        "name": "census", "what": what, "unit": "s", "values": [run["rounds"][0]["seconds"] for run in runs],
        "at_most": 0.5
    }, {
        "name": "census/cpu", "what": "the same: processor time", "unit": "s",
        "values": [run["rounds"][0]["cpu_seconds"] for run in runs]
    }, {
        "name": "census/memory", "what": "the same: memory a block, its own 16 bytes included",
        "unit": "bytes", "values": [run["bytes_a_block"] for run in runs], "at_most": 24
    }, {
        "name": "classes", "what": "classes of these blocks, one in three an object", "unit": "s",
        "values": [run["classes"] for run in runs], "at_most": 0.5
    }]
