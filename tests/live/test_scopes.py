# SPDX-License-Identifier: MIT
"""Which calls count: those inside a function, between two marks, of some threads, of a module. Exact numbers.

Blocks that are not in scope do not appear; and when they are freed, resized or their memory is allocated
again, that is not reported as the release of an older block, as a double free, or as a stack that was cut.
"""
import pathlib
import re
import subprocess

import pytest

from harness import VICTIMS, last_for, lost, rounds
from untouched import assert_untouched

LIBRARY = VICTIMS / "libscope.so"


@pytest.fixture
def scoped(victim, attach):
    """scoped(BEFORE, ORDERS, OPTION...): the report for ORDERS; BEFORE are carried out before the watch."""
    def run(before, orders, *options):
        target = victim("scopes", LIBRARY)
        for order in before:
            target.ask(order)
        watch = attach(target, *(option(target) if callable(option) else option for option in options))
        for order in orders:
            if callable(order):
                order()
            else:
                target.ask(order)
        got = watch.finish()
        assert_untouched(target)
        assert target.end() == {}
        return got

    return run


def assert_totals(got, allocs, frees, older=0, live=None):
    """@frees: of blocks allocated in the watch. Nothing lost, no stack cut, no double free."""
    totals = got["totals"]
    assert (totals["allocs"], totals["frees"] - older, totals["unmatched_frees"]) == (allocs, frees, older)
    assert (totals["double_frees"], totals["live_blocks"]) == (0, allocs - frees if live is None else live)
    assert (lost(got), got["run"]["stacks_cut"]) == ({}, 0)


def takers(got):
    """{(function, its caller): blocks} of the live blocks."""
    found = {}
    for group in got["groups"]:
        names = tuple(frame["function"] for frame in group["stack"][group["wrappers"]:][:2])
        found[names] = found.get(names, 0) + group["blocks"]
    return found


def tid(number):
    return lambda target: str(target.ask(f"{number} keep 0")["tid"])


def after_a_second():
    """Names are looked up again after a second."""
    last_for(1.1)


# --- inside ---


def test_inside_of_a_recursion(scoped):
    """Two per level; blocks freed outside count as freed; blocks allocated outside do not count."""
    got = scoped([], ["0 keep 5", "0 in 3", "0 pairs 4", "1 keep 6", "1 in 2"], "--in", "inside")
    assert_totals(got, allocs=10, frees=0)
    assert sum(takers(got).values()) == 10 and all(names == ("take", "inside") for names in takers(got))
    got = scoped([], ["0 keep 5", "0 in 3", "0 pairs 4", "1 give 0", "0 keep 7", "0 give 0"], "--in", "inside")
    assert_totals(got, allocs=6, frees=6)


def test_older_is_what_is_older(scoped):
    got = scoped(["0 keep 5", "1 in 1"], ["0 keep 7", "0 in 1", "0 give 0", "0 give 1"], "--in", "inside")
    assert_totals(got, allocs=2, frees=2, older=7)


def test_inside_of_either(scoped):
    """A realloc inside: the block that it allocated, and the one it freed, which was allocated inside too."""
    got = scoped([], ["0 grow 3", "0 in 2", "0 keep 9", "0 resize 0"], "--in", "inside", "--in", "grow_inside")
    assert_totals(got, allocs=3 * 2 + 4, frees=3 + 7)
    got = scoped([], ["0 grow 3", "0 in 2", "0 keep 9"], "--in", "inside", "--in", "grow_inside")
    assert takers(got) == {("resize", "grow_inside"): 3, ("take", "inside"): 4}


def test_inside_in_one_thread(scoped):
    got = scoped([], ["1 in 4", "2 in 5", "2 give 1", "0 in 1"], "--in", "inside", "--thread", tid(1))
    assert_totals(got, allocs=8, frees=8)


# --- between ---


def test_between_marks(scoped):
    """Some blocks are older than the first mark; blocks freed after the second are not live any more."""
    orders = ["0 keep 5", "0 begin 0", "1 keep 6", "0 give 0", "2 keep 3", "2 give 2", "0 end 0", "1 give 1", "0 keep 4"]
    assert_totals(scoped([], orders, "--from", "mark_begin", "--until", "mark_end"), allocs=9, frees=3, older=5, live=0)


def test_marks_and_realloc(scoped):
    orders = ["0 begin 0", "1 keep 4", "1 resize 1", "0 end 0", "1 resize 1", "1 give 1"]
    assert_totals(scoped([], orders, "--from", "mark_begin", "--until", "mark_end"), allocs=8, frees=4, live=0)


def test_marks_twice(scoped):
    """Blocks allocated in the gap are older than the second beginning; earlier live blocks are still
    known."""
    orders = ["0 begin 0", "1 keep 4", "0 end 0", "2 keep 3", "0 begin 0", "2 give 2", "1 give 1", "0 end 0"]
    assert_totals(scoped([], orders, "--from", "mark_begin", "--until", "mark_end"), allocs=4, frees=4, older=3)


def test_marks_and_threads(scoped):
    """Of the other thread: blocks allocated meanwhile do not count, those allocated before the mark are
    older."""
    orders = ["2 keep 2", "0 begin 0", "1 keep 4", "2 keep 3", "1 give 2", "2 give 1"]
    assert_totals(scoped([], orders, "--from", "mark_begin", "--thread", tid(1)), allocs=4, frees=4, older=2)


# --- threads ---


def test_one_thread_by_number(scoped):
    orders = ["1 keep 3", "2 keep 4", "1 pairs 2", "2 pairs 5", "2 give 1", "1 give 2", "1 keep 8", "0 keep 9", "0 give 0"]
    assert_totals(scoped([], orders, "--thread", tid(1)), allocs=13, frees=5)


def test_two_threads(scoped):
    got = scoped([], ["1 keep 3", "2 keep 4", "3 keep 5", "3 give 2"], "--thread", tid(1), "--thread", tid(2))
    assert any(note.startswith("only what these threads took was counted: ") for note in got["notes"])
    assert_totals(got, allocs=7, frees=4)


def test_resized_by_another(scoped):
    """A block that changes sides by realloc: one that counted is freed, one that did not counts from then
    on."""
    got = scoped([], ["1 keep 3", "2 keep 4", "1 resize 2", "2 resize 1"], "--thread", tid(1))
    assert_totals(got, allocs=3 + 4, frees=3)
    got = scoped([], ["2 keep 4", "2 resize 2", "2 resize 2", "2 give 2"], "--thread", tid(1))
    assert_totals(got, allocs=0, frees=0)


def test_by_name(scoped):
    before = ["1 name 1", "2 name 22", "3 name 3"]
    orders = ["1 keep 1", "2 keep 2", "3 keep 4", "4 keep 8", "0 keep 16"]
    assert_totals(scoped(before, orders, "--thread", "worker-?"), allocs=5, frees=0)
    assert_totals(scoped(before, orders, "--thread", "worker-*"), allocs=7, frees=0)
    assert_totals(scoped(before, orders, "--thread", "worker-3", "--thread", "scopes"), allocs=4 + 8 + 16, frees=0)


def test_a_name_that_comes_later(scoped):
    """Also for a thread that was seen under another name."""
    got = scoped([], ["1 keep 3", "2 name 2", "2 keep 5", after_a_second, "1 name 1", "1 keep 4"], "--thread", "worker-*")
    assert_totals(got, allocs=9, frees=0)


def test_threads_that_are_gone_before_they_are_asked(scoped):
    """Each allocates one block and ends: it counts, or the report says that the name of its thread is not
    known."""
    for _ in range(rounds(2, 20)):
        got = scoped([], ["1 short 40", "2 keep 3"], "--thread", "shortly")
        assert got["totals"]["allocs"] + lost(got).get("name of a thread not read", 0) == 40
        assert got["totals"]["unmatched_frees"] == 0


# --- modules ---


CALLS = ["0 library 3", "0 wrapped 4", "0 called 5", "0 keep 6", "0 pairs 2"]


def offset_of(function):
    symbols = subprocess.run(["nm", LIBRARY], capture_output=True, text=True, check=True).stdout
    return re.search(rf"^([0-9a-f]+) T {function}$", symbols, re.M)[1]


@pytest.mark.parametrize("module, allocs, frees", [("libscope*", 7, 0), ("scopes", 13, 2), ("scop?s", 13, 2), ("none", 0, 0)])
def test_module(scoped, module, allocs, frees):
    assert_totals(scoped([], CALLS, "--module", module), allocs=allocs, frees=frees)
    assert_totals(scoped([], [*CALLS, "1 give 0"], "--module", module), allocs=allocs, frees=allocs)


def address_of(target, offset):
    """The address in the process of @offset in the library's file."""
    maps = pathlib.Path(f"/proc/{target.pid}/maps").read_text()
    return int(re.search(rf"^([0-9a-f]+)-.* 0+ .*{LIBRARY.name}$", maps, re.M)[1], 16) + int(offset, 16)


@pytest.mark.parametrize("skip", ["scope_wrap", "libscope.so+0x{offset}", "{address:#x}"])
@pytest.mark.parametrize("module, allocs", [("libscope.so", 3), ("scopes", 17)])
def test_module_behind_a_wrapper(scoped, tmp_path, skip, module, allocs):
    """The caller of the wrapper is the allocation site."""
    def rules(target):
        file, offset = tmp_path / "own.probes", offset_of("scope_wrap")
        file.write_text("skip " + skip.format(offset=offset, address=address_of(target, offset)) + "\n")
        return str(file)

    got = scoped([], CALLS, "--probes", rules, "--module", module)
    assert_totals(got, allocs=allocs, frees=2 if module == "scopes" else 0)
    assert "scope_wrap" not in {names[0] for names in takers(got)}


def test_two_modules(scoped):
    assert_totals(scoped([], CALLS, "--module", "libscope*", "--module", "scopes"), allocs=20, frees=2)
