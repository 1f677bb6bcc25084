# SPDX-License-Identifier: MIT
"""talloc: what a watch has live is what talloc itself counts, whatever freed, moved or resized it. With both
engines."""
import json
import re

import pytest

from engines import has_uprobe
from harness import lost
from untouched import assert_untouched

ORDERS = ["serve 100", "leak 20", "session 12", "resize 30", "list 5000"]
ALL = [*ORDERS, "older", "close", "session 3", "drop", "serve 10", "unlink 5"]


@pytest.fixture(params=["ptrace", "uprobe"])
def options(request):
    if request.param == "uprobe" and not has_uprobe():
        pytest.skip("clang or libbpf-dev is not installed")
    return ["--family", "talloc", "--engine", request.param]


@pytest.fixture
def server(victim, built):
    return lambda: victim(str(built("talloc_leak")))


def assert_live(report, blocks, size, older=0):
    """@older: frees of what is older than the watch. In the kernel a name is not read if the program has not yet
    touched its page: then the block counts without a tag."""
    totals = report["totals"]
    assert set(lost(report)) <= {"tag not read"}, report["run"]
    assert (totals["live_blocks"], totals["live_bytes"], totals["double_frees"], totals["unmatched_frees"]) == (
        blocks, size, 0, older), totals


@pytest.mark.parametrize("order", ORDERS)
def test_one_order(server, attach, options, order):
    """Also with contexts that are older than the watch."""
    target = server()
    target.ask("older")
    before = target.ask("serve 1")
    run = attach(target, *options)
    after = target.ask(order)
    assert_live(run.finish(), after["blocks"] - before["blocks"], after["bytes"] - before["bytes"])
    assert_untouched(target)
    target.end()


def test_older_contexts_are_freed(server, attach, options):
    """One free of an older block each, whatever lay in it; and what is older but is moved or grows in the watch is
    no leak."""
    target = server()
    target.ask("older")
    target.ask("session 8")
    run = attach(target, *options)
    target.ask("grow older")
    target.ask("close")
    target.ask("drop")
    after = target.ask("serve 20")
    report = run.finish()
    assert after["blocks"] == report["totals"]["live_blocks"] == 1    # the new context for sessions
    assert report["totals"]["double_frees"] == 0 and lost(report) == {}
    assert_untouched(target)
    target.end()


def test_from_the_start(watch, built, options, tmp_path):
    """Everything that talloc has at the end, the root included, and its sizes to the byte."""
    orders, report = tmp_path / "orders", tmp_path / "report"
    orders.write_text("\n".join(ALL) + "\n")
    with orders.open() as stdin:
        run = watch(*options, "--verdicts", "no", "--report", report, "--", built("talloc_leak"), stdin=stdin)
        assert run.wait(60) == 0, run.said()
    told = json.loads(run.out.text().splitlines()[-1])
    assert_live(json.loads(report.read_text()), told["blocks"] + 1, told["bytes"])


def test_the_leak_is_named(server, attach, options):
    """The type of a block is its tag; what is freed with its context is no leak."""
    target = server()
    run = attach(target, *options, "--verdicts", "no")
    target.ask("serve 200")
    target.ask("leak 30")
    groups = run.finish()["groups"]
    assert [(g["blocks"], bool(re.search("talloc_leak.c", g["tag"]))) for g in groups] == [(30, True)], groups
    target.end()


def test_an_order_again_and_again(server, attach, options):
    """Addresses are used again, by blocks and by contexts; the trace gives the same report."""
    target = server()
    before = target.ask("serve 1")
    run = attach(target, *options)
    for turn in range(30):
        target.ask(f"serve {turn}")
        target.ask("session 5")
        after = target.ask("close") if turn % 2 else target.ask("list 50")
    report = run.finish()
    # the context for sessions, which is older than the watch, is freed once and made anew
    assert_live(report, after["blocks"] - before["blocks"] + 1, after["bytes"] - before["bytes"], older=1)
    assert_untouched(target)
    target.end()
