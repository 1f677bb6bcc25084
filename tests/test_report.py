# SPDX-License-Identifier: MIT
"""The JSON report follows its contract, and other programs can read the CSV, for a run with hostile names.

The run is tests/unit/report_example.h, printed by the unit tests of out_json and out_csv.
"""
import csv
import json
import pathlib
import subprocess

import pytest

from test_unit import BUILD

HOSTILE = 'evil\x1b[2J"\\\n\ufffdü;,'
HOSTILE_TEXT = r'evil\x1b[2J"\\x0a\xffü;,'


def printed(form, *example):
    return subprocess.run([BUILD / "unit/test_formats", form, *example], stdout=subprocess.PIPE, check=True).stdout


@pytest.fixture(scope="module")
def report():
    return json.loads(printed("json").decode("utf-8", errors="strict"))


def test_fields(report):
    assert list(report) == ["mmattach", "target", "run", "totals", "block_sizes", "block_ages", "runtime", "memory", "children", "groups", "refs", "families", "rows", "ref_rows",
                            "double_frees", "suppressed", "filtered", "suppressions_used", "notes"]
    assert report["mmattach"]["schema"] == 1
    assert report["target"] == {"pid": 1234, "comm": "svc", "exe": "/usr/bin/svc", "cmdline": ["svc", HOSTILE]}
    assert report["totals"] == {"allocs": 700, "frees": 621, "unmatched_frees": 3, "older_blocks": 0, "older_bytes": 0, "double_frees": 5,
                                "live_blocks": 79, "live_bytes": 1115336}
    assert report["notes"] == ["the keeper was killed by " + HOSTILE]


def test_run(report):
    run = report["run"]
    assert run["start"] == "2026-01-01T00:00:00.250Z"
    assert (run["seconds"], run["engine"], run["mode"], run["duty"]) == (10, "ptrace", "exact", 1)
    assert (run["events"], run["stacks_cut"], run["stacks_lost"], run["ring_waits"]) == (1000, 1, 2, 3)
    assert run["stopped_s"] == 0.5
    assert run["lost"] == {"ring full": 7, "no memory": 1}
    assert run["gaps"] == [{"at_s": 2, "seconds": 3.5, "why": "mmattach was stopped"}]
    assert run["probes"][0] == {"family": "libc", "rule": "alloc malloc size=arg1", "module": "/lib/libc.so.6",
                                "hits": 600, "note": None}
    assert [probe["note"] for probe in run["probes"]] == [None, None, None, "bytes differ"]


def test_groups(report):
    large, growing, small = report["groups"]
    stack = large.pop("stack")
    assert large == {"number": 1, "row": 0, "family": "libc", "tag": None, "blocks": 2, "blocks_between": [2, 2], "bytes": 1048576, "bytes_between": [1048576, 1048576], "bytes_direct": 1048576, "allocs": 599,
                     "frees": 597, "allocs_per_minute": [3594, 3594, 3594], "bytes_allocated": 0, "oldest_s": 9, "youngest_s": 1.25, "verdict": "definite",
                     "growth": {"shape": "level", "bytes_per_minute": 0, "between": [0, 0], "since_s": 5, "replaced_per_minute": 0},
                     "series": [[2.5, 900000], [5, 1048576], [7.5, 1048576], [10, 1048576]],
                     "examples": ["0x55559000", "0x55559020"], "wrappers": 0, "stack_end": "cut"}
    assert stack[0] == {"pc": "0x55001234", "module": "/usr/bin/svc", "build_id": "0a1b", "offset": "0x1234",
                        "function": "keep<int>", "file": "svc.cc", "line": 44, "inlined": True}
    assert stack[1]["function"] == HOSTILE
    assert stack[2] == {"pc": "0x7f0000000001", "module": "", "build_id": "", "offset": "0x0", "function": "",
                        "file": "", "line": 0, "inlined": False}
    assert (small["bytes"], small["verdict"], small["stack"], small["stack_end"]) == (24, "unknown", [], "whole")
    assert growing["growth"] == {"shape": "grows", "bytes_per_minute": 393216, "between": [393216, 393216], "since_s": 0, "replaced_per_minute": 0}


def test_stacks_keep_their_wrappers(report):
    growing = report["groups"][1]
    assert growing["wrappers"] == 2
    assert [frame["function"] for frame in growing["stack"]] == [
        "operator new(unsigned long)", "std::allocator<int>::allocate(unsigned long)", "session_open", "main"]
    assert [frame.get("linkage") for frame in growing["stack"]] == ["_Znwm", None, None, None]


def test_double_frees(report):
    first, second = report["double_frees"]
    assert (first["family"], first["count"], first["example"], first["at_s"]) == ("libc", 3, "0x55558000", 4.5)
    assert [frame["function"] for frame in first["second"]["stack"]] == ["main"]
    assert first["first"] == {"stack_end": "whole", "stack": []}
    assert first["alloc"]["stack_end"] == "lost"
    assert (second["count"], second["second"]["stack"]) == (1, [])


def test_hidden(report):
    assert report["suppressed"] == {"groups": 1, "blocks": 5, "bytes": 500, "ref_groups": 0, "objects": 0}
    assert report["filtered"] == {"groups": 2, "blocks": 7, "bytes": 700, "ref_groups": 0, "objects": 0}
    assert report["suppressions_used"] == [{"name": HOSTILE, "where": "known.supp:3", "groups": 1, "blocks": 5, "bytes": 500}]


def test_csv(report):
    text = printed("csv").decode("utf-8", errors="strict")
    rows = list(csv.DictReader(text.splitlines(), strict=True))
    assert [(row["bytes"], row["growth_shape"]) for row in rows] == [("1048576", "level"), ("65536", "grows"), ("24", "unknown")]
    assert rows[0]["stack"] == f"keep<int> < {HOSTILE_TEXT} < 0x7f0000000001 < ..."
    assert (rows[1]["function"], rows[1]["file"], rows[1]["line"]) == ("session_open", "/src/svc/session.cc", "120")
    for row, group in zip(rows, report["groups"]):
        assert None not in row and None not in row.values()
        assert all(float(row[name]) == group[name] for name in ("blocks", "allocs", "frees", "oldest_s", "youngest_s"))


@pytest.fixture(scope="module")
def references():
    """tests/unit/refs_example.h"""
    return json.loads(printed("json", "objects").decode("utf-8", errors="strict"))


def test_references(references):
    assert references["refs"][0]["family"] == "dict" and [{key: f[key] for key in ("family", "acquired", "released", "live")} for f in references["families"] if f["references"]] == [
        {"family": "dict", "acquired": 11113, "released": 10592, "live": 533},
        {"family": "inode", "acquired": 2900, "released": 2800, "live": 43}]
    leaked = dict(references["refs"][0])
    acquired, released = leaked.pop("acquired"), leaked.pop("released")
    assert leaked == {"number": 1, "family": "dict", "noun": "object", "objects": 529, "net": 1, "older": False, "counted": False,
                      "oldest_s": 598.2, "youngest_s": 1.1,
                      "growth": {"shape": "grows", "references_per_minute": 53, "since_s": 0},
                      "series": [[150, 130], [300, 262], [450, 397], [600, 529]],
                      "examples": ["0x7f0a00001010", "0x7f0a00001080"], "object_list": []}
    stack = acquired[0].pop("stack")
    assert acquired[0] == {"per_object": 1, "count": 529, "outstanding": 529, "acquired_in_all": 529,
                        "several": 0, "as_many": 0, "module": "", "module_acquired": 0, "module_released": 0, "name": "leaky_lookup leaky.c:88", "wrappers": 1,
                        "stack_end": "whole"}
    assert [frame["function"] for frame in stack] == ["data_ref_wrapper", "leaky_lookup", "default_lookup"]
    assert set(released[0]) == {"per_object", "count", "name", "wrappers", "stack_end", "stack"}
    assert [entry["net"] for entry in references["refs"] if entry["family"] == "dict"] == [1, 1, -2]


def test_nets_are_not_merged_for_programs(references):
    inodes = [entry for entry in references["refs"] if entry["family"] == "inode"]
    assert [(entry["objects"], entry["net"], entry["older"], entry["counted"]) for entry in inodes] == [
        (12, 1, False, True), (10, 2, False, True), (8, 3, False, True), (6, 4, False, True), (4, 5, False, True),
        (2, 6, False, True), (1, 3, True, True)]


def test_nets_are_merged_for_people(references):
    """Six of the groups of inodes are one row, with the numbers of all."""
    row = next(row for row in references["ref_rows"] if row["family"] == "inode")
    assert (row["mark"], row["objects"], row["net"], row["net_text"]) == ("[inode 1]", 42, [1, 6], "1..6")
    assert [references["refs"][index]["objects"] for index in row["refs"]] == [12, 10, 8, 6, 4, 2]
    assert {references["refs"][index]["number"] for index in row["refs"]} == {row["number"]}


def test_each_object(references):
    assert references["refs"][1]["object_list"] == [
        {"address": "0x7f0a00001010", "age_s": 1, "acquired": [1], "released": [0]},
        {"address": "0x7f0a00001080", "age_s": 2, "acquired": [3], "released": [2]}]


def test_tags_and_nouns(references):
    assert [(group["family"], group["tag"]) for group in references["groups"]] == [("libc", "gf_common_mt_strdup"), ("fd", None)]


def test_csv_of_references():
    text = printed("csv", "families").decode("utf-8", errors="strict")
    rows = list(csv.DictReader(text.splitlines(), strict=True))
    assert [(row["family"], row["tag"], row["net"]) for row in rows[:2]] == [("libc", "gf_common_mt_strdup", ""), ("fd", "", "")]
    leaked = rows[2]
    assert (leaked["family"], leaked["objects"], leaked["blocks"], leaked["all_acquired"], leaked["all_released"], leaked["net"]) == (
        "dict", "529", "", "1587", "1058", "1")
    assert (leaked["function"], leaked["file"], leaked["line"]) == ("leaky_lookup", "leaky.c", "88")
    assert rows[3]["function"] == "free_state" and rows[3]["net"] == "-2"


def test_descriptors_are_no_blocks():
    """The sums of the verdicts are of memory: a descriptor is neither a byte nor a block of which they are not
    known."""
    trace = pathlib.Path(__file__).parent / "golden/inputs/families.mmt"

    def text(*args):
        return subprocess.run([BUILD / "mmattach", "report", *args, trace], stdout=subprocess.PIPE, check=True, text=True).stdout

    assert "fd        35 descriptors of 165" in text()
    assert "\ndefinitely lost none; possibly lost none; still reachable 2640 B in 6 blocks\n" in text()
    alone = text("--family", "fd")
    assert "35 descriptors of 165" in alone and "\ndefinitely" not in alone
