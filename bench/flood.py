# SPDX-License-Identifier: MIT
"""The cost of verdicts: a flood over a synthetic heap (bench/flood.c), and the leak check compared with
valgrind's on the same program (holder.c)."""
import json
import pathlib
import shutil
import subprocess

TOP = pathlib.Path(__file__).parent.parent
FLOOD, HOLDER = TOP / "build/bench/flood", TOP / "build/bench/holder"
VERDICTS = TOP / "build/release/tools/verdicts"
BLOCKS, MEBIBYTES = 20_000_000, 4096
BESIDE = 300_000  # blocks of the program that both check: valgrind needs minutes for millions


def flood(threads):
    done = subprocess.run(
        [FLOOD, str(BLOCKS), str(MEBIBYTES), str(threads)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def by_valgrind():
    """Seconds of its leak check alone, as printed by the program."""
    done = subprocess.run([
        "valgrind", "-q", "--leak-check=full", "--show-leak-kinds=all", "--log-file=/dev/null", HOLDER,
        str(BESIDE)
    ], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["seconds"]


def by_us():
    """Seconds from the start of the pause to the verdicts: copy, census, flood."""
    with subprocess.Popen([HOLDER, str(BESIDE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as program:
        pid = int(program.stdout.readline().split()[1])
        done = subprocess.run([VERDICTS, "-q", str(pid)], capture_output=True, text=True, check=True)
        program.stdin.close()
    told = json.loads(done.stdout)
    return told["pause_ns"] / 1e9 + told["census"] + told["seconds"]


def rows(plan):
    """The rows of the table, as keyword arguments of run.py's Row."""
    rounds = min(plan.rounds, 3)
    runs = [flood(0) for _ in range(rounds)]
    what = f"{BLOCKS // 1_000_000} million blocks in {MEBIBYTES >> 10} GB: verdicts"
    out = [{
        "name": "flood", "what": what, "unit": "s", "values": [run["seconds"] for run in runs], "at_most": 15
    }, {
        "name": "flood/memory", "what": "the same: memory a block, its own 16 bytes included",
        "unit": "bytes", "values": [run["bytes_a_block"] for run in runs], "at_most": 40
    }, {
        "name": "flood/two", "what": "the same: one thread / two",
        "values": [flood(1)["seconds"] / flood(2)["seconds"] for _ in runs]
    }]
    if shutil.which("valgrind"):
        out.append({
            "name": "flood/valgrind",
            "what": f"leak check of {BESIDE} blocks: valgrind's / pause, census and flood",
            "values": [by_valgrind() / by_us() for _ in range(rounds)]
        })
    return out
