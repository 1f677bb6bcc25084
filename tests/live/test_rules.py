# SPDX-License-Identifier: MIT
"""Rules of every form, on allocators of every form: what a hit reads, which call it ends, and where it
happens.

The keeper's view is read from the lines of --debug=event, one per hit, and compared with the counts that the
victim (rules.c) prints.
"""
import re
import struct
import subprocess

import pytest

from harness import VICTIMS
from untouched import assert_untouched

EVENT = re.compile(
    r"event: (?P<tid>\d+) (?P<function>\S+)(?P<flags>( opens| closes| held| outside)*) rip (?P<rip>\S+) rax (?P<rax>\S+) "
    r"args (?P<arg1>\S+) (?P<arg2>\S+) stack (?P<stack>\d+)(?P<loads>.*)$"
)
LOAD = re.compile(r' load(\d) (?:"(.*?)"|(\S+))')
LONG = "a name that is longer than what is kept of one, which is sixty-three bytes"
TYPE_NAMES = ["inode", "", LONG[:63], None, "edgeX", "X", "?"]  # None: no address; ?: unreadable


class Hit:
    def __init__(self, match):
        self.function = match["function"]
        self.flags = set(match["flags"].split())
        self.result = int(match["rax"], 16)
        self.args = [int(match["arg1"], 16), int(match["arg2"], 16)]
        self.stack = int(match["stack"])
        self.loads = {int(n): self.value(text, word) for n, text, word in LOAD.findall(match["loads"])}

    @staticmethod
    def value(text, word):
        if word == "null":
            return None
        return int(word, 16) if word.startswith("0x") else word or text

    def __repr__(self):
        return f"{self.function} {self.flags} {self.args} {self.loads}"


@pytest.fixture
def seen(victim, attach, tmp_path):
    """seen(ORDER, RULES): the hits while the victim rules carried out the order, and its answer."""
    def run(order, rules, *args):
        target = victim("rules")
        file = tmp_path / "own.probes"
        file.write_text(rules)
        watch = attach(target, "--probes", file, "--debug=event", *args)
        told = target.ask(order)
        watch.finish()
        assert_untouched(target)
        assert target.end() == {"ended": True}
        found = (EVENT.search(line) for line in watch.err.all)
        return [hit for hit in map(Hit, filter(None, found)) if hit.function != "linker"], told

    return run


def test_a_status_and_a_name(seen):
    """The block is at the address the caller requested, its name is the caller's; also for calls that
    fail."""
    hits, told = seen("take 42", "alloc pool_take ptr=*arg3 size=arg2 tag=str(arg4) if=i32(ret)==0\n")
    assert len(hits) == told["asked"]
    assert all(hit.flags == {"closes"} for hit in hits)
    good = [hit for hit in hits if struct.unpack("<i", struct.pack("<I", hit.result & 0xFFFFFFFF))[0] == 0]
    assert [[hit.loads[0], hit.args[1]] for hit in good] == [[block, size] for block, size, _ in told["taken"]]
    assert [hit.loads[1] for hit in good] == [TYPE_NAMES[name] for _, _, name in told["taken"]]
    assert {name for _, _, name in told["taken"]} == set(range(7)), "a name was never seen"


def test_a_chain_of_pointers(seen):
    hits, told = seen("chain 12", "alloc pool_get size=*u32(*(arg1+8)+4) tag=str(*(*(arg1+8)+8))\n")
    assert [hit.result for hit in hits] == [block for block, _ in told["taken"]]
    for i, hit in enumerate(hits):
        size, name = [(1000, "first"), (2000, None), (3000, "third"), (None, None)][i % 4]
        assert [hit.loads[1], hit.loads[3]] == [size, name], hit


def test_a_release_that_says_so(seen):
    """Like an unref function: only the call that returns 1 frees; its argument is known at its end."""
    hits, told = seen("drop 9", "free unit_drop if=ret==1\n")
    assert [hit.flags for hit in hits] == [{"closes"}] * 9
    assert [hit.args[0] for hit in hits] == [told["unit"]] * 9
    assert sum(hit.result & 0xFFFFFFFF for hit in hits) == told["gone"] == 4


def test_a_reference_is_one_stop(seen):
    """At its entry, with the count at that time, and with a stack."""
    hits, _ = seen("drop 3", "family unit refs\nunref unit_drop count=*u8(arg1)\n")
    assert [(hit.function, hit.flags, hit.loads) for hit in hits] == [
        ("unit_drop", set(), {0: count}) for count in range(3)
    ]
    assert all(hit.stack > 8 for hit in hits)


NEST = """family outer
alloc outer_take size=arg1
alloc outer_jump size=arg1
alloc outer_by size=arg1
free outer_give
family inner
alloc inner_by size=arg1
family base
alloc malloc size=arg1
free free
"""


def test_families_see_their_own(seen):
    """A call within a call, or a jump out of one, is an event of each family, however the calls end."""
    hits, told = seen("nest 5", NEST)
    rounds = told["rounds"]
    ends = [hit.function for hit in hits if "opens" not in hit.flags]
    one_round = ["malloc", "outer_take", "malloc", "outer_jump", "malloc", "inner_by", "outer_by", "malloc", "inner_by"]
    assert ends[:len(one_round) * rounds] == one_round * rounds
    assert ends[len(one_round) * rounds:] == ["outer_give", "free", "free", "free", "free"] * rounds
    for hit in hits:
        if "closes" in hit.flags:
            size = {"outer_take": 1000, "outer_jump": 2000, "outer_by": 3000, "inner_by": None}[hit.function]
            assert hit.args[0] == size or hit.args[0] in (3000, 4000), hit


def test_within_a_family_one_call_counts(seen):
    """The same rules as one family: a thread's outermost call counts, whatever it calls to get memory."""
    rules = "\n".join(line for line in NEST.splitlines() if not line.startswith("family")) + "\n"
    hits, told = seen("nest 5", rules)
    ends = [hit.function for hit in hits if "opens" not in hit.flags and "give" not in hit.function and hit.function != "free"]
    # a jump ends at malloc's ret or in the caller: it counts for the function that was called
    assert ends == ["outer_take", "outer_jump", "outer_by", "inner_by"] * told["rounds"]


SCOPED = "family units\nalloc unit_take size=arg1\n"


@pytest.mark.parametrize("functions, inside", [
    (["handle"], {101, 109}),
    (["handle_deep"], {201, 203, 205, 207}),
    (["handle_jump"], {105}),
    (["handle_through"], {107}),
    (["handle", "handle_deep", "handle_jump", "handle_through"], {101, 105, 107, 109, 201, 203, 205, 207}),
])
def test_inside(seen, functions, inside):
    """Also by recursion, by a jump out of it, and not any more once longjmp has left it, although later calls
    use the same part of the stack.
    """
    hits, told = seen("scope 4", SCOPED, *[word for name in functions for word in ("--in", name)])
    takes = [hit for hit in hits if hit.function == "unit_take" and "opens" not in hit.flags]
    assert len(takes) == told["units"]
    assert {hit.args[0] for hit in takes if "outside" not in hit.flags} == inside
    assert {hit.args[0] for hit in takes if "outside" in hit.flags}.isdisjoint(inside)
    # no stack is requested for hits that do not count
    assert all(hit.stack <= 8 for hit in takes if "outside" in hit.flags)
    assert all(hit.stack > 8 for hit in takes if "outside" not in hit.flags)


def test_inside_of_what_is_watched(seen):
    """The function itself counts as inside."""
    hits, told = seen("scope 2", SCOPED, "--in", "unit_take")
    takes = [hit for hit in hits if hit.function == "unit_take" and "closes" in hit.flags]
    assert len(takes) == told["units"]
    assert not [hit for hit in takes if "outside" in hit.flags]


def place_in_file(function):
    """Its address in the victim's file, and the file's build id."""
    symbols = subprocess.run(["nm", VICTIMS / "rules"], capture_output=True, text=True, check=True).stdout
    notes = subprocess.run(["readelf", "-n", VICTIMS / "rules"], capture_output=True, text=True, check=True).stdout
    found = re.search(rf"^([0-9a-f]+) T {function}$", symbols, re.M)
    return int(found[1], 16), re.search(r"Build ID: ([0-9a-f]+)", notes)[1]


@pytest.mark.parametrize("module, holds", [
    ("rules", True), ("rul?s*", True), ("r*@{id}", True), ("rules@{front}", True), ("ules", False), ("rules@00000000", False),
])
def test_by_offset(victim, attach, module, holds):
    """A function without a name, only in the build in which it is at that offset."""
    offset, build_id = place_in_file("unit_take")
    target = victim("rules")
    where = module.format(id=build_id, front=build_id[:8])
    watch = attach(target, "--probe", f"alloc {where}+{offset:#x} size=arg1", "--probe", "free unit_drop", "--debug=event")
    told = target.ask("scope 1")
    watch.finish()
    assert_untouched(target)
    ends = [line for line in watch.err.all if "event: " in line and " closes" in line]
    assert len(ends) == (told["units"] if holds else 0)


def test_module_of_a_rule(victim, attach):
    """A rule for other modules does not apply to this one."""
    target = victim("rules")
    watch = attach(target, "--probe", "alloc unit_take size=arg1 module=lib*", "--probe", "free unit_drop module=rule?",
                   "--debug=event")
    target.ask("scope 1")
    told = target.ask("drop 4")
    watch.finish()
    assert told["gone"] == 2
    functions = [EVENT.search(line)["function"] for line in watch.err.all if EVENT.search(line)]
    assert functions == ["unit_drop"] * 4
