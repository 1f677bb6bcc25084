# SPDX-License-Identifier: MIT
"""The JSON report is what its contract says, for a run whose names are hostile.

The run is tests/unit/report_example.h, printed by the unit test of out_json.
"""
import json
import subprocess

import pytest

from test_unit import BUILD

HOSTILE = 'evil\x1b[2J"\\\n\ufffdü'


@pytest.fixture(scope="module")
def report():
    printed = subprocess.run([BUILD / "unit/test_out_json", "print"], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(printed.decode("utf-8", errors="strict"))


def test_fields(report):
    assert list(report) == ["mmattach", "target", "run", "totals", "groups", "refs", "notes"]
    assert report["mmattach"]["schema"] == 1
    assert report["target"] == {"pid": 1234, "comm": "svc", "exe": "/usr/bin/svc", "cmdline": ["svc", HOSTILE]}
    assert report["totals"] == {"allocs": 600, "frees": 400, "unmatched_frees": 3, "double_frees": 2,
                                "live_blocks": 3, "live_bytes": 1048600}
    assert report["notes"] == ["the keeper was killed by " + HOSTILE]


def test_run(report):
    run = report["run"]
    assert run["start"] == "2026-01-01T00:00:00.250Z"
    assert (run["seconds"], run["frontend"], run["mode"], run["duty"]) == (10, "ptrace", "exact", 1)
    assert (run["events"], run["stacks_cut"], run["stacks_lost"], run["ring_waits"]) == (1000, 1, 2, 3)
    assert run["stopped_seconds"] == 0.5
    assert run["lost"] == {"ring full": 7, "no memory": 1}
    assert run["gaps"] == [{"start": 2, "seconds": 3.5, "why": "mmattach was stopped"}]
    assert run["probes"][0] == {"family": "libc", "rule": "alloc malloc size=arg1", "module": "/lib/libc.so.6",
                                "hits": 600, "note": None}
    assert [probe["note"] for probe in run["probes"]] == [None, None, "bytes differ"]


def test_groups(report):
    large, small = report["groups"]
    stack = large.pop("stack")
    assert large == {"family": "libc", "blocks": 2, "bytes": 1048576, "bytes_direct": 1048576, "allocs": 599,
                     "frees": 597, "oldest_s": 9, "youngest_s": 1.25, "verdict": "definite", "series": [],
                     "samples": ["0x55559000", "0x55559020"], "stack_end": "cut"}
    assert stack[0] == {"pc": "0x55001234", "module": "/usr/bin/svc", "build_id": "0a1b", "offset": "0x1234",
                        "function": "keep<int>", "file": "svc.cc", "line": 44, "inlined": True}
    assert stack[1]["function"] == HOSTILE
    assert stack[2] == {"pc": "0x7f0000000001", "module": "", "build_id": "", "offset": "0x0", "function": "",
                        "file": "", "line": 0, "inlined": False}
    assert (small["bytes"], small["verdict"], small["stack"], small["stack_end"]) == (24, "unknown", [], "whole")
