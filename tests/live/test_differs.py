# SPDX-License-Identifier: MIT
"""Code in memory that is not the file's is somebody else's: no trap there, the reason said, the rest watched."""
import pytest

from harness import hits, lost
from untouched import assert_untouched, code_differences

OWN_RULES = ["--probe", "alloc patched_alloc size=arg1", "--probe", "free patched_free"]
CALLS = 200


def refused(watch, function):
    """It is said that @function is not watched, and why."""
    line = watch.err.find(rf"\b{function}\b: not trapped", 5)
    assert line, f"nothing said about {function}: {watch.said()}"
    assert "not the file's" in line


@pytest.mark.parametrize("mode", ["own", "int3"])
def test_own_function(victim, attach, mode):
    target = victim("patched", mode)
    before = code_differences(target.pid)
    assert before, "the victim did not change its code"
    # with an int3 of its own it handles SIGTRAP, in threads that do not block it
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
    """Our own traps of an earlier watch do not count as somebody else's."""
    target = victim("hot", 1)
    for _ in range(2):
        watch = attach(target)
        target.rate()
        assert watch.finish()["totals"]["allocs"] > 0
        assert "not trapped" not in watch.said()
    assert_untouched(target)
    target.end()
