# SPDX-License-Identifier: MIT
"""--block-list and --block-at of `mmattach report`: the blocks of a group, and what is at an address, on the
command line.

The trace is written by tests/unit/report/query/test_lookup.c: families libc, pool and dict; a thousand blocks
of one stack; a block of the pool within one of libc.
"""
import json
import re
import subprocess

import pytest

from test_refs import mmattach
from test_unit import BUILD, TOP


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    path = tmp_path_factory.mktemp("lookup") / "blocks.mmt"
    subprocess.run([BUILD / "unit/test_lookup", "write", path], check=True, timeout=60)
    return path


def text(trace, *args):
    return mmattach("report", *args, trace).stdout


def report(trace, *args):
    return json.loads(mmattach("report", "--format=json", *args, trace).stdout)


def test_the_number_is_that_of_the_text_report(trace):
    """With any options that change the numbers."""
    for options in ([], ["--focus", "small|many"], ["--family", "libc"], ["--older-than", "7s"]):
        whole = text(trace, "--top=0", *options)
        heads = re.findall(r"^\[((?:libc )?\d+)\] .* in (\d+) blocks?, .*\n(?:    [^#].*\n)*((?:    #.*\n)+)", whole, re.M)
        assert len(heads) >= 2, whole
        for number, blocks, stack in heads:
            entry = text(trace, "--top=0", "--block-list", number.replace("libc ", "libc:"), *options)
            assert entry.startswith(f"[{number}] ") and stack in entry
            assert entry.count("\n                ") - 1 == int(blocks)


def test_all_verdicts_of_a_group():
    """A group of the text report has the blocks of its stack, whatever their verdicts."""
    service = TOP / "tests/golden/inputs/service.mmt"
    mixed = {}
    for group in report(service, "--top=0")["groups"]:
        mixed.setdefault(group["number"], []).append(group["blocks"])
    number, blocks = next((n, b) for n, b in mixed.items() if len(b) > 1)
    assert len(report(service, "--top=0", f"--block-list={number}")["block_list"]) == sum(blocks)


def test_what_is_not_listed_is_said(trace):
    listed = text(trace, "--block-list=libc:1")
    assert listed.count("  0x1") == 20 and listed.endswith("\n    and 980 more, 192 KiB (--top 0 lists them all)\n")
    assert text(trace, "--block-list=libc:1", "--top=999").endswith("and 1 more, 200 B (--top 0 lists them all)\n")
    every = text(trace, "--block-list=libc:1", "--top=0")
    assert every.count("  0x1") == 1000 and "more" not in every
    addresses = re.findall(r"^ +(0x\w+) +(\d+) ", every, re.M)
    assert addresses == [(hex(0x100000 + 0x100 * i), str(200 + i % 3)) for i in range(1000)]


def test_list_as_json(trace):
    got = report(trace, "--block-list=libc:3")
    assert list(got)[-2:] == ["block_list_of", "block_list"]
    assert got["block_list_of"] == {"family": "libc", "number": 3, "groups": [2]}
    assert got["block_list"] == [{"address": "0x2000", "bytes": 48, "age_s": 9}, {"address": "0x1000", "bytes": 32, "age_s": 7}]
    group = got["groups"][2]
    assert (group["blocks"], group["bytes"], group["oldest_s"]) == (2, 80, 9)
    assert len(report(trace, "--block-list=libc:1", "--top=3")["block_list"]) == 1000


def test_objects(trace):
    got = report(trace, "--block-list=dict:1")
    assert got["block_list_of"] == {"family": "dict", "number": 1, "groups": [0, 1, 2, 3, 4]}
    assert got["block_list"] == [{"address": hex(0x10200 + 0x100 * n), "net": n, "age_s": 7 - n} for n in range(1, 6)]
    assert all("object_list" not in group for group in got["refs"])
    assert re.search(r"^ +address +net +age\n +0x10300 +1 +6s\n", text(trace, "--block-list", "[dict 1]"), re.M)


def test_wrong_numbers(trace):
    for asked, said in (("2", "several families have groups; write libc:2 or pool:2 or dict:2"),
                        ("libc:4", "the report has 3 groups of family libc"), ("fd:1", "the report has nothing of a family fd")):
        for form in "text", "json":
            result = mmattach("report", "--format", form, "--block-list", asked, trace, status=1)
            assert result.stdout == "" and said in result.stderr
    assert "the report has 3 groups\n" in mmattach("report", "--family=libc", "--block-list=4", trace, status=1).stderr


def test_at_as_text(trace):
    got = text(trace, "--block-at", "0x10210,2000,fff,10300")
    inside, begin, nothing, both = got.split("\n\n")
    assert inside.startswith("0x10210 lies 528 bytes inside a block of 4096 bytes (libc) at 0x10000, allocated 8s ago by:\n    #0 large ")
    assert "\n    group [libc 2]\n0x10210 lies 16 bytes inside a block of 64 bytes (pool) at 0x10200, allocated 7s ago by:\n" in inside
    assert begin.startswith("0x2000 is the beginning of a block of 48 bytes (libc), allocated 9s ago by:\n    #0 small ")
    assert nothing == "0xfff is in no live block: freed, or older than the watch, or never allocated"
    assert "\n0x10300 is an object (dict), net 1, first seen 6s ago:\n  acquired once\n    #0 small " in both
    assert "    group [dict 1]\n" in both


def test_at_as_json(trace):
    got = report(trace, "--block-at", "10210", "--block-at=0x5,0x10300", "--block-list=pool:1")
    assert list(got)[-3:] == ["block_list_of", "block_list", "block_at"]
    inside, nothing, both = got["block_at"]
    outer, inner = inside["blocks"]
    assert outer["stack"][0]["function"] == "large" and inner["stack"][0]["function"] == "many"
    assert {key: inner[key] for key in list(inner)[:9]} == {
        "family": "pool", "noun": "block", "address": "0x10200", "bytes": 64, "offset": 16, "age_s": 7, "verdict": "unknown", "number": 1,
        "group": 3}
    assert (outer["offset"], outer["number"], got["groups"][outer["group"]]["bytes"]) == (0x210, 2, 4096)
    assert nothing == {"address": "0x5", "released_twice_s": None, "blocks": [], "objects": []}
    (dict_,) = both["objects"]
    assert (dict_["net"], dict_["older"], dict_["number"], got["refs"][dict_["group"]]["net"]) == (1, False, 1, 1)
    assert [(use["acquired"], use["released"], use["stack"][0]["function"]) for use in dict_["uses"]] == [(1, 0, "small")]


def test_left_out_of_the_report(trace):
    for option in ["--family=pool"], ["--ignore", "small"], ["--older-than", "1h"], ["--min-bytes=1K"]:
        got = text(trace, "--block-at=1000", *option)
        assert "#0 small " in got and "    in no group: the report's options leave it out\n" in got
        (block,) = report(trace, "--block-at=1000", *option)["block_at"][0]["blocks"]
        assert (block["number"], block["group"]) == (None, None)


def test_the_same_of_a_shrunken_trace(trace, tmp_path):
    small = tmp_path / "small.mmt"
    mmattach("shrink", trace, "-o", small)
    args = "--block-list=libc:1", "--block-at=0x10210,fff", "--top=0"
    assert text(small, *args) == text(trace, *args)


def test_it_takes_the_place_of_the_text_report_only(trace, tmp_path):
    assert "watched" not in text(trace, "--block-at=1000")
    out = tmp_path / "said"
    mmattach("report", "-o", out, "--block-at=1000", trace)
    assert out.read_text() == text(trace, "--block-at=1000")
    without = report(trace)
    got = report(trace, "--block-at=1000")
    assert {key: got[key] for key in without} == without and "block_at" not in without
