# SPDX-License-Identifier: MIT
"""APR's pools, in a program that counts what it takes, and in Apache httpd. With both engines."""
import pytest

from engines import has_uprobe
from harness import children, hits, lost
from pools import Httpd
from untouched import assert_code_whole, assert_untouched, assert_untraced


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


def watched_requests(httpd, watch, options, turns):
    """The report of a watch of so many requests of one connection."""
    worker, = children(httpd.pid)
    with httpd.connect() as connection:
        httpd.ask(connection, 2)
        run = watch("-p", worker, *options).wait_watching()
        httpd.ask(connection, turns)
        report = run.finish()
    assert_untraced(worker)
    assert_code_whole(worker)
    assert set(lost(report)) <= {"tag not read"} and report["totals"]["double_frees"] == 0
    return report


def test_httpd_keeps_nothing_of_a_request(serve, watch, options):
    """Of two hundred requests as little stays as of five: what the last one has taken, and may not yet be freed."""
    httpd = serve(Httpd)
    few, many = (watched_requests(httpd, watch, options, turns) for turns in (5, 200))
    live = [report["totals"]["live_blocks"] for report in (few, many)]
    assert max(live) < 200 and many["totals"]["allocs"] > 20 * few["totals"]["allocs"] > 2000, (live, many["totals"])
    assert 190 <= hits(many, "pool apr_pool_create_ex") <= 201
