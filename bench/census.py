# SPDX-License-Identifier: MIT
"""What a census costs, after the copy (bench/census.c)."""
import json
import pathlib
import subprocess

CENSUS = pathlib.Path(__file__).parent.parent / "build/bench/census"
BLOCKS = 10_000_000


def census(rounds):
    return json.loads(subprocess.run([CENSUS, str(BLOCKS), str(rounds)], capture_output=True, text=True, check=True).stdout)


def rows(plan):
    """The rows of the table, as keyword arguments of run.py's Row."""
    # memory is what the first one in a process adds
    memory = census(1)["bytes_a_block"]
    return [{"name": "census", "what": f"census of {BLOCKS // 1_000_000} million blocks, after the copy: processor time", "unit": "s",
             "values": census(max(3, plan.rounds))["seconds"], "at_most": 0.5},
            {"name": "census/memory", "what": "the same: memory a block, its own 16 bytes included", "unit": "bytes", "values": [memory], "at_most": 24}]
