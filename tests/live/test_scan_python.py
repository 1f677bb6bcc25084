# SPDX-License-Identifier: MIT
"""`mmattach scan` of CPython: as many objects of each type as the interpreter itself counts, and as many blocks as its
allocator does.

MM_PYTHONS   interpreters, with : between them; /usr/bin/python3 if not set
"""
import collections
import os
import re
import shutil
import signal
import subprocess

import pytest

from harness import TOP, wait_for
from scans import assert_schema, scan
from untouched import assert_untouched, state_letters

SCRIPT = TOP / "tests/victims/pyobjects.py"
PYTHONS = os.environ.get("MM_PYTHONS", "/usr/bin/python3").split(":")
# as the script has made them
MADE = {"__main__.Order": 5000, "__main__.Item": 3000, "__main__.Outer.Dictionary": 3000, "complex": 7000, "bytearray": 50}


def counts(report, what):
    found = collections.Counter()
    for each in report["scan"]["python"]["types"]:
        found[each["name"]] += each[what]
    return found


def blocks_by_itself(text):
    """Of the table of sizes in sys._debugmallocstats()."""
    return sum(int(blocks) for blocks in re.findall(r"^ +\d+ +\d+ +\d+ +(\d+) +\d+$", text, re.M))


def assert_truth(report, truth, stats):
    found = report["scan"]["python"]
    tracked = counts(report, "tracked")
    assert found["why_not"] is None and found["differing"] == 0 and found["unseen_bytes"] == 0
    assert found["small"]["blocks"] == blocks_by_itself(stats) > 50000
    # tuples: those that live for ever are in a list that gc.get_objects() leaves out
    assert {name: (n, tracked[name]) for name, n in truth.items() if name != "tuple" and tracked[name] != n} == {}
    assert {name: n for name, n in counts(report, "objects").items() if name in MADE} == MADE
    assert found["other"]["blocks"] < 20


def type_of(report, name):
    return next(each for each in report["scan"]["python"]["types"] if each["name"] == name)


@pytest.fixture
def told(victim):
    """told(PYTHON): the script, what it counts, and what its allocator says."""
    def make(python="/usr/bin/python3", **kwargs):
        v = victim(python, SCRIPT, **kwargs)
        truth = v.ask("truth")
        if "PYTHONMALLOC" not in (kwargs.get("env") or {}):
            assert v.err.find(r"^Total ") is not None, "it has no figures of its allocator"
        # what it called to answer has objects of its own
        wait_for(lambda: state_letters(v.pid) == {"S"}, "it waits for the next order")
        return v, truth, "\n".join(v.err.all)

    return make


@pytest.mark.parametrize("python", PYTHONS)
def test_as_many_as_it_counts(told, python):
    v, truth, stats = told(python)
    report = scan("-p", v.pid).json()
    assert_schema(report)
    assert_untouched(v)
    assert_truth(report, truth, stats)
    held = type_of(report, "__main__.Order")["holders"][0]
    assert held == {"type": "list", "pointers": MADE["__main__.Order"]}
    # the pieces of a list and of a deque are theirs, wherever they are
    assert type_of(report, "collections.deque")["largest_bytes"] >= 7000 * 8
    assert type_of(report, "list")["largest_bytes"] >= 7000 * 8
    v.process.send_signal(signal.SIGUSR1)
    v.end()


def test_of_a_core_as_of_the_process(told, tmp_path):
    if not shutil.which("gdb"):
        pytest.skip("no gdb")
    v, truth, stats = told()
    live = scan("-p", v.pid).json()
    core = tmp_path / "core"
    subprocess.run(["gdb", "-nx", "-batch", "-p", str(v.pid), "-ex", f"generate-core-file {core}"],
                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=True)
    v.kill()
    dead = scan("--core", core).json()
    assert_truth(dead, truth, stats)
    assert dead["scan"]["python"] == live["scan"]["python"]


def test_without_arenas(told):
    """The objects are malloc's blocks then."""
    v, truth, _ = told(env={**os.environ, "PYTHONMALLOC": "malloc"})
    report = scan("-p", v.pid).json()
    found, tracked = report["scan"]["python"], counts(report, "tracked")
    assert (found["arenas"], found["small"]["blocks"]) == (0, 0) and found["large"]["blocks"] == found["objects"]
    # a block of malloc's that was an object, and has not been written to by what has it now, looks like that object
    more = {name: tracked[name] - n for name, n in truth.items() if name != "tuple" and tracked[name] != n}
    assert all(n > 0 for n in more.values()) and sum(more.values()) <= 2, more
    text = scan("-p", v.pid, form="text").out
    assert "objects of CPython 3." in text and "no arenas were found" in text


@pytest.mark.parametrize("allocator", ["pymalloc_debug", "malloc_debug"])
def test_debug_hooks_are_named(told, allocator):
    v, _, _ = told(env={**os.environ, "PYTHONMALLOC": allocator})
    found = scan("-p", v.pid).json()["scan"]["python"]
    assert "debug hooks" in found["why_not"] and found["types"] == []
    assert_untouched(v)


def test_no_interpreter(victim):
    assert scan("-p", victim("held", 1, 100, 1).pid).json()["scan"]["python"] is None
