# SPDX-License-Identifier: MIT
"""Growth that is replacement: blocks that come while older ones of the same size are freed are no growth."""
import json
import time

import pytest

from harness import VICTIMS, last_for
from test_trace import mmattach, report as report_of
from untouched import assert_untouched

pytestmark = pytest.mark.waiting

SIZE = 200
RISING = ("grows", "slows")
SECONDS = 2.5   # of a watch: growth is classified from one second on


def watched(victim, attach, orders, *options):
    """The report of a watch in which each order is given after a part of the time. What comes after the last one takes as
    long as all before it, which on a busy machine may be long: twenty thousand frees, each with a stop."""
    target = victim("replaces")
    watch = attach(target, *options)
    began = time.monotonic()
    target.ask(orders[0])
    for order in orders[1:]:
        last_for(SECONDS / 4)
        target.ask(order)
    last_for(SECONDS if len(orders) == 1 else max(SECONDS * 3 / 4, time.monotonic() - began))
    report = watch.finish()
    assert_untouched(target)
    assert target.ask("run 0 0")["damaged"] == 0
    target.end()
    return report


def group_of(report, function):
    return next(g for g in report["groups"] if g["stack"][g["wrappers"]]["function"] == function)


def blocks_of(report, function):
    return group_of(report, function)["blocks"]


def rates(report):
    """Of all groups that grow, and what was replaced in all."""
    return (sum(g["growth"]["bytes_per_minute"] for g in report["groups"] if g["growth"]["shape"] in RISING),
            sum(g["growth"]["replaced_per_minute"] for g in report["groups"]))


def per_minute(blocks, report):
    return blocks * SIZE * 60 / report["run"]["seconds"]


@pytest.mark.parametrize("verdicts", ["auto", "no"])
def test_what_only_replaces_does_not_grow(victim, attach, tmp_path, verdicts):
    trace = tmp_path / "t.mmt"
    report = watched(victim, attach, ["run 1 0"], "--verdicts", verdicts, "-o", trace)
    totals, group = report["totals"], group_of(report, "place_replacing")
    assert totals["unmatched_frees"] == totals["older_blocks"] > 500
    assert totals["older_bytes"] == totals["older_blocks"] * SIZE
    assert 0 <= totals["older_blocks"] - group["blocks"] <= 1    # it may end between the two
    assert group["growth"]["shape"] not in RISING and group["growth"]["replaced_per_minute"] > 0
    assert rates(report)[0] == 0
    text = mmattach("report", trace).decode()
    # on a busy machine it works by fits and starts, and may seem to rise by what is chance
    if group["growth"]["shape"] == "level":
        assert "not growing now: " in text and " allocated, as much of older blocks freed" in text, text
        assert "replaces older " in text and "older block" not in text.partition("(")[0], text
    assert f"{totals['older_blocks']} of blocks older than the watch (" in text and "unknown size" not in text


def test_a_leak_beside_it_grows_by_the_difference(victim, attach):
    """A third of what is allocated. Rates are those of the last part of the watch, and on a busy machine not the average: but
    if what replaces counted as growth, that would be three times as much."""
    report = watched(victim, attach, ["run 1 0.5"])
    grows, replaced = rates(report)
    leaked, new = (per_minute(blocks_of(report, place), report) for place in ("place_leaking", "place_replacing"))
    assert blocks_of(report, "place_leaking") > 200
    assert leaked / 2 < grows < 2 * leaked, (grows, leaked)
    assert new / 2 < replaced < 2 * new, (replaced, new)


def test_many_that_go_at_once_do_not_hide_a_leak(victim, attach):
    """They are of the size of what leaks, and far more."""
    report = watched(victim, attach, ["run 0 1", "drop"])
    group = group_of(report, "place_leaking")
    assert report["totals"]["older_blocks"] == 20000
    assert group["growth"]["shape"] in RISING
    assert group["growth"]["bytes_per_minute"] > 0.5 * per_minute(group["blocks"], report)


def test_a_trace_says_the_same(victim, attach, tmp_path):
    """As it is, shrunken, and in pieces."""
    trace, short = tmp_path / "t.mmt", tmp_path / "s.mmt"
    report = watched(victim, attach, ["run 1 0.5"], "-o", trace)
    mmattach("shrink", trace, "-o", short)
    for path in (trace, short):
        again = json.loads(report_of(path))
        assert again["totals"] == report["totals"] and again["groups"] == report["groups"]


def test_blocks_from_before_a_scope_have_a_size(watch, tmp_path):
    """They were seen allocated, and do not count: their size is read at the free all the same."""
    report = tmp_path / "report"
    w = watch("--from", "begin", "--report", report, "--", VICTIMS / "early_blocks")
    assert w.wait() == 0, w.said()
    totals = json.loads(report.read_text())["totals"]
    assert (totals["unmatched_frees"], totals["older_blocks"], totals["older_bytes"]) == (500, 500, 500 * 1000)
