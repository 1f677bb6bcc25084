# SPDX-License-Identifier: MIT
"""APR's pools: what is live is what the program has taken and not yet freed with a pool. With both engines."""
import pytest

from engines import has_uprobe
from harness import hits, lost
from untouched import assert_untouched


@pytest.fixture(params=["ptrace", "uprobe"])
def options(request):
    if request.param == "uprobe" and not has_uprobe():
        pytest.skip("clang or libbpf-dev is not installed")
    return ["--family", "apr", "--engine", request.param, "--verdicts", "no"]


@pytest.fixture
def server(victim, built):
    return lambda: victim(str(built("apr_leak")))


@pytest.mark.parametrize("orders", [
    ["serve 60"], ["leak 20"], ["session 10"], ["session 5", "close"], ["serve 5", "session 7", "close", "leak 3", "session 2"],
])
def test_live_is_what_it_counts(server, attach, options, orders):
    target = server()
    target.ask("serve 1")
    before = target.ask("leak 1")
    run = attach(target, *options)
    for order in orders:
        after = target.ask(order)
    report = run.finish()
    totals = report["totals"]
    assert set(lost(report)) <= {"tag not read"}
    assert (totals["live_blocks"], totals["live_bytes"], totals["double_frees"], totals["unmatched_frees"]) == (
        after["blocks"] + after["pools"] - before["blocks"] - before["pools"], after["bytes"] - before["bytes"], 0, 0), totals
    assert_untouched(target)
    target.end()


def test_a_pool_is_named_by_its_tag(server, attach, options):
    target = server()
    run = attach(target, *options)
    target.ask("serve 30")
    target.ask("leak 40")
    target.ask("session 6")
    report = run.finish()
    assert {(g["tag"], g["blocks"]) for g in report["groups"] if g["bytes"]} == {("root", 40), ("session", 30)}
    assert [g["blocks"] for g in report["groups"] if not g["bytes"]] == [6]
    assert hits(report, "reset apr_pool_clear") == 10
    target.end()
