# SPDX-License-Identifier: MIT
"""The census of jemalloc (heap/jemalloc/), compared with a victim's own record of its blocks, as test_census.py
does with glibc's.

The victim is census_next with the library in LD_PRELOAD: Debian's 5.3 (stripped, for addresses of 48 bits), and
others that are in build/jemalloc (libjemalloc-VERSION.so; doc/jemalloc-heap.md says how they are made: those are
for addresses of 57 bits, if the processor has them). A thread that is inside of jemalloc may hold a few blocks
that are neither the program's nor in a cache.
"""
import json
import pathlib
import random
import shutil
import subprocess

import pytest


from chance import at_most
from test_census import CENSOR, LIMIT, TOP, Victim, censor, census_of, rounds

LIBRARIES = {"debian": pathlib.Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"),
             **{v: TOP / f"build/jemalloc/libjemalloc-{v}.so" for v in ("5.2.1", "5.3.0")}}
LAYOUTS = {"debian": "jemalloc 5.3", "5.3.0": "jemalloc 5.3", "5.2.1": "jemalloc 5.2"}
IN_HAND = 5     # blocks of each thread that is inside


def start(library, *arguments, **environment):
    if not LIBRARIES[library].exists():
        pytest.skip(f"optional: {LIBRARIES[library]} is not there")
    command = [TOP / "build/victims/census_next", *map(str, arguments)]
    victim = Victim(command, LD_PRELOAD=str(LIBRARIES[library]), **environment)
    assert victim.process.stdout.readline().startswith("ready")
    victim.truth = json.loads(victim.ask("truth"))["truth"]
    return victim


def assert_exact(census, library):
    truth = census["truth"]
    assert census["known"] and census["problems"] == 0, census["problem"]
    assert LAYOUTS[library] in census["layout"].split("; ")
    assert truth["busy"] == 0 and truth["blocks"] > 0
    assert (truth["missing"], truth["wrong_size"], truth["extra"]) == (0, 0, 0), truth
    assert census["adds_up"] and census["unseen"] == 0


def assert_like_the_victim(library, mode, options="", **expected):
    with start(library, mode, 10000, MALLOC_CONF=options) as victim:
        [census] = census_of(victim)
        assert_exact(census, library)
        arenas = census["arenas"]
        assert all(arena["at"] for arena in arenas), "their own figures were compared"
        for arena in arenas:
            assert sum(arena[k][1] for k in ("used", "tcache", "bins")) + arena["top"] + arena["other"] == arena["walked"] == arena["system"]
        assert sum(arena["tcache"][0] for arena in arenas) > 0
        return arenas


@pytest.mark.parametrize("mode", ["plain", "all", "gone", "heaps"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_equals_the_truth(library, mode):
    arenas = assert_like_the_victim(library, mode)
    assert (len(arenas) == 1) == (mode == "plain")


@pytest.mark.parametrize("library", LIBRARIES)
def test_without_caches(library):
    """It cannot be seen whether there are none, or they were not found."""
    with start(library, "all", 10000, MALLOC_CONF="tcache:false") as victim:
        [census] = census_of(victim)
        assert census["known"] and not census["adds_up"]


# nothing is purged; one arena for all; caches that have large blocks, too
@pytest.mark.parametrize("options", ["dirty_decay_ms:-1", "narenas:1", "lg_tcache_max:20"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_options(library, options):
    arenas = assert_like_the_victim(library, "all", options)
    assert (len(arenas) == 1) == (options == "narenas:1")


@pytest.mark.parametrize("library", LIBRARIES)
def test_many_blocks(library):
    with start(library, "all", 1000000) as victim:
        [census] = census_of(victim)
        assert_exact(census, library)
        assert census["blocks"] > 400000


@pytest.mark.parametrize("library", LIBRARIES)
def test_under_load(library):
    """All threads keep running. What adds up is exact but for what threads have in hand; with more threads than
    processors, one is often stopped while it empties its cache, so that the pause is made again."""
    stops = rounds(40)
    with start(library, "load", 20000, 4) as victim:
        taken = census_of(victim, "-n", stops, "-r", 9)
        assert len(taken) == stops
        for census in taken:
            truth = census["truth"]
            assert census["known"] and census["problems"] == 0, (census["problem"], hex(census["problem_at"]))
            if census["adds_up"]:
                assert (truth["missing"], truth["wrong_size"]) == (0, 0), truth
                assert truth["extra"] <= truth["busy"] * IN_HAND, truth
        assert sum(not census["adds_up"] for census in taken) <= at_most(stops / 20)
        assert sum(census["truth"]["busy"] for census in taken) > stops, "threads were at work"


@pytest.mark.parametrize("library", LIBRARIES)
def test_core(library, tmp_path):
    if not shutil.which("gcore"):
        pytest.skip("no gcore")
    with start(library, "all", 5000, 3) as victim:
        [live] = census_of(victim)
        core = core_of(victim, tmp_path)
        [census] = censor("-t", victim.truth, "-c", core)
        assert_exact(census, library)
        for key in ("layout", "blocks", "own", "arenas", "areas"):
            assert census[key] == live[key], key


def core_of(victim, folder):
    subprocess.run(["gcore", "-o", folder / "core", str(victim.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LIMIT, check=True)
    return folder / f"core.{victim.pid}"


@pytest.mark.parametrize("library", LIBRARIES)
def test_corrupt(library, tmp_path):
    """Bytes of a core file are changed, more of them each time, most of them in jemalloc's own memory: the census ends, and what it
    lists is sorted and lies in its areas (tests/tools/censor prints it). With the sanitizers, MM_BUILD is that build."""
    if not shutil.which("gcore"):
        pytest.skip("no gcore")
    with start(library, "all", 1000, 2) as victim:
        core = core_of(victim, tmp_path)
    whole, dice = core.read_bytes(), random.Random(5)
    words = [i for i in range(0, len(whole), 8) if any(whole[i:i + 8])]
    differs = 0
    times = rounds(14)
    for i in range(times):
        changed = bytearray(whole)
        for _ in range(4 << i * 12 // times):
            changed[dice.choice(words) + dice.randrange(8)] = dice.randrange(256)
        core.write_bytes(changed)
        done = subprocess.run([CENSOR, "-b", "-c", core], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT)
        if done.returncode == 2:
            continue    # the core itself, its headers or notes
        assert done.returncode == 0, done.stderr
        census = json.loads(done.stdout)
        differs += not (census["known"] and census["adds_up"])
        blocks = census["list"]
        assert all(a[0] + a[1] <= b[0] for a, b in zip(blocks, blocks[1:])), "sorted, none overlaps"
    assert differs


def test_hpa_is_refused():
    """What the huge page allocator keeps free is not known: that is said."""
    with start("debian", "plain", 20000, MALLOC_CONF="hpa:true") as victim:
        [census] = census_of(victim)
        assert census["known"] and not census["adds_up"] and "opt.hpa" in census["problem"]


def test_beside_glibc():
    """Both are there, and each block is listed once."""
    program = ("import ctypes, sys\nmalloc = ctypes.CDLL('libc.so.6').__libc_malloc\nmalloc.restype = ctypes.c_void_p\n"
               "print([malloc(5000) for _ in range(10)], flush=True)\nsys.stdin.read()\n")
    if not LIBRARIES["debian"].exists():
        pytest.skip("optional: jemalloc is not installed")
    with Victim(["/usr/bin/python3", "-c", program], LD_PRELOAD=str(LIBRARIES["debian"])) as victim:
        theirs = json.loads(victim.process.stdout.readline())
        [census] = censor("-b", victim.pid)
        assert census["adds_up"] and census["layout"].startswith("glibc ") and census["layout"].endswith("; jemalloc 5.3")
        blocks = census["list"]
        assert set(theirs) <= {b[0] for b in blocks} and len(blocks) > 300
        assert all(a[0] + a[1] <= b[0] for a, b in zip(blocks, blocks[1:]))
