# SPDX-License-Identifier: MIT
"""Code in memory that differs from the file was changed by other software: no trap there, the reason is
reported, the rest is watched."""
import json
import os

import pytest

from harness import hits, lost
from untouched import assert_untouched, code_differences

OWN_RULES = ["--probe", "alloc patched_alloc size=arg1", "--probe", "free patched_free"]
CALLS = 200


def refused(watch, function, why="not the file's"):
    """A message says that @function is not watched, and why."""
    line = watch.err.find(rf"\b{function}\b: not trapped", 5)
    assert line, f"nothing said about {function}: {watch.said()}"
    assert why in line


@pytest.mark.parametrize("mode", ["own", "int3"])
def test_own_function(victim, attach, mode):
    target = victim("patched", mode)
    before = code_differences(target.pid)
    assert before, "the victim did not change its code"
    # with its own int3 it handles SIGTRAP, in threads that do not block it
    watch = attach(target, *OWN_RULES, *(["--lose-sigtrap"] if mode == "int3" else []))
    refused(watch, "patched_free")
    told = target.ask(f"go {CALLS}")
    assert told["traps"] == (CALLS if mode == "int3" else 0)
    report = watch.finish()
    assert hits(report, "alloc patched_alloc") == CALLS
    assert hits(report, "free patched_free") == 0
    assert lost(report) == {}
    assert_untouched(target, but=before)
    assert code_differences(target.pid) == before
    target.end()


def kernel():
    return tuple(int(n) for n in os.uname().release.split("-")[0].split(".")[:2])


@pytest.mark.skipif(kernel() < (6, 11), reason="optional: older kernels are not asked how code is mapped")
def test_shared_code(victim, attach):
    """A trap would be written into the file: it is not planted, and the message blames no other software."""
    target = victim("patched", "shared")
    watch = attach(target, *OWN_RULES)
    refused(watch, "patched_free", "mapped shared")
    assert "somebody else's hook" not in watch.said()
    target.ask(f"go {CALLS}")
    report = watch.finish()
    assert hits(report, "alloc patched_alloc") == CALLS
    assert hits(report, "free patched_free") == 0
    assert "mapped shared" in json.dumps(report["run"]["probes"])
    assert_untouched(target)
    target.end()


def test_libc(victim, attach):
    """A hooked free in libc: malloc is watched all the same."""
    target = victim("patched", "libc")
    before = code_differences(target.pid)
    assert before, "the victim did not change its code"
    watch = attach(target)
    refused(watch, "free")
    target.ask(f"go {CALLS}")
    report = watch.finish()
    assert hits(report, "alloc malloc") == CALLS
    assert hits(report, "free free") == 0
    assert code_differences(target.pid) == before
    assert_untouched(target, but=before)
    target.end()


def test_attached_twice_in_a_row_finds_nothing_changed(victim, attach):
    """Our own traps of an earlier watch are not taken for a foreign change."""
    target = victim("hot", 1)
    for _ in range(2):
        watch = attach(target)
        target.rate()
        assert watch.finish()["totals"]["allocs"] > 0
        assert "not trapped" not in watch.said()
    assert_untouched(target)
    target.end()
