# SPDX-License-Identifier: MIT
"""The censuses of allocators other than glibc's, compared with a victim's own record of its blocks.

As in test_census.py: each live block must be listed, with its size, and nothing else: never one that is free, in
whatever list or cache. Only a thread that is inside malloc at that moment may hold up to two that are neither.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess

import pytest

from chance import at_most
from test_census import FULL, LIMIT, Victim, assert_exact, censor, census_of, of_the_day, rounds

VICTIMS = pathlib.Path(__file__).resolve().parent.parent / "build/victims"
HOARDS = {"oldmusl": "musl", "musl": "musl", "musl_static": "musl", "mimalloc": "mimalloc", "tcmalloc": "tcmalloc"}
LAYOUTS = {"oldmusl": "musl before 1.2.1", "musl": "musl 1.2.1 or later", "musl_static": "musl 1.2.1 or later", "mimalloc": "mimalloc 2.0.9 to 2.1.2", "tcmalloc": "tcmalloc 2.8 to 2.10"}

# blocks that a thread inside malloc may hold; two, if it is none of these
HELD = {"oldmusl": ["-g", 3]}
# tcmalloc's data is larger, and each of its censuses takes longer
PARTS = {"tcmalloc": 3, "oldmusl": 3}
# of 1000 changed bytes: how many may be unnoticed, on average. Nothing counts blocks that have a mapping of their own
UNNOTICED = {"oldmusl": 5}
# one stop in so many needs a second try; a busy machine preempts threads while they hold tcmalloc's lists in hand
AGAIN = {"tcmalloc": 2}
# instructions of one operation of its page heap, which is seen as unfinished
PAGE_HEAP = {"tcmalloc": 300}
# of its first thousand steps, none is within the allocator
STEPS_EACH_DAY = {"oldmusl": 5000}
# steps of a test that takes only a few censuses. tcmalloc's thread caches fill slowly, and only full ones give chains back
STEPS = {"tcmalloc": 300000}
WAITS = 5  # so often in a row a thread may be stopped that holds a lock of the allocator


def start(name, *arguments):
    program = VICTIMS / f"hoard_{name}"
    if not program.exists():
        optional = "optional: " if name in ("mimalloc", "tcmalloc", "oldmusl") else ""
        pytest.skip(f"{optional}{program} is not built: what it is linked with is not installed")
    victim = Victim([program, *map(str, arguments)])
    assert victim.process.stdout.readline().startswith("ready")
    victim.truth = json.loads(victim.ask("truth"))["truth"]
    return victim


def only(census, name):
    """The sums of the arenas of this allocator; glibc's loader may have used its own malloc before."""
    return [arena for arena in census["arenas"] if arena["allocator"] == HOARDS[name]]


def assert_lists_all(census, name):
    assert LAYOUTS[name] in census["layout"]
    assert_exact(census)
    assert only(census, name)
    assert sum(arena["used"][0] for arena in census["arenas"]) + census["mmapped"][0] == census["blocks"]


@pytest.mark.parametrize("mode", ["plain", "all", "gone"])
@pytest.mark.parametrize("name", HOARDS)
def test_equals_the_truth(name, mode):
    for seed in range(rounds(3)):
        with start(name, mode, 20000, 8, seed) as victim:
            [census] = census_of(victim)
            assert_lists_all(census, name)
            assert sum(arena["bins"][0] for arena in only(census, name)) > 1000, "there are free ones"


@pytest.mark.parametrize("name", HOARDS)
def test_many_blocks(name):
    wanted = 600000 if FULL else 150000
    with start(name, "all", wanted * 14 // 6, 8) as victim:
        [census] = census_of(victim)
        assert_lists_all(census, name)
        assert census["blocks"] > wanted and census["seconds"] < 5


@pytest.mark.parametrize("name", HOARDS)
def test_random_stops_under_load(name):
    """All threads keep running. A census that does not add up is taken again, as a scan does: three times at most."""
    stops = rounds(75 / PARTS.get(name, 1), 150)
    with start(name, "load", 20000, 8) as victim:
        taken = census_of(victim, *HELD.get(name, []), "-n", stops, "-r", 2)
        assert len(taken) == stops
        for census in taken:
            truth = census["truth"]
            assert census["known"] and census["problems"] == 0, (census["problem"], hex(census["problem_at"]))
            if census["adds_up"]:
                assert (truth["missing"], truth["wrong_size"]) == (0, 0) and truth["extra"] <= truth["allowed"], truth
        assert sum(not census["adds_up"] for census in taken) <= at_most(stops / 50), sorted(census["doubt"] for census in taken)
        assert sum(census["truth"]["busy"] for census in taken) > stops, "threads were at work"
        assert sum(census["tries"] > 1 for census in taken) <= at_most(stops / AGAIN.get(name, 5))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", HOARDS if FULL else [name for name in HOARDS if name != "musl_static"])  # which is musl's code, too
def test_after_each_instruction(name, threads):
    """Every state that a stop can find in malloc, realloc, memalign and free; a fifth of them each day."""
    steps = 5000 if FULL else STEPS_EACH_DAY.get(name, 1000) // PARTS.get(name, 1)
    with start(name, "step", 100, threads) as victim:
        if threads == 1:
            victim.process.stdin.write("end\n")
            victim.process.stdin.flush()
        *wrong, summary = census_of(victim, *HELD.get(name, []), "-s", steps)
        assert wrong == [], json.dumps(wrong)
        assert summary["steps"] > steps / 50 and summary["wrong"] == 0
        # one change that takes hundreds of instructions may be most of what is stepped through
        assert summary["not_adding_up"] <= max(summary["steps"] / 2, PAGE_HEAP.get(name, 0))


@pytest.mark.parametrize("name", of_the_day(list(HOARDS)))
def test_at_each_instruction_once(name):
    """As above, but no instruction twice, so that rare ones are reached: as those that move many blocks at once."""
    with start(name, "step", 100, 2) as victim:
        for _ in range(WAITS):
            *wrong, summary = census_of(victim, *HELD.get(name, []), "-s", rounds(STEPS.get(name, 50000) // 3, STEPS.get(name, 50000)), "-u", 1)
            assert wrong == [], json.dumps(wrong)
            # else it waits, step by step, for a lock of the thread that is stopped; in between both go on
            if summary["steps"] > 100:
                break
        assert summary["steps"] > 100 and summary["not_adding_up"] <= summary["steps"] / 3


@pytest.mark.parametrize("name", HOARDS)
def test_corrupt(name):
    """A byte of what is the allocator's, changed at random: what follows from it is noticed, and nothing crashes.
    That a block is another length can be possible."""
    flips = 3000 if FULL else 1500 // PARTS.get(name, 1)
    with start(name, "all", 4000, 4) as victim:
        [found] = census_of(victim, "-f", flips)
        assert found["flips"] == flips and found["noticed"] > flips / 10
        assert found["disorder"] == 0
        assert found["unnoticed"] <= at_most(flips * UNNOTICED.get(name, 1) / 1000), found
        assert found["resized"] <= found["flips"] / 100, found


@pytest.mark.parametrize("name", HOARDS)
def test_core(name, tmp_path):
    """The same from a core file, by gcore."""
    if not shutil.which("gcore"):
        pytest.skip("no gcore")
    with start(name, "all", 5000, 3) as victim:
        [live] = census_of(victim)
        subprocess.run(["gcore", "-o", tmp_path / "core", str(victim.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LIMIT, check=True)
        [census] = censor("-t", victim.truth, *HELD.get(name, []), "-c", tmp_path / f"core.{victim.pid}")
        assert_lists_all(census, name)
        for key in ("layout", "blocks", "own", "arenas", "mmapped", "areas"):
            assert census[key] == live[key], key


@pytest.mark.parametrize("name", HOARDS)
def test_killed_inside_malloc(name, tmp_path):
    """A core of a process that dies at any moment: what does not fit together is reported as such."""
    with start(name, "load", 5000, 4) as victim:
        for i in range(rounds(3)):
            subprocess.run(["gcore", "-o", tmp_path / "core", str(victim.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LIMIT, check=True)
            [census] = censor("-t", victim.truth, *HELD.get(name, []), "-c", tmp_path / f"core.{victim.pid}")
            truth = census["truth"]
            assert census["known"]
            if census["adds_up"]:
                assert (truth["missing"], truth["wrong_size"]) == (0, 0) and truth["extra"] <= truth["allowed"], truth


@pytest.mark.parametrize("name", HOARDS)
def test_the_victim_goes_on(name):
    with start(name, "load", 5000, 4) as victim:
        census_of(victim, "-n", 3)
        status = pathlib.Path(f"/proc/{victim.pid}/status").read_text()
        assert "TracerPid:\t0" in status and "State:\tT" not in status and "State:\tt" not in status
        os.kill(victim.pid, signal.SIGTERM)
        assert victim.process.wait(timeout=30) == -signal.SIGTERM
