# SPDX-License-Identifier: MIT
"""`mmattach scan`, and verdicts of a watch, of processes whose malloc is another than glibc's.

The victim (loser.c) leaks blocks and keeps others reachable as ordered; the expected verdict of each kind is
written here.
"""
import os
import pathlib
import shutil
import subprocess

import pytest

from harness import MMATTACH, VICTIMS
from scans import assert_adds_up, assert_schema, scan
from test_verdict_watch import BEFORE, MEANWHILE, by_site, tell
from untouched import assert_untouched

LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")
PRELOADED = {"mimalloc": LIBRARIES / "libmimalloc.so.2", "tcmalloc": LIBRARIES / "libtcmalloc_minimal.so.4"}
ALL = ["musl", "musl_static", "mimalloc", "tcmalloc"]
# a watch must know where malloc is, and a program that is static and stripped does not show that
WATCHED = ["musl", "mimalloc", "tcmalloc"]
ORDERS = ["threads 3", "lose 50", "keep 40", "inside 10", "chain 20", "hangs 1"]
LAYOUTS = {"musl": "musl 1.2.1 or later", "mimalloc": "mimalloc 2.0.9 to 2.1.2", "tcmalloc": "tcmalloc 2.8 to 2.10"}
# at least, since libc's own blocks are reachable
VERDICTS = {"definite": 50 + 20, "indirect": 20, "possible": 10, "reachable": 40 + 1 + 3}


# tcmalloc loses one block of its own: a MallocExtension that another one replaces
OWN_LOST = {"tcmalloc": 1}


def started(victim, name):
    library = PRELOADED.get(name)
    if library and not library.exists():
        pytest.skip(f"optional: {name} is not installed")
    if library:
        return victim("loser", env={**os.environ, "LD_PRELOAD": str(library)})
    if not (VICTIMS / f"loser_{name}").exists():
        pytest.skip(f"loser_{name} is not built: musl-tools is not installed")
    return victim(f"loser_{name}")


def assert_verdicts(report, name):
    sums = {verdict: it["blocks"] for verdict, it in report["run"]["verdicts"]["all"].items()}
    assert sums.pop("unknown") == 0
    reachable = sums.pop("reachable")
    assert reachable >= VERDICTS["reachable"]
    sums["definite"] -= OWN_LOST.get(name, 0)
    assert sums == {verdict: n for verdict, n in VERDICTS.items() if verdict != "reachable"}


def assert_allocator(report, allocator):
    heap = report["scan"]["heap"]
    assert heap["other_allocator"] is None and allocator in heap["layout"]
    assert sum(a["allocator"] == allocator for a in heap["arenas"]) >= 1


@pytest.mark.parametrize("name", ALL)
def test_verdicts_of_a_scan(victim, name):
    v = started(victim, name)
    tell(v, ORDERS)
    report = scan("-p", v.pid).json()
    assert_untouched(v)
    assert_schema(report)
    assert_adds_up(report)
    assert_allocator(report, name.partition("_")[0])
    assert_verdicts(report, name)
    text = scan("-p", v.pid, form="text").out
    assert LAYOUTS[name.partition("_")[0]] in text and "cannot be listed" not in text and "are not listed" not in text
    v.end()


WRONG_SIZES = """
import ctypes, sys
malloc, delete = ctypes.CDLL(None).malloc, ctypes.CDLL(None)._ZdlPvm
malloc.restype, delete.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t]
for block in [malloc(1000) for i in range(20)]:
    delete(block, 5000)
print("ready", flush=True)
sys.stdin.read()
"""


def test_blocks_that_were_freed_with_a_wrong_size():
    """tcmalloc believes it, and has them in the list of another class (so it is in squid)."""
    library = PRELOADED["tcmalloc"]
    if not library.exists():
        pytest.skip("optional: tcmalloc is not installed")
    with subprocess.Popen(["/usr/bin/python3", "-c", WRONG_SIZES], env={**os.environ, "LD_PRELOAD": str(library), "PYTHONMALLOC": "malloc"},
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as target:
        assert target.stdout.readline() == b"ready\n"
        report = scan("-p", target.pid).json()
        text = scan("-p", target.pid, form="text").out
        target.stdin.close()
    assert_adds_up(report)
    assert "corrupt" not in text and "could not be walked" not in text, text
    lost = [g for g in report["groups"] if g["verdict"] == "definite" and g["bytes"] // g["blocks"] == 1024]
    assert sum(g["blocks"] for g in lost) < 10, lost


@pytest.mark.parametrize("name", ALL)
def test_core(victim, name, tmp_path):
    if not shutil.which("gcore"):
        pytest.skip("no gcore")
    v = started(victim, name)
    tell(v, ORDERS)
    subprocess.run(["gcore", "-o", tmp_path / "core", str(v.pid)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=60, check=True)
    report = scan("--core", tmp_path / f"core.{v.pid}").json()
    assert_schema(report)
    assert_adds_up(report)
    assert_allocator(report, name.partition("_")[0])
    assert_verdicts(report, name)
    v.end()


@pytest.mark.parametrize("name", WATCHED)
def test_verdicts_of_a_watch(victim, watch, name):
    v = started(victim, name)
    tell(v, BEFORE)
    w = watch("-p", v.pid, "--top", "0").wait_watching()
    tell(v, MEANWHILE)
    report = w.finish()
    assert_untouched(v)
    verdicts = report["run"]["verdicts"]
    assert verdicts["known"] and verdicts["census"]
    # 30 older ones, 20 new ones, 7 heads, 10 chains
    assert verdicts["all"]["definite"]["blocks"] == 30 + 20 + 7 + 10 + OWN_LOST.get(name, 0)
    assert verdicts["all"]["indirect"]["blocks"] == 7 + 10
    watched = {verdict: it["blocks"] for verdict, it in verdicts["watched"].items()}
    assert watched == {"definite": 26, "indirect": 13, "possible": 3, "reachable": 11, "unknown": 0}
    v.end()


@pytest.mark.parametrize("name", WATCHED)
def test_with_a_trace(victim, watch, name, tmp_path):
    """Stacks of a watch for the blocks of a scan."""
    v = started(victim, name)
    tell(v, BEFORE)
    w = watch("-p", v.pid, "-o", tmp_path / "t.mmt").wait_watching()
    tell(v, MEANWHILE)
    w.finish()
    report = scan("-p", v.pid, "--with-trace", tmp_path / "t.mmt").json()
    assert_schema(report)
    assert sum(g["blocks"] for g in report["groups"] if g["verdict"] == "definite" and g["stack"]) == 26
    assert sum(g["blocks"] for g in report["groups"] if g["verdict"] == "definite") == 67 + OWN_LOST.get(name, 0)
    assert_untouched(v)
    v.end()


@pytest.mark.parametrize("name", ALL)
def test_who_points_at(victim, name):
    v = started(victim, name)
    tell(v, ["keep 2", "lose 1"])
    report = scan("-p", v.pid).json()
    lost = next(g for g in report["groups"] if g["verdict"] == "definite" and g.get("class") != "MallocExtension")["examples"][0]
    [answer] = scan("-p", v.pid, "--who-points-at", lost).json()["pointers"]
    assert answer["block"]["address"] == lost and answer["total"] == 0
    v.end()
