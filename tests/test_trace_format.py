# SPDX-License-Identifier: MIT
"""doc/trace-format.md, trace/format.h and tests/mmt.py agree.

That the C writer produces the document's example is tested by tests/unit/trace/test_writer.c.
"""
import pathlib
import re
import subprocess
import sys

import pytest

import mmt

TOP = pathlib.Path(__file__).parent.parent
DOC = (TOP / "doc/trace-format.md").read_text()
EXAMPLE = DOC[DOC.index("## An example"):]
CORPUS = TOP / "tests/fuzz/corpus/reader"


def example_bytes():
    lines = re.findall(r"^    ([0-9a-f]{4}): ((?:[0-9a-f]{2} )+)", EXAMPLE, re.M)
    data = b""
    for at, line in lines:
        assert int(at, 16) == len(data), f"the example's line {at}"
        data += bytes.fromhex(line)
    return data


def test_example():
    expected = re.findall(r"^    (\d+ [A-Z].*)$", EXAMPLE, re.M)
    assert len(expected) > 5
    assert [mmt.text(record) for record in mmt.decode(example_bytes())] == expected


@pytest.mark.parametrize("change", range(4))
def test_damaged_example(change):
    """The decoder that tests rely on does not accept errors."""
    data = bytearray(example_bytes())
    data[[3, 0x13, 0x90, len(data) - 1][change]] ^= 1
    with pytest.raises(mmt.Error):
        mmt.decode(bytes(data))


def test_the_title_has_the_version():
    assert DOC.splitlines()[1] == f"# The trace format, version {mmt.MMT['MMT_MAJOR']}.{mmt.MMT['MMT_MINOR']}"


def test_every_constant_is_in_the_document():
    missing = [name for name in mmt.MMT if not re.search(rf"`{name}`", DOC)]
    assert not missing


def test_numbers_of_the_document():
    """A number after a name in the document is the one in the header."""
    said = re.findall(r"`(MMT_\w+)` (\d+)\b", DOC)
    assert len(said) > 40
    assert [(name, int(number)) for name, number in said] == [(name, mmt.MMT[name]) for name, _ in said]


def test_every_kind_is_decoded():
    for section, known in (("### Events", mmt.EVENTS), ("### Information", mmt.INFO)):
        text = re.search(rf"{section}\n(.*?)\n##", DOC, re.S)[1]
        names = set(re.findall(r"^\* `MMT_(\w+)` \d+ \{", text, re.M)) - {"INFO", "RUN"}
        assert names == set(known)


def test_the_module_of_constants(tmp_path):
    """trace/constants.py prints a module with these numbers, and with each #define of the header."""
    made = tmp_path / "mmt_constants.py"
    made.write_bytes(subprocess.run([sys.executable, TOP / "trace/constants.py"], stdout=subprocess.PIPE, check=True).stdout)
    names = {}
    exec(made.read_text(), names)
    assert {name: value for name, value in names.items() if name.startswith("MMT_")} == mmt.MMT
    header = (TOP / "trace/format.h").read_text()
    assert len(mmt.MMT) == len(re.findall(r"^#define MMT_\w+ ", header, re.M))


# Written by hand: the bytes, and what they mean.
BY_HAND = [
    ("6d 8028 05 01 00", "3 REF address=20480 stack=5 by=1 count=None"),
    ("0d 8028 05 02 04", "0 REF address=20480 stack=5 by=2 count=3"),
    ("ee 11 8028 05 01 01", "17 UNREF address=20480 stack=5 by=1 count=0"),
    ("0f 09 08 c801 01 02", "0 BORN address=40 stack=200 by=1 count=1"),
    ("10 8028 00", "0 COUNTED address=20480 count=0"),
    ("11 8028 e807 03 01 02 05 03 00 06 00 ff01", "0 OBJECT address=20480 birth_us=1000 net=-2 flags=1 "
     "uses=[{'stack': 5, 'taken': 3, 'dropped': 0}, {'stack': 6, 'taken': 0, 'dropped': 255}]"),
    ("1f 03 0b 01 05 64696374 01 04 6f626a", "0 FAMILY_NAME family=1 name='dict' kind=1 noun='obj'"),
    ("1f 03 06 00 05 6c696263", "0 FAMILY_NAME family=0 name='libc' kind=None noun=None"),
    ("1f 03 08 02 03 6d61 02 03 6f6e", "0 FAMILY_NAME family=2 name='ma' kind=2 noun='on'"),
    ("1f 0f 08 05 02 01 0a 01 07 8010", "0 PLACE stack=5 allocs=2 frees=1 span_us=10 points=[7] bytes=2048"),
    ("1f 0f 06 05 02 01 0a 01 07", "0 PLACE stack=5 allocs=2 frees=1 span_us=10 points=[7] bytes=None"),
    ("1f 05 04 07 10 00 03", "0 FRAME number=7 pc=16 module=None flags=3"),
    ("1f 07 04 02 01 00 04", "0 STACK number=2 node=1 end=0 tag=3"),
    ("1f 07 03 02 01 00", "0 STACK number=2 node=1 end=0 tag=None"),
    ("1f 12 06 03 05 63686172", "0 TAG number=3 text='char'"),
    ("1f 16 15 05 01 01 02 03 04 05 06 07 08 09 0a 8001 02 09 01 00 08 00 02", "0 SAMPLE stack=5 flags=1 seen=1 late_seen=2 "
     "usable_bytes=3 site_seen=4 site_hits=5 rounds=6 full=7 exposed_us=8 hits2=9 hits_exposed=10 exposed2=128 "
     "steps=[{'at_risk': 9, 'gone': 1, 'unknown': 0}, {'at_risk': 8, 'gone': 0, 'unknown': 2}] late_exposed_us=None missed=None stood_us=None process=None searched=None lost=None"
     " probes_saw=None probes_lost=None losing_us=None losing_blocks=None losing_least=None losing_most=None losing_bytes=None"),
    ("1f 16 0f 05 01 01 02 03 04 05 06 07 08 09 0a 0b 00 0c", "0 SAMPLE stack=5 flags=1 seen=1 late_seen=2 "
     "usable_bytes=3 site_seen=4 site_hits=5 rounds=6 full=7 exposed_us=8 hits2=9 hits_exposed=10 exposed2=11 steps=[] late_exposed_us=12 missed=None stood_us=None process=None searched=None lost=None"
     " probes_saw=None probes_lost=None losing_us=None losing_blocks=None losing_least=None losing_most=None losing_bytes=None"),
    ("1f 16 12 05 01 01 02 03 04 05 06 07 08 09 0a 0b 00 0c 0d 8001", "0 SAMPLE stack=5 flags=1 seen=1 late_seen=2 usable_bytes=3 "
     "site_seen=4 site_hits=5 rounds=6 full=7 exposed_us=8 hits2=9 hits_exposed=10 exposed2=11 steps=[] late_exposed_us=12 missed=13 stood_us=128 process=None searched=None lost=None"
     " probes_saw=None probes_lost=None losing_us=None losing_blocks=None losing_least=None losing_most=None losing_bytes=None"),
    ("1f 17 11 904e 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f", "0 BUDGET promise_ppm=10000 spent_us=1 wall_us=2 worst_ppm=3 closed=4 closed_us=5 "
     "sites=6 sites_hit=7 sites_settled=8 candidates=9 unfound=10 loss_us=11 loss_blocks=12 loss_bytes=13 "
     "lost_before_blocks=14 lost_before_bytes=15"),
    ("1f 13 06 05 72656164", None), ("1f 13 05 05 72656164", "0 SKIP function='read'"),
]


@pytest.mark.parametrize("data, said", BY_HAND)
def test_records_by_hand(data, said):
    if said is None:
        with pytest.raises(mmt.Error):
            mmt.records(bytes.fromhex(data))
    else:
        assert [mmt.text(record) for record in mmt.records(bytes.fromhex(data))] == [said]


def test_the_magic_of_the_document():
    assert bytes.fromhex("894d4d540d0a1a0a") == mmt.MMT["MMT_FILE_MAGIC"].to_bytes(8, "little")
    assert bytes.fromhex("4d4d42b1") == mmt.MMT["MMT_BLOCK_MAGIC"].to_bytes(4, "little")


@pytest.mark.parametrize("name", ["real", "shrunken", "limits", "objects", "objects_shrunken"])
def test_files_of_the_writer(name):
    """Files of the fuzzer's corpus, written by the C code: each record is decoded to its last byte."""
    records = mmt.read(CORPUS / name)
    assert len(records) > 30
    assert all(later.time_us >= earlier.time_us for earlier, later in zip(records, records[1:]))


def test_packed_and_not_packed():
    assert (CORPUS / "packed").read_bytes() != (CORPUS / "real").read_bytes()
    assert mmt.read(CORPUS / "packed") == mmt.read(CORPUS / "real")
