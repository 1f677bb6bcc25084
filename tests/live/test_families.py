# SPDX-License-Identifier: MIT
"""Families, tags, rules by offset, modules that are loaded and unloaded: by the whole program, with exact
numbers."""
import json
import re
import shutil
import subprocess

import pytest

from harness import VICTIMS, hits, lost
from test_trace import mmattach, report
from untouched import assert_untouched

OWN = """family own-memory
alloc   own_malloc   size=arg1       tag=str(arg3)
alloc   own_calloc   size=arg1*arg2  tag=str(arg4)
realloc own_realloc  size=arg2
free    own_free
"""
LIBC = """family below
alloc   malloc   size=arg1
alloc   calloc   size=arg1*arg2
realloc realloc  size=arg2
free    free
"""
LONG = "a name that is longer than what is kept of one, which is sixty-three bytes"


@pytest.fixture
def seen(victim, attach, tmp_path):
    """seen(VICTIM, ORDERS, RULES, OPTION...): the report."""
    def run(name, orders, rules, *options):
        target = victim(name)
        file = tmp_path / "own.probes"
        file.write_text(rules)
        watch = attach(target, *(["--probes", file] if rules else []), *options)
        for order in orders:
            target.ask(order)
        got = watch.finish()
        assert_untouched(target)
        target.end()
        return got

    return run


def by_tag(got, family=None):
    found = {}
    for group in got["groups"]:
        if family in (None, group["family"]):
            blocks, size = found.get(group["tag"], (0, 0))
            found[group["tag"]] = (blocks + group["blocks"], size + group["bytes"])
    return found


def kept(got):
    """{family: (blocks, bytes, allocs, frees)}."""
    found = {}
    for group in got["groups"]:
        old = found.get(group["family"], (0, 0, 0, 0))
        found[group["family"]] = tuple(a + group[key] for a, key in zip(old, ["blocks", "bytes", "allocs", "frees"]))
    return found


# --- tags ---


def test_names_as_tags(seen):
    """Tags that are read, empty, cut, at the end of mapped memory; none if there is no address; reported if
    unreadable."""
    got = seen("rules", ["take 42"], "alloc pool_take ptr=*arg3 size=arg2 tag=str(arg4) if=i32(ret)==0\n")
    assert {tag: blocks for tag, (blocks, _) in by_tag(got).items()} == {
        "inode": 4, "": 4, LONG[:63]: 4, "edgeX": 4, "X": 4, None: 8}
    assert lost(got) == {"tag not read": 4}
    assert got["totals"]["allocs"] == got["totals"]["live_blocks"] == 28


def test_numbers_as_tags(seen):
    got = seen("rules", ["chain 12"], "alloc pool_get size=*u32(*(arg1+8)+4) tag=*u32(*(arg1+8))\n")
    assert by_tag(got) == {"1": (3, 3000), "2": (3, 6000), "3": (3, 9000), "0": (3, 0)}
    assert lost(got) == {}
    got = seen("rules", ["chain 12"], "alloc pool_get tag=-1*arg1\n")
    assert [int(tag) < 0 for tag in by_tag(got)] == [True]


def test_tags_in_a_trace(seen, tmp_path):
    trace, small = tmp_path / "t.mmt", tmp_path / "small.mmt"
    got = seen("families", ["types 30", "plain 3"], OWN + LIBC, "-o", trace, "--top", "0")
    mmattach("shrink", trace, "-o", small)
    assert json.loads(report(trace)) == json.loads(report(small)) == got
    text = report(small, form="text").decode()
    assert all(f"tag {name}" in text for name in ("inode_t", "fd_t", "dict_t"))
    assert all(f"{name}" in report(small, form="csv").decode() for name in ("inode_t", "fd_t", "dict_t"))


# --- families ---


def test_an_allocator_built_on_another(seen):
    """Each call is an event of both, in each family with its own addresses, sizes and tags."""
    got = seen("families", ["types 50", "plain 7"], OWN + LIBC, "--sizes", "exact")
    assert lost(got) == {}
    assert by_tag(got, "own-memory") == {name: (2, 220) for name in ("inode_t", "fd_t", "dict_t")}
    assert by_tag(got, "below") == {None: (6 + 7, 3 * (132 + 152) + 7 * 50)}
    assert (hits(got, "alloc own_malloc"), hits(got, "alloc malloc"), hits(got, "free own_free"), hits(got, "free free")) == (
        150, 157, 294, 294)
    assert got["totals"]["unmatched_frees"] == got["totals"]["double_frees"] == 0
    assert not {a for g in got["groups"] if g["family"] == "below" for a in g["examples"]} & {
        a for g in got["groups"] if g["family"] == "own-memory" for a in g["examples"]}


@pytest.mark.parametrize("only, blocks", [("own-memory", 6), ("below", 13)])
def test_one_of_them(seen, only, blocks):
    rules = OWN if only == "own-memory" else LIBC
    got = seen("families", ["types 50", "plain 7"], rules)
    assert got["totals"]["live_blocks"] == blocks
    assert got["totals"]["unmatched_frees"] == 0


def test_resized_in_two_families(seen):
    """One realloc within the other: in both families it is one free and one new block; a failed one counts in
    neither."""
    got = seen("families", ["grow 30"], OWN + LIBC, "--sizes", "exact")
    assert lost(got) == {}
    assert kept(got) == {"own-memory": (1, 29000, 20, 19), "below": (1, 29032, 20, 19)}
    assert got["totals"]["unmatched_frees"] == got["totals"]["double_frees"] == 0


# --- conditions, two at once, what cannot be read ---


def test_two_at_once(seen):
    rules = """family pair of=handle
alloc pair_open  ptr=*arg1 also=*(arg1+8) if=i32(ret)==0
free  pair_close if=i32(ret)==0
"""
    got = seen("families", ["pairs 100"], rules)
    # of a hundred calls twenty fail, among them ten of those whose second handle would be freed
    assert kept(got) == {"pair": (120, 120, 160, 40)}
    assert hits(got, "free pair_close") == 40 and lost(got) == {}


def test_both_ends_of_a_pipe(seen):
    got = seen("families", ["pipes 9"], "", "--family", "fd")
    assert {f: (blocks, allocs, frees) for f, (blocks, _, allocs, frees) in kept(got).items()} == {"fd": (9, 18, 9)}


def test_what_cannot_be_read_is_told(seen):
    """It is not counted as a block, because its address is not known; the calls are counted as lost."""
    got = seen("families", ["blind 8"], "alloc blind_take ptr=*arg1\n")
    assert (got["totals"]["allocs"], lost(got)) == (8, {"expression not read": 8})


def test_if_with_the_result(seen):
    got = seen("rules", ["drop 9"], "alloc unit_take size=arg1\nfree unit_drop if=ret==1\n")
    assert (got["totals"]["frees"], got["totals"]["double_frees"]) == (4, 3)
    assert hits(got, "free unit_drop") == 4 and lost(got) == {}


# --- obstacks ---


def test_obstacks(seen):
    """Their chunks are malloc's blocks, and lead to the code that uses the obstack; what is freed leaves nothing."""
    got = seen("obstacks", ["work 20", "keep 30", "work 20"], "", "--family", "libc")
    assert {g["stack"][g["wrappers"]]["function"] for g in got["groups"]} == {"keep_one"}
    # for each the struct and the chunk
    assert got["totals"]["live_blocks"] == 60 and got["totals"]["allocs"] >= 60 + 40 * 5


# --- by offset ---


def place_of(file, function):
    symbols = subprocess.run(["nm", file], capture_output=True, text=True, check=True).stdout
    return int(re.search(rf"^([0-9a-f]+) [Tt] {function}$", symbols, re.M)[1], 16)


@pytest.mark.parametrize("where", ["service+{:#x}", "serv*@{id}+{:#x}"])
def test_in_a_stripped_program(seen, tmp_path, where):
    """Nothing has a name: rules and wrappers are given by their offsets."""
    program = tmp_path / "service"
    subprocess.run(["strip", "-o", program, VICTIMS / "families"], check=True)
    notes = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True).stdout
    build_id = re.search(r"Build ID: ([0-9a-f]+)", notes)[1]

    def at(function):
        return where.format(place_of(VICTIMS / "families", function), id=build_id[:12])

    rules = f"""alloc {at('own_malloc')} size=arg1 tag=str(arg3)
free  {at('own_free')}
family below
alloc malloc size=arg1
free free
skip {at('own_malloc')}
"""
    got = seen(program, ["types 4", "plain 2"], rules, "--sizes", "exact")
    assert lost(got) == {}
    assert by_tag(got, "own") == {name: (1, 100) for name in ("inode_t", "fd_t", "dict_t")}
    # the caller of the wrapper: no frame of the wrapper is left at the front
    plain = [g for g in got["groups"] if g["family"] == "below"]
    assert sum(g["blocks"] for g in plain) == 5
    lo = place_of(VICTIMS / "families", "own_malloc")
    for group in plain:
        first = group["stack"][group["wrappers"]]
        assert not lo <= int(first["offset"], 16) < lo + 0x20, group


def test_frames_left_out_by_number(seen):
    got = seen("rules", ["chain 12"], "alloc pool_get skip=1\n")
    assert [[frame["function"] for frame in group["stack"]][0] for group in got["groups"]] == ["main"]


# --- modules that come later ---


PLUG = """alloc plug_malloc size=arg1 module=libplug*
free  plug_free module=libplug.so
"""


@pytest.mark.parametrize("rules", [PLUG, "by offset"])
def test_loaded_unloaded_loaded_elsewhere(victim, attach, tmp_path, rules):
    """Its constructor is seen, each time, at whatever address it is loaded; and under another name it is
    another module."""
    folder = tmp_path / "plugged"
    folder.mkdir()
    for name in ("dl", "libplug.so"):
        shutil.copy(VICTIMS / name, folder)
    if rules != PLUG:
        at = {f: place_of(folder / "libplug.so", f) for f in ("plug_malloc", "plug_free")}
        rules = f"alloc libplug*+{at['plug_malloc']:#x} size=arg1\nfree libplug*+{at['plug_free']:#x}\n"
    (tmp_path / "own.probes").write_text(rules)
    target = victim(folder / "dl")
    watch = attach(target, "--probes", tmp_path / "own.probes", "--probe", "alloc malloc module=libc.so*")
    for turn in range(5):
        target.ask("open")
        target.ask("call 7")
        target.ask("close")
        if turn == 2:
            # a new file of the same name: another module, at another address
            shutil.copy(VICTIMS / "libplug.so", folder / "new")
            (folder / "new").rename(folder / "libplug.so")
    got = watch.finish()
    assert_untouched(target)
    told = target.end()
    own = [p for p in got["run"]["probes"] if "plug" in p["rule"]]
    assert told["allocs"] == 5 * 8
    assert sum(p["hits"] for p in own if p["rule"].startswith("alloc")) == told["allocs"]
    assert sum(p["hits"] for p in own if p["rule"].startswith("free")) == told["frees"]
    assert got["totals"]["double_frees"] == 0


def test_a_rule_for_another_module(seen):
    """Functions of that name in other modules are not meant."""
    got = seen("families", ["plain 5"], "alloc malloc module=libother*\nalloc own_malloc\n")
    assert got["totals"]["allocs"] == 0
    assert any(p["rule"].startswith("alloc malloc") and p.get("note") for p in got["run"]["probes"]), got["run"]["probes"]
