# SPDX-License-Identifier: MIT
"""--free-stacks: which code freed the other blocks of a group's stack, live and from a trace.

The victim (aborts.c) says how its requests end: of 100, 70 are finished, 20 rejected, 5 reused by realloc, and
5 forgotten.
"""
import json
import subprocess

from harness import MMATTACH, VICTIMS
from untouched import assert_untouched

HUNDREDS = 20
WAYS = {"request_finish": 70, "request_reject": 20, "request_reuse": 5}


def run(*args):
    done = subprocess.run([MMATTACH, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def group_of(report):
    return next(g for g in report["groups"] if "request_new" in [f["function"] for f in g["stack"]])


def ways_of(group):
    """By the function that ends a request, how many it ended."""
    found = {}
    for by in group["freed_by"]:
        names = [f["function"] for f in by["stack"]]
        way = next(name for name in names if name in WAYS)
        found[way] = found.get(way, 0) + by["blocks"]
        assert by["bytes"] == 120 * by["blocks"] and names[-3:] != [] and "main" in names
    return found


def test_all_ways_are_counted(tmp_path):
    """From the first instruction to the last, so the counts are the program's."""
    trace, out = tmp_path / "t.mmt", tmp_path / "r.json"
    run("--free-stacks", "-o", trace, "--format", "json", "--report", out, "--", VICTIMS / "aborts", HUNDREDS)
    live, saved = json.loads(out.read_text()), json.loads(run("report", "--format", "json", trace))
    for report in (live, saved):
        group = group_of(report)
        assert (group["allocs"], group["frees"], group["blocks"]) == (100 * HUNDREDS, 95 * HUNDREDS, 5 * HUNDREDS)
        assert ways_of(group) == {way: n * HUNDREDS for way, n in WAYS.items()}
    assert group_of(saved) == group_of(live)
    text = run("report", trace)
    lines = text[text.index("    freed by\n"):].splitlines()[1:4]
    assert [line.split()[0] for line in lines] == [str(70 * HUNDREDS), str(20 * HUNDREDS), str(5 * HUNDREDS)]
    assert "from request_finish" in lines[0] and "from request_reject" in lines[1] and "request_reuse" in lines[2]
    assert "request_abort" not in text and "--free-stacks" not in text.split("  command")[0]


def test_without(tmp_path):
    """Nothing is claimed, and the option that shows it is named once."""
    trace = tmp_path / "t.mmt"
    run("-o", trace, "--", VICTIMS / "aborts", HUNDREDS)
    text = run("report", trace)
    assert "freed by" not in text and text.count("(a watch with --free-stacks shows by which code)") == 1
    assert "freed_by" not in group_of(json.loads(run("report", "--format", "json", trace)))


def test_of_a_service(victim, tmp_path):
    target = victim("aborts")
    report = json.loads(run("-p", target.pid, "-d", "2s", "--free-stacks", "--format", "json"))
    group = group_of(report)
    assert sum(by["blocks"] for by in group["freed_by"]) == group["frees"] > 50
    found = ways_of(group)
    assert found["request_finish"] > found["request_reject"] > found["request_reuse"]
    assert_untouched(target)
