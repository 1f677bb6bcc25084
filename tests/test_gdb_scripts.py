# SPDX-License-Identifier: MIT
"""The parts of gdbscripts/ that run without gdb: the wire compared with its C half, words, the search for
pointers."""
import ctypes
import mmap
import os
import pathlib
import re
import struct
import subprocess
import sys

import pytest

TOP = pathlib.Path(__file__).resolve().parent.parent
SCRIPTS = TOP / "gdbscripts"
sys.path.insert(0, str(SCRIPTS))
from mmgdb import memory, wire, words  # noqa: E402


def define(header, name):
    return re.search(rf"^#define {name}\s+(.*?)\s*(?:/\*.*)?$", (TOP / header).read_text(), re.M)[1]


def text_of(module):
    return (SCRIPTS / "mmgdb" / (module + ".py")).read_text()


# --- the same facts in C and here ---

def test_kinds_are_those_of_the_relay():
    enum = re.search(r"enum wire_kind \{(.*?)\};", (TOP / "attach/keeper/shared/wire.h").read_text(), re.S)[1]
    kinds = {name: int(number) for name, number in re.findall(r"WIRE_(\w+) = (\d+)", enum)}
    assert len(kinds) == 11
    assert kinds == {name: getattr(wire, name) for name in kinds}


STRUCTS = """
#include <stddef.h>
#include <stdio.h>
#include "attach/keeper/shared/wire.h"
int main(void)
{
	printf("%zu %zu %zu %zu %zu %zu %zu", sizeof(struct wire_head), sizeof(struct wire_hit), sizeof(struct wire_place),
	       offsetof(struct wire_place, addr), offsetof(struct wire_place, bytes), sizeof(struct wire_result),
	       offsetof(struct wire_hit, regs.rip));
	return 0;
}
"""


def test_messages_have_the_size_of_the_relays(tmp_path):
    (tmp_path / "s.c").write_text(STRUCTS)
    subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-I", TOP, "-o", tmp_path / "s", tmp_path / "s.c"], check=True, timeout=60)
    sizes = [int(n) for n in subprocess.run([tmp_path / "s"], check=True, stdout=subprocess.PIPE, timeout=10).stdout.split()]
    regs = len(wire.REGISTERS) * wire.WORD
    assert sizes == [wire.HEAD.size, wire.HEAD.size + regs, wire.PLANT_ENTRY.size, struct.calcsize("<II"), struct.calcsize("<IIQ"),
                     wire.RESULT.size, wire.HEAD.size + wire.RIP * wire.WORD]


def test_version_and_limits_are_the_programs():
    assert re.search(r'^VERSION = (".*")$', text_of("program"), re.M)[1] == define("base/version.h", "MM_VERSION")
    assert re.search(r"^FRAMES_MAX = (\d+)", text_of("hits"), re.M)[1] == define("attach/keeper/shared/wire.h", "WIRE_FRAMES")


def test_a_plant_is_read_and_answered():
    message = bytearray(wire.head(wire.PLANT, 7, 2) + wire.PLANT_ENTRY.pack(3, 2, 0x1000, b"\x55\x48") +
                        wire.PLANT_ENTRY.pack(4, 16, 0x7fffffffe000, bytes(range(16))))
    assert list(wire.plant_entries(message, 2)) == [(3, 0x1000, b"\x55\x48"), (4, 0x7fffffffe000, bytes(range(16)))]
    assert wire.planted(7, [(3, 0), (4, -84)]) == struct.pack("<IIIIIiIi", 2, 7, 2, 0, 3, 0, 4, -84)


def test_a_forget_is_read():
    assert wire.site_numbers(wire.head(wire.FORGET, 1, 2) + struct.pack("<II", 9, 70000), 2) == [9, 70000]


# --- words ---

@pytest.mark.parametrize("text, seconds", [
    ("30s", 30), ("10m", 600), ("1h30m", 5400), ("200ms", 0.2), ("1.5s", 1.5), ("7", 7), ("0.5", 0.5), ("1d", 86400), ("1m5us", 60.000005)])
def test_durations(text, seconds):
    assert words.seconds(text) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize("text", ["", "x", "0", "0s", "-1s", "1 s", "1s1m", "1s 1ms", "5q", "1m7", ".5s", "1.s", "1S"])
def test_no_durations(text):
    with pytest.raises(ValueError):
        words.seconds(text)


def test_the_program_takes_the_same_durations():
    """The durations that words.seconds accepts are forwarded to it (hand-over -d)."""
    program = TOP / os.environ.get("MM_BUILD", "build/release") / "mmattach"
    for text in "30s", "1h30m", "1.5s", "7", "1s1m", "5q", ".5s", "1m7":
        said = subprocess.run([program, "-p", "1", "-d", text, "--format", "none"], stderr=subprocess.PIPE, text=True, timeout=10).stderr
        try:
            words.seconds(text)
        except ValueError:
            assert f"-d {text}: not a duration" in said
        else:
            assert "--format none" in said


def test_home_is_expanded_in_names_of_files_only(monkeypatch):
    monkeypatch.setenv("HOME", "/h")
    given = ["-o", "~/a", "-o~/b", "--report=~/c", "--probes", "~/d", "--probe", "~/e", "--focus=~/f"]
    assert words.expand_home(given) == ["-o", "/h/a", "-o/h/b", "--report=/h/c", "--probes", "/h/d", "--probe", "~/e", "--focus=~/f"]


@pytest.mark.parametrize("given, value", [
    (["-o", "x"], "x"), (["--output=y", "-q"], "y"), (["--output", "z"], "z"), (["-ow"], "w"), (["--top", "3"], None), (["-o"], None)])
def test_value_of_an_option(given, value):
    assert words.value_of(given, "-o", "--output") == value


def test_names_of_options_and_families():
    help_text = "  -o, --output FILE   save\n      --family NAME,...    what to watch\n                    as --not-one\n"
    assert words.option_names(help_text) == ["--output", "--family"]
    probes = "What can be watched: packs\n\nlibc: what every\n  family libc of=block\n    alloc malloc\n\nglib: GLib\n  family gobject of=ref\n"
    assert words.family_names(probes) == ["glib", "gobject", "libc"]


# --- memory ---

def test_pointers_into_a_range_are_found_and_no_others():
    low, high = 0x7f1234567800, 0x7f1234567840
    values = [low - 1, low, high - 1, high, 0, low << 8, low + 8, 0x7f1234567700]
    data = struct.pack("<8Q", *values)
    assert list(memory.pointers(data, 0x1000, low, high)) == [(0x1008, low), (0x1010, high - 1), (0x1030, low + 8)]


def test_only_aligned_words_are_pointers():
    data = b"\0\0\0\0" + struct.pack("<Q", 0x7f1234567800) + b"\0\0\0\0"
    assert not list(memory.pointers(data, 0, 0x7f1234567800, 0x7f1234567801))


@pytest.mark.parametrize("low, high", [(0x1000, 0x1001), (0xfff0, 0x10010), (0x7f00fffffff0, 0x7f0100000010), (0x10, 0x7fffffffffff)])
def test_every_word_of_a_range_is_found_where_bytes_carry(low, high):
    inside = sorted({low, (low + high) // 2, high - 1})
    data = struct.pack("<%dQ" % (len(inside) + 2), low - 1, *inside, high)
    assert [value for _, value in memory.pointers(data, 0, low, high)] == inside


def test_mappings_that_are_searched():
    maps = ("1000-2000 r--p 0 0:0 0 /bin/x\n2000-3000 rw-p 0 0:0 0 /bin/x y\n3000-4000 rw-p 0 0:0 0 \n"
            "4000-5000 rw-s 0 0:0 0 /dev/dri/card0\n5000-6000 rw-s 0 0:0 0 /dev/shm/a\n6000-7000 rwxp 0 0:0 0 [heap]\n")
    assert list(memory.writable(maps)) == [(0x2000, 0x3000, "/bin/x y"), (0x3000, 0x4000, ""), (0x5000, 0x6000, "/dev/shm/a"),
                                           (0x6000, 0x7000, "[heap]")]


def resident_pages(start, n):
    with open("/proc/self/pagemap", "rb", buffering=0) as pagemap:
        pieces, _ = memory.resident(pagemap.fileno(), start, start + n * memory.PAGE)
    return [(a - start) // memory.PAGE for first, behind in pieces for a in range(first, behind, memory.PAGE)]


def test_what_is_not_resident_is_not_touched():
    """A search of this process: pages that were never written are not found, and are not resident afterwards
    either."""
    pages = 3 * memory.ENTRIES
    with mmap.mmap(-1, pages * memory.PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as room:
        room.madvise(mmap.MADV_NOHUGEPAGE)
        view = ctypes.c_char.from_buffer(room)
        start = ctypes.addressof(view)
        needle = start + 5
        written = [0, 7, 8, 2 * memory.ENTRIES + 1]
        for page in written:
            room[page * memory.PAGE + 16:page * memory.PAGE + 24] = struct.pack("<Q", needle)
        with open("/proc/self/mem", "rb", buffering=0) as mem:
            found, _, read = memory.search(os.getpid(), mem.fileno(), needle, needle + 1)
        ours = [(at - start) for at, _, (first, behind, _) in found if start <= at < start + len(room)]
        assert ours == [page * memory.PAGE + 16 for page in written]
        assert read > 0
        assert resident_pages(start, pages) == written
        del view
