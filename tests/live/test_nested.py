# SPDX-License-Identifier: MIT
"""A block freed inside a call that allocates is counted as freed."""
import json

from harness import VICTIMS, lost

RULES = ["family block", "alloc block_new size=arg1+1", "free block_free",
         "family object refs", "ref object_new obj=ret if=arg1+1", "unref object_drop"]


def test_a_release_within_an_allocation(watch, tmp_path):
    rules, report = tmp_path / "nested.probes", tmp_path / "report"
    rules.write_text("\n".join(RULES))
    w = watch("--report", report, "--probes", rules, "--", VICTIMS / "nested")
    assert w.wait() == 0, w.said()
    got = json.loads(report.read_text())
    assert {name: got["totals"][name] for name in ("allocs", "frees", "unmatched_frees", "double_frees", "live_blocks")} == {
        "allocs": 100, "frees": 99, "unmatched_frees": 0, "double_frees": 0, "live_blocks": 1}
    assert got["refs"] == [] and [(f["family"], f["acquired"], f["released"], f["live"]) for f in got["families"] if f["references"]] == [("object", 100, 100, 0)]
    assert lost(got) == {} and not any("frees were missed" in note for note in got["notes"])
