# SPDX-License-Identifier: MIT
"""The census (heap/census.h), compared with a victim's own record of its blocks, with four versions of
glibc.

tests/tools/censor reads the record and the heap from the same snapshot. Each live block must be listed, with
its size, and nothing else: never a free chunk, in whatever list. Only a thread that is inside malloc at that
moment may hold up to two chunks that are neither live nor in a list.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import xml.etree.ElementTree

import pytest

import libcs
from chance import at_most

TOP = pathlib.Path(__file__).resolve().parent.parent
BUILD = TOP / os.environ.get("MM_BUILD", "build/release")
CENSOR = BUILD / "tools/censor"
LOOPS = float(os.environ.get("MM_LOOPS", "1"))
LIMIT = 300
JEMALLOC = pathlib.Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")
VERSIONS = list(libcs.SUITES)
LAYOUTS = {"2.31": "glibc 2.30 or 2.31", "2.36": "glibc 2.32 to 2.41", "2.41": "glibc 2.32 to 2.41", "2.43": "glibc 2.43 or later"}
MODES = ["plain", "all", "sbrk", "fences", "blocked", "nobrk", "gone", "heaps", "small", "big", "tight"]


FULL = os.environ.get("MM_FULL") == "1"


def rounds(usual, full=None):
    """How often to repeat; with MM_FULL=1, @full."""
    return full if FULL and full else max(1, round(usual * LOOPS))


def of_the_day(variants):
    """One of them each day, in turn (MM_DAY: any number); all of them with MM_FULL=1."""
    return variants if FULL else [variants[int(os.environ["MM_DAY"]) % len(variants)]]


class Victim:
    """tests/victims/census with one of the libcs, or any other program."""

    def __init__(self, command, **environment):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ, **environment))
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def ask(self, order):
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def info(self):
        """malloc_info's output, as XML."""
        text = self.ask("info")
        while "</malloc>" not in text:
            line = self.process.stdout.readline()
            assert line, "the victim ended"
            text += line
        return xml.etree.ElementTree.fromstring(text)


def start(version, *arguments, **environment):
    if not libcs.there(version):
        pytest.skip(f"glibc {version} is not there: make libcs (it needs the network)")
    victim = Victim(libcs.command(version, "census", *map(str, arguments)), **environment)
    assert victim.process.stdout.readline().startswith("ready")
    victim.truth = json.loads(victim.ask("truth"))["truth"]
    return victim


def censor(*arguments):
    assert CENSOR.exists(), f"{CENSOR} is not built: make tools"
    done = subprocess.run([CENSOR, *map(str, arguments)], stdout=subprocess.PIPE, text=True, timeout=LIMIT, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def census_of(victim, *arguments):
    return censor("-t", victim.truth, *arguments, victim.pid)


def assert_exact(census):
    """The victim is idle: the census must be equal to its record."""
    truth = census["truth"]
    assert census["known"] and census["problems"] == 0, census["problem"]
    assert truth["busy"] == 0 and truth["blocks"] > 0
    assert (truth["missing"], truth["wrong_size"], truth["extra"]) == (0, 0, 0), truth
    assert census["adds_up"], (census["doubt"], hex(census["doubt_at"]))
    assert census["unseen"] == 0 and census["repaired"] == 0


def total(element, kind):
    found = element.find(f"./total[@type='{kind}']")
    return [int(found.get("count")), int(found.get("size"))] if found is not None else [0, 0]


def assert_own_accounting(census, info, version):
    """Each arena's sums equal malloc_info's, in the same order, because both follow the ring of arenas."""
    heaps = info.findall("heap")
    assert len(heaps) == len(census["arenas"])
    for heap, arena in zip(heaps, census["arenas"]):
        assert total(heap, "fast") == arena["fast"]
        count, size = total(heap, "rest")
        assert count == arena["bins"][0] + (arena["top"] > 0)
        # older ones add each size including its flag bit
        assert size - arena["bins"][1] - arena["top"] in (0, arena["bins"][0])
        assert int(heap.find("./system[@type='current']").get("size")) == arena["system"]
        parts = sum(arena[name][1] for name in ("used", "fast", "tcache", "bins"))
        assert parts + arena["top"] + arena["other"] == arena["walked"]
    mapped = total(info, "mmap")
    assert mapped[0] == census["mmapped"][0]
    # 2.43 adds 16 for each realloc of such a chunk
    drift = mapped[1] - census["mmapped"][1]
    assert drift == 0 or (version == "2.43" and drift > 0 and drift % 16 == 0)
    assert census["mmapped_claimed"] == mapped


@pytest.mark.parametrize("version, mode", [(version, mode) for version in VERSIONS for mode in MODES
                                           if mode != "heaps" or version in of_the_day(VERSIONS)])
def test_equals_the_truth(version, mode):
    with start(version, mode, 4000 if mode == "tight" else 20000) as victim:
        info = victim.info()
        [census] = census_of(victim)
        assert census["layout"] == LAYOUTS[version]
        assert_exact(census)
        assert_own_accounting(census, info, version)
        arenas = census["arenas"]
        assert all(arena["walked"] == arena["system"] for arena in arenas[1:])
        assert arenas[0]["system"] - arenas[0]["walked"] in (0, census["foreign"])
        assert (census["foreign"] > 0) == (mode in ("sbrk", "fences"))
        if mode in ("blocked", "nobrk"):
            assert census["areas"] > len(arenas) + census["mmapped"][0], "the main heap is in pieces"
        if mode == "heaps":
            assert census["areas"] >= 2 * len(arenas) - 1 + census["mmapped"][0], "at least two for each but the main one"
        if mode == "big":
            assert census["mmapped"] == [0, 0]
        if mode == "tight":
            assert len(arenas) == 1 and census["mmapped"][0] > 300, "no thread but the first has an arena"
            assert census["own"] >= 4, "each has a tcache all the same"
        if mode == "gone":
            assert len(arenas) > census["own"], "arenas whose threads have ended"


@pytest.mark.parametrize("version", VERSIONS)
def test_many_blocks(version):
    """Eight threads; no list is empty. A million in full runs."""
    wanted = 1000000 if FULL else 250000
    with start(version, "all", 26 * wanted // 10, 8) as victim:
        info = victim.info()
        [census] = census_of(victim)
        assert_exact(census)
        assert_own_accounting(census, info, version)
        assert census["blocks"] > wanted and len(census["arenas"]) == 8 and census["own"] == 8
        for kind in ("used", "tcache", "bins") + ("fast",) * (version != "2.43"):
            assert sum(arena[kind][0] for arena in census["arenas"]) > 0, kind
        assert census["mmapped"][0] > 0


@pytest.mark.parametrize("tunables", ["hugetlb=1", "hugetlb=2", "tcache_count=0", "tcache_count=200", "tcache_max=200", "tcache_max=4194304", "arena_max=2", "arena_max=1",
                                      "mxfast=0", "mxfast=160", "perturb=165", "top_pad=1000000", "trim_threshold=4096", "mmap_max=3"])
@pytest.mark.parametrize("version", VERSIONS)
def test_tunables(version, tunables):
    with start(version, "all", 20000, GLIBC_TUNABLES="glibc.malloc." + tunables) as victim:
        info = victim.info()
        [census] = census_of(victim)
        assert_exact(census)
        assert_own_accounting(census, info, version)
        assert census["own"] == (0 if tunables == "tcache_count=0" and version == "2.43" else 8)


def assert_as_good_as_can_be(census):
    """At any moment: all live blocks, and nothing else except the chunks that threads hold inside malloc."""
    truth = census["truth"]
    assert census["known"] and census["problems"] == 0, (census["problem"], hex(census["problem_at"]))
    assert truth["missing"] == 0 and truth["wrong_size"] == 0 and truth["extra"] <= truth["allowed"], truth
    assert census["unseen"] == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_random_stops_under_load(version):
    """All threads keep running; 60 stops for each version, 125 in full runs. A census that does not add up may be
    taken once more, which is rare."""
    stops = rounds(60, 125)
    with start(version, "load", 20000, 8) as victim:
        taken = census_of(victim, "-n", stops, "-r", 1)
        assert len(taken) == stops
        for census in taken:
            if census["adds_up"]:
                assert_as_good_as_can_be(census)
        assert sum(not census["adds_up"] for census in taken) <= at_most(stops / 100), "twice in a row"
        assert sum(census["truth"]["busy"] for census in taken) > stops, "threads were at work"
        assert sum(census["tries"] > 1 for census in taken) <= at_most(stops / 20)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("version", of_the_day(VERSIONS))
def test_after_each_instruction(version, threads):
    """Every state that a stop can find in malloc, realloc, memalign and free: in the main arena without its
    lock, and in another one. In full runs of each glibc."""
    with start(version, "step", 100, threads) as victim:
        if threads == 1:
            victim.process.stdin.write("end\n")
            victim.process.stdin.flush()
        *wrong, summary = census_of(victim, "-s", rounds(5000))
        assert wrong == [], json.dumps(wrong)
        assert summary["steps"] > rounds(5000) / 10 and summary["wrong"] == 0
        assert summary["not_adding_up"] <= at_most(summary["steps"] / 20)


# The position that the census reports, relative to the word that was overwritten.
CORRUPT = {"size": -8, "tcache": 0, "bin": -16, "top": -8}


@pytest.mark.parametrize("what", CORRUPT)
@pytest.mark.parametrize("version", VERSIONS)
def test_corrupt(version, what):
    with start(version, "plain", 20000) as victim:
        bad = json.loads(victim.ask("corrupt " + what))["bad"]
        [census] = census_of(victim)
        assert census["known"] and census["problems"] > 0 and census["problem"].startswith("corrupt: ")
        assert census["problem_at"] == bad + CORRUPT[what], (hex(census["problem_at"]), census["problem"])
        assert not census["adds_up"]
        # no free chunk is listed; and missing are only live blocks after that position, up to the next known
        # chunk
        assert census["truth"]["extra"] == 0 and census["truth"]["wrong_size"] == 0
        assert census["truth"]["missing"] * 32 <= census["unseen"] + 32 * (what in ("tcache", "bin"))


@pytest.mark.parametrize("version", VERSIONS)
def test_core(version, tmp_path):
    """The same from a core file, by gcore."""
    if not shutil.which("gcore"):
        pytest.skip("no gcore")
    with start(version, "all", 5000, 3) as victim:
        [live] = census_of(victim)
        subprocess.run(["gcore", "-o", tmp_path / "core", str(victim.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LIMIT, check=True)
        [census] = censor("-t", victim.truth, "-c", tmp_path / f"core.{victim.pid}")
        assert_exact(census)
        for key in ("layout", "blocks", "own", "arenas", "mmapped", "mmapped_claimed", "areas"):
            assert census[key] == live[key], key


def assert_unknown(census):
    assert not census["known"] and not census["adds_up"]
    assert census["blocks"] == 0 and census["arenas"] == [] and census["areas"] == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_jemalloc_alone(version):
    """It is loaded beside glibc's malloc, which has never been called: only jemalloc's blocks are listed."""
    if not JEMALLOC.exists():
        pytest.skip("no libjemalloc2")
    if version == "2.31":
        pytest.skip("optional: this jemalloc wants a newer libc than 2.31")
    folder = libcs.libraries(version)
    program = [folder / "ld-linux-x86-64.so.2", "--library-path", f"{folder}:/usr/lib/x86_64-linux-gnu", "--preload", JEMALLOC, "/bin/cat"]
    with Victim(program) as victim:
        assert victim.ask("hello") == "hello\n"
        [census] = censor(victim.pid)
        assert census["known"] and census["adds_up"] and census["blocks"] > 0
        assert census["layout"] == "jemalloc 5.3" and census["problem"] == census["unread"] == ""


def test_static_program():
    """main_arena is in the program itself."""
    with Victim([TOP / "build/victims/hot_static"]) as victim:
        assert victim.process.stdout.readline().startswith("ready")
        [census] = censor(victim.pid)
        assert census["known"] and census["adds_up"] and census["problems"] == 0 and census["blocks"] > 0
        maps = [line.split() for line in pathlib.Path(f"/proc/{victim.pid}/maps").read_text().splitlines()]
        place = [m for m in maps if int(m[0].split("-")[0], 16) <= census["main_arena"] < int(m[0].split("-")[1], 16)]
        assert place[0][5].endswith("hot_static")


def test_nobody_is_stopped_afterwards():
    with start("2.36", "load", 5000, 4) as victim:
        census_of(victim, "-n", 3)
        status = pathlib.Path(f"/proc/{victim.pid}/status").read_text()
        assert "TracerPid:\t0" in status and "State:\tT" not in status and "State:\tt" not in status
        assert victim.process.poll() is None
        os.kill(victim.pid, signal.SIGTERM)
        assert victim.process.wait(timeout=30) == -signal.SIGTERM
