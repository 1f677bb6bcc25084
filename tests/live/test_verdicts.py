# SPDX-License-Identifier: MIT
"""Verdicts for a live process, compared with valgrind memcheck's for the same program.

A victim (losses.c, cxxlosses.cc) loses and holds blocks in every way there is, each way in its own function
site_NAME, and prints which block belongs to which site. It is paused once and its blocks get verdicts; under
valgrind the same program runs the leak check at the point where it would wait for us. The test compares the
number of blocks of each verdict for each site, and the bytes that are lost with the lost blocks.

Differences from valgrind are listed here, with the reason: EXCEPTIONS; doc/verdicts.md explains them to
users.
"""
import collections
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

import libcs
from harness import MMATTACH, TOP, VICTIMS, Program
from untouched import assert_untouched

VERDICTS = TOP / os.environ.get("MM_BUILD", "build/release") / "tools/verdicts"
PROGRAMS = {"losses": [VICTIMS / "liblosses.so"], "cxxlosses": []}
KINDS = {"Leak_DefinitelyLost": "definite", "Leak_IndirectlyLost": "indirect", "Leak_PossiblyLost": "possible",
         "Leak_StillReachable": "reachable"}
ALLOCATORS = {"malloc", "calloc", "realloc", "memalign", "posix_memalign", "aligned_alloc"}

# site: (ours, valgrind's, why)
EXCEPTIONS = {
    "in_protected": ({"reachable": 1}, {"definite": 1},
                     "valgrind looks for pointers only where could be written now; memory that was written and then protected holds them too"),
    "in_protected_data": ({"reachable": 1}, {"definite": 1}, "the same, in a page of the program's own file"),
    "past_end_odd": ({"possible": 1}, {"definite": 1},
                     "a block is as large as malloc made it, 40 bytes, and not the 32 that were asked for: behind these is inside"),
}


@dataclasses.dataclass
class Judged:
    """For each site the verdicts of its blocks; those of blocks of no site; the bytes that are lost with a
    site's definitely lost blocks, including these."""

    sites: dict
    others: dict
    lost: dict


def start(name, command=None):
    """The victim, when it waits, and {address: (site, requested bytes)}."""
    program = Program(command or [VICTIMS / name, *PROGRAMS[name]])
    told = {}
    while True:
        line = program.out.take()
        assert line is not None, f"{name} ended: {program.said()}"
        if line == f"ready {program.pid}":
            return program, told
        block = json.loads(line)
        told[block["addr"]] = (block["site"], block["size"])


def end(program):
    """Its own end: any input ends it, with all its threads."""
    program.process.stdin.write(b"end\n")
    program.process.stdin.flush()
    assert program.wait() == 0, program.said()


def judged_by_us(told, *args):
    """The tool's verdicts, by sites; and its complete answer."""
    done = subprocess.run([VERDICTS, *map(str, args)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    sites, lost = collections.defaultdict(collections.Counter), collections.Counter()
    others = collections.Counter()
    leaders = {address: leader for address, _, _, leader in answer["blocks"]}
    for address, usable, verdict, leader in answer["blocks"]:
        site, size = told.get(address, (None, usable))
        assert size <= usable, f"{address:#x} has {usable} bytes, {size} were asked for"
        if site is None:
            others[verdict] += 1
            continue
        sites[site][verdict] += 1
        assert leaders[leader] == leader
        if verdict in ("definite", "indirect"):
            lost[told[leader][0]] += size
    return Judged(dict(sites), dict(others), dict(lost)), answer


def site_of(error):
    """The site of a loss record, None if the block was not the site's own: allocated by the C library on its
    behalf."""
    names = [frame.findtext("fn") or "?" for frame in error.find("stack").findall("frame")]
    while names and names[0] in ALLOCATORS:
        names.pop(0)
    of_cxx = names and names[0].startswith("operator new")
    if not of_cxx and not names[0].startswith("site_"):
        return None
    return next((name[5:] for name in names if name.startswith("site_")), None)


def judged_by_valgrind(name, folder):
    xml = folder / f"{name}.xml"
    done = subprocess.run(["valgrind", "-q", "--leak-check=full", "--show-leak-kinds=all", "--num-callers=60", "--xml=yes", f"--xml-file={xml}",
                           VICTIMS / name, *PROGRAMS[name]], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    sites, lost = collections.defaultdict(collections.Counter), collections.Counter()
    others = collections.Counter()
    for error in ElementTree.parse(xml).getroot().iter("error"):
        verdict = KINDS[error.findtext("kind")]
        blocks, size = (int(error.find("xwhat").findtext(field)) for field in ("leakedblocks", "leakedbytes"))
        site = site_of(error)
        if site is None:
            others[verdict] += blocks
            continue
        sites[site][verdict] += blocks
        if verdict == "definite":
            lost[site] += size
    return Judged(dict(sites), dict(others), dict(lost))


def without_exceptions(ours, theirs):
    """Remove the known differences from both, and check that they are as described."""
    for site, (our, their, _) in EXCEPTIONS.items():
        if site in ours.sites:
            assert ours.sites.pop(site) == our, site
            assert theirs.sites.pop(site) == their, site
            ours.lost.pop(site, None)
            theirs.lost.pop(site, None)


@pytest.fixture
def waiting():
    """waiting(NAME, [COMMAND]): a victim that waits for orders, and its blocks' sites."""
    started = []

    def begin(name, command=None):
        program, told = start(name, command)
        started.append(program)
        return program, told

    yield begin
    for program in started:
        program.kill()


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_valgrind(waiting, tmp_path, name):
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed")
    program, told = waiting(name)
    ours, answer = judged_by_us(told, program.pid)
    assert_untouched(program)
    theirs = judged_by_valgrind(name, tmp_path)
    assert theirs.sites, "valgrind saw no site"
    without_exceptions(ours, theirs)
    assert ours.sites == theirs.sites
    # the loader's and the C library's own: which of them are also held by a stale word on a stack is chance,
    # but none is lost
    assert set(ours.others) | set(theirs.others) <= {"possible", "reachable"}, (ours.others, theirs.others)
    assert sum(ours.others.values()) == sum(theirs.others.values())
    assert ours.lost == theirs.lost
    assert len(answer["doubts"]) == (1 if name == "losses" else 0), answer["doubts"]
    end(program)


@pytest.mark.parametrize("name", PROGRAMS)
def test_from_a_core(waiting, tmp_path, name):
    """The same from a core file that gdb writes of the same process, with all that it leaves out."""
    program, told = waiting(name)
    ours, _ = judged_by_us(told, program.pid)
    done = subprocess.run(["gdb", "-nx", "-q", "-batch", "-p", str(program.pid), "-ex", f"gcore {tmp_path}/core"],
                          capture_output=True, text=True, timeout=120)
    assert pathlib.Path(tmp_path / "core").exists(), done.stdout + done.stderr
    post_mortem, _ = judged_by_us(told, "-c", tmp_path / "core")
    assert post_mortem == ours


def with_libc(name, version):
    """The command that starts the victim with that glibc; the C++ victim is linked with this machine's
    libraries, so it needs a glibc that is not older."""
    if not libcs.there(version):
        pytest.skip(f"glibc {version} is not there: make libcs (it needs the network)")
    if name == "losses":
        return libcs.command(version, name, *PROGRAMS[name])
    folder = libcs.libraries(version)
    return [folder / "ld-linux-x86-64.so.2", "--library-path", f"{folder}:/usr/lib/x86_64-linux-gnu", VICTIMS / name]


@pytest.mark.parametrize("name,version", [(name, v) for name in PROGRAMS for v in libcs.SUITES if (name, v) != ("cxxlosses", libcs.OLDEST)])
def test_other_libcs(waiting, name, version):
    """With each glibc, threads, stacks and thread-local variables are at other addresses: the result is the
    same as with this machine's glibc, which is compared with valgrind."""
    program, told = waiting(name)
    usual, answer = judged_by_us(told, program.pid)
    end(program)
    program, told = waiting(name, with_libc(name, version))
    ours, other = judged_by_us(told, program.pid)
    assert ours.sites == usual.sites
    assert ours.lost == usual.lost
    assert len(other["doubts"]) == len(answer["doubts"]), other["doubts"]
    # the loader's and the C library's own: their number varies, but none is lost
    assert set(ours.others) == {"possible", "reachable"}, ours.others
    said = subprocess.run([MMATTACH, "scan", "-p", str(program.pid)], capture_output=True, text=True, timeout=120)
    assert "its own figures agree" in said.stdout and "are not listed" not in said.stdout, said.stdout + said.stderr
    assert_untouched(program)
    end(program)


def test_again_and_again(waiting):
    """The same verdicts each time, with the threads that there are; and the process is as it was."""
    program, told = waiting("losses")
    first, _ = judged_by_us(told, program.pid)
    for _ in range(5):
        again, _ = judged_by_us(told, program.pid)
        assert again == first
        assert_untouched(program)
    end(program)


JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
# site: (with glibc's malloc, with jemalloc): there is no header between two blocks, and other sizes are whole classes
OF_JEMALLOC = {
    "past_end": ({"definite": 1}, {"possible": 1}),
    "past_end_odd": ({"possible": 1}, {"definite": 1}),
    "unaligned": ({"definite": 1}, {"reachable": 1}),     # the block behind past_end_odd's
}


def test_jemalloc():
    """The same verdicts as with glibc's malloc."""
    if not os.path.exists(JEMALLOC):
        pytest.skip("optional: jemalloc is not installed")
    judged = []
    for preload in ([], ["/usr/bin/env", f"LD_PRELOAD={JEMALLOC}"]):
        program, told = start("losses", [*preload, VICTIMS / "losses", *PROGRAMS["losses"]])
        ours, answer = judged_by_us(told, program.pid)
        end(program)
        assert len(answer["doubts"]) == 1, answer["doubts"]
        judged.append({site: dict(verdicts) for site, verdicts in ours.sites.items()})
    glibc, jemalloc = judged
    assert {site: (glibc[site], jemalloc[site]) for site in glibc if glibc[site] != jemalloc[site]} == OF_JEMALLOC
