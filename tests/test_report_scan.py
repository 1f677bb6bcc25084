# SPDX-License-Identifier: MIT
"""The JSON and CSV of a scan follow their contract, for a scan with hostile names
(tests/unit/scan_example.h)."""
import csv
import json
import subprocess

import pytest

from test_unit import BUILD

HOSTILE = 'evil\x1b[2J"\\\n\ufffdü;,'


def printed(*words):
    return subprocess.run([BUILD / "unit/test_out_scan", *words], stdout=subprocess.PIPE, check=True).stdout


@pytest.fixture(scope="module")
def report():
    return json.loads(printed("json").decode("utf-8", errors="strict"))


@pytest.fixture(scope="module")
def answers():
    return json.loads(printed("json", "pointers").decode("utf-8", errors="strict"))["pointers"]


def test_the_keys_of_a_watch_and_one_more(report):
    assert list(report) == ["mmattach", "target", "run", "totals", "block_sizes", "block_ages", "runtime", "memory", "children", "groups", "refs",
                            "families", "rows", "ref_rows", "double_frees", "suppressed", "filtered", "suppressions_used", "notes", "scan"]
    assert report["mmattach"]["schema"] == 1
    assert report["run"]["mode"] == "scan"
    assert report["notes"] == ["of " + HOSTILE]


def test_groups(report):
    by_verdict = {g["verdict"]: g for g in report["groups"]}
    lost = by_verdict["definite"]
    assert lost["label"] == lost["class"] == f"ns::Session<{HOSTILE}>"
    assert (lost["blocks"], lost["bytes"], lost["bytes_direct"]) == (3000, 3 << 20, 3 << 20)
    assert (lost["indirect_blocks"], lost["indirect_bytes"]) == (900, 1 << 20)
    assert lost["stack"] == [] and len(lost["examples"]) == 3
    assert by_verdict["indirect"]["bytes_direct"] == 0
    assert by_verdict["indirect"]["class"] is None and by_verdict["indirect"]["label"] == "1032 bytes"
    watched = [g for g in report["groups"] if g["stack"]]
    assert [g["label"] for g in watched] == [None]


def test_scan(report):
    scan = report["scan"]
    assert scan["source"] == "process" and scan["core"] is None
    verdicts = report["run"]["verdicts"]
    assert (verdicts["threads"], verdicts["not_stopped"], scan["pauses"]) == (12, 1, 2)
    assert verdicts["all"]["definite"] == {"blocks": 3000, "bytes": 3 << 20}
    assert sum(v["blocks"] for v in verdicts["all"].values()) == report["totals"]["live_blocks"]
    heap = scan["heap"]
    assert heap["system"] == (10 << 20) + 135168
    assert heap["free"] == {"blocks": 39, "bytes": (3 << 20) + 764}
    assert heap["arenas"][0]["address"] == "0x7f0000000c60"
    assert scan["problems"] == [{"address": "0x5555a000", "what": "a size that is no size: 0x41414141"}]


def test_pointers(answers):
    first, second = answers
    assert [p["place"] for p in first["pointers"]] == ["block", "register", "stack", "tls", "data", "data", "allocator"]
    assert (first["total"], first["block"]["address"]) == (9, "0x55559000")
    assert first["pointers"][0]["block"] == {"address": "0x55558000", "size": 40, "verdict": "indirect", "label": "Node"}
    assert first["pointers"][2]["from_sp"] == 0x40 and first["pointers"][2]["offset"] == 8
    assert first["pointers"][4]["symbol"] == "sessions" + HOSTILE
    assert first["chain_has_root"] and len(first["chain"]) == 2
    assert second["block"] is None and second["total"] == 0 and second["where"]


def test_csv():
    rows = list(csv.DictReader(printed("csv").decode().splitlines()))
    assert [r["verdict"] for r in rows] == ["definite", "possible", "indirect", "reachable", "reachable"]
    assert rows[0]["indirect_bytes"] == str(1 << 20)
    assert rows[4]["function"] == "session_open"
