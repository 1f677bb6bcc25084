# SPDX-License-Identifier: MIT
"""Shared memory: the pages in a process's page table are copied and seen, and no page is added to its memory,
or to any other process's.

tests/victims/shares has blocks to which only shared memory of each kind points.
"""
import json
import os
import pathlib

import pytest

from harness import VICTIMS, Program
from test_pause import PAGE, Pauser
from test_verdicts import judged_by_us
from untouched import assert_untouched

MIB = 1 << 20
READABLE = {"file", "posix", "memfd", "sysv", "anonymous", "protected", "huge"}  # where a pointer is seen
COUNTS = {"Rss", "Pss", "Pss_Dirty", "Shared_Clean", "Shared_Dirty", "Private_Clean", "Private_Dirty", "Anonymous", "Swap", "ShmemPmdMapped", "FilePmdMapped",
          "Shared_Hugetlb", "Private_Hugetlb", "Locked"}
ETIME = -62


class Shares(Program):
    def __init__(self, folder, large=0, private=0):
        super().__init__([VICTIMS / "shares", folder, large, private])
        self.maps = {}
        while True:
            line = self.out.take()
            assert line is not None, f"it ended: {self.said()}"
            if line == f"ready {self.pid}":
                return
            told = json.loads(line)
            self.maps[told["site"]] = told

    def told(self):
        return {m["addr"]: (site, m["size"]) for site, m in self.maps.items()}

    def end(self):
        self.process.stdin.write(b"end\n")
        self.process.stdin.flush()
        assert json.loads(self.out.take()) == {"damaged": 0}
        assert self.wait() == 0


@pytest.fixture
def shares(tmp_path):
    """shares([LARGE, [PRIVATE]]): the victim, when it waits for orders."""
    started = []

    def start(*args):
        started.append(Shares(tmp_path, *args))
        return started[-1]

    yield start
    for target in started:
        target.kill()
        pathlib.Path(f"/dev/shm/mmattach-shares-{target.pid}").unlink(missing_ok=True)


def pages(target):
    """The kernel's counts for the pages of each shared mapping, and for the files behind them; for other
    mappings, including libraries, only the counts that do not change when another program starts."""
    counts, where = {}, None
    shared = {f"{m['map']:x}" for m in target.maps.values()}
    for line in pathlib.Path(f"/proc/{target.pid}/smaps").read_text().splitlines():
        key, _, rest = line.partition(":")
        if key in COUNTS and (key == "Rss" or where.split("-")[0] in shared):
            counts[where, key] = int(rest.split()[0])
        elif "-" in key.split()[0]:
            where = line.split()[0]
    for site, m in target.maps.items():
        if m["file"]:
            counts[site, "blocks"] = os.stat(m["file"]).st_blocks
    counts["sysv"] = sorted(line.split()[:2] + line.split()[-2:] for line in pathlib.Path("/proc/sysvipc/shm").read_text().splitlines())
    return counts


def grown(before, after):
    """What is more than before; less may be there at any time, where the kernel reclaims pages of files."""
    return {key: (before.get(key, 0), count) for key, count in after.items()
            if (count != before.get(key) if key == "sysv" else count > before.get(key, 0))}


def page_tables(pid):
    return next(line for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmPTE"))


def test_contents_and_nothing_more(shares):
    """Resident pages are copied; others do not become resident, even if other processes have them."""
    target = shares()
    posix = target.maps["posix"]
    # a page of the file that exists, but is not in the target's page table
    with open(posix["file"], "r+b") as other:
        other.seek(5 * PAGE)
        other.write(b"else")
    before, tables = pages(target), page_tables(target.pid)
    p = Pauser(target.pid)
    try:
        for _ in range(20):
            had = p.pause()
            assert (had["left_out"], had["missing"], had["swapped"]) == (0, 0, 0), had
        for site in READABLE & target.maps.keys():
            m = target.maps[site]
            step = 1 if site == "huge" else 2
            for i in range(m["pages"]):
                got = p.ask(f"word {m['map'] + i * PAGE}")
                assert got["word"] == 0x5eed0000 + i if i % step == 0 else (got["word"], got["kind"]) == (None, 3), (site, i, got)
        for site in "dropped", "read":
            assert p.word(target.maps[site]["map"]) is None
        assert grown(before, pages(target)) == {} and page_tables(target.pid) == tables
    finally:
        p.end()
    assert_untouched(target)
    target.end()


def test_verdicts(shares):
    """What shared memory reaches is as valgrind reports it, except where the page is not in the page table;
    and that is reported."""
    target = shares()
    ours, answer = judged_by_us(target.told(), target.pid)
    for site in target.maps:
        assert ours.sites[site] == {"reachable" if site in READABLE else "definite": 1}, site
    unseen = (5 * 8 + 8 + 16) * PAGE // 1024  # every second page of six mappings, and all of "dropped"
    assert len(answer["doubts"]) == 1 and f"{unseen} KiB of shared memory have no page" in answer["doubts"][0], answer["doubts"]
    assert_untouched(target)
    target.end()


def test_too_large(shares):
    """More than there is room for beside little private memory is left out, and reported; small mappings are
    copied all the same."""
    target = shares(80)
    ours, answer = judged_by_us(target.told(), target.pid)
    assert ours.sites["large"] == {"definite": 1}
    assert ours.sites["memfd"] == {"reachable": 1}
    assert any("80 MiB of shared memory were not copied" in d for d in answer["doubts"]), answer["doubts"]
    assert answer["bytes"] < 64 * MIB
    assert_untouched(target)
    target.end()


def test_large_beside_larger(shares):
    target = shares(80, 400)
    ours, answer = judged_by_us(target.told(), target.pid)
    assert ours.sites["large"] == {"reachable": 1}
    assert answer["bytes"] > 480 * MIB
    assert len(answer["doubts"]) == 1, answer["doubts"]
    assert_untouched(target)
    target.end()


@pytest.mark.alone
def test_rather_without(shares):
    """If the pause would last too long with shared memory, but not without, it is left out. The pause may last for one
    millisecond more each time: 60 MiB take many of them on any machine."""
    target = shares(60)
    p = Pauser(target.pid)
    try:
        assert p.pause()["left_out"] == 0
        # on a busy machine reading the list of mappings takes that long already
        for ms in range(4, 24):
            had = p.ask(f"pause {ms}000000")
            if had["r"] != ETIME:
                break
        assert had["r"] == 0 and had["left_out"] >= 60 * MIB, had
        assert p.word(target.maps["large"]["map"]) is None
        assert p.pause()["left_out"] == 0
    finally:
        p.end()
    assert_untouched(target)
    target.end()
