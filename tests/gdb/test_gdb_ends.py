# SPDX-License-Identifier: MIT
"""However a watch ends: the target continues as it was found, the session continues, and the data can be
reported."""
import json
import os
import signal

import pytest

from harness import Watch, children, comm, ended, lost, wait_for
from session import engines
from test_scopes import LIBRARY, assert_totals
from test_trace import report
from untouched import assert_untouched, tracers


def internal_breakpoints(session):
    return session.do("maint info breakpoints").count("\n-")


def relay(session):
    """The process that answers the hits: a child of the engine."""
    return wait_for(lambda: next(iter(children(session.engine())), None), "a relay")


@pytest.mark.parametrize("who", ["engine", "relay"])
@pytest.mark.parametrize("running", [True, False])
def test_the_engine_is_killed(victim, gdb, who, running):
    """In the middle of load, or while the target is stopped: it is reported once, and everything continues
    without it."""
    target = victim("exact", 60)
    session = gdb(target)
    before = internal_breakpoints(session)
    session.mmleak("start")
    assert internal_breakpoints(session) > before
    lines = len(session.out.all)
    victim_of_kill = session.engine() if who == "engine" else relay(session)
    if running:
        session.go()
        target.ask("go 1", limit=90)
        os.kill(victim_of_kill, signal.SIGKILL)
        target.ask("go 2", limit=90)
        session.stop()
    else:
        os.kill(victim_of_kill, signal.SIGKILL)
        wait_for(lambda: ended(victim_of_kill), "it is dead")
        session.during(target, "go 1", limit=90)
    session.mmleak("status")
    session.mmleak("stop")
    said = session.said_since(lines)
    assert said.count("mmattach has ended") == 1 and "Traceback" not in said, said
    wait_for(lambda: internal_breakpoints(session) == before, "its breakpoints are gone")
    wait_for(lambda: not engines(session.pid), "nothing of it is left")
    assert not session.mmleak("start").count("already")
    session.mmleak("stop")
    session.do("detach")
    assert_untouched(target)
    target.end()


def test_the_target_ends(victim, started, tmp_path):
    """By itself: the trace is complete, there is a report, and nothing left to watch."""
    trace = tmp_path / "t.mmt"
    target = victim("scopes", LIBRARY)
    session = started(target, "-o", trace)
    session.go()
    target.ask("0 keep 5")
    target.say("end")
    assert "exited normally" in session.stopped()
    got = session.report()
    assert got["totals"]["live_blocks"] == 5 and lost(got) == {}
    wait_for(lambda: not engines(session.pid), "the engine has ended")
    said = session.mmleak("start")
    assert "rror" in said or "no process" in said.lower() or "not being run" in said, said
    saved = json.loads(report(trace))
    assert saved["totals"] == got["totals"] and not [n for n in saved["notes"] if "without an end" in n]
    assert target.wait() == 0


def test_the_target_dies(victim, started):
    """By a signal that the user lets it have. (One thread: gdb may lose its prompt when several threads
    die.)"""
    target = victim("families")
    session = started(target)
    session.during(target, "plain 5")
    assert "SIGTERM" in session.do("signal SIGTERM")
    assert_totals(session.report(), allocs=5, frees=0)
    assert target.wait() == -signal.SIGTERM


@pytest.mark.parametrize("order, status", [("exit", 7), ("thread_exit", 9)])
def test_a_hot_target_ends(victim, started, tmp_path, order, status):
    """While its threads are in the middle of malloc. It ends as it would have without us. Threads that vanish
    confuse gdb, with or without breakpoints, up to the loss of its prompt: it is killed, and the trace is
    complete all the same.
    """
    target = victim("exits")
    trace = tmp_path / "t.mmt"
    session = started(target, "-o", trace)
    engine = session.engine()
    session.go()
    before = target.ask("rate")["pairs"]
    wait_for(lambda: target.ask("rate")["pairs"] > before + 3, "its threads are hot")
    target.say(order)
    wait_for(lambda: ended(target.pid), "it has ended")
    session.kill()
    assert target.wait() == status
    wait_for(lambda: ended(engine), "the engine has ended")
    assert json.loads(report(trace))["totals"]["allocs"] > 0


def test_the_user_kills_it(victim, started):
    target = victim("scopes", LIBRARY)
    session = started(target)
    session.during(target, "0 keep 5")
    session.do("kill")
    assert_totals(session.report(), allocs=5, frees=0)
    wait_for(lambda: not engines(session.pid), "the engine has ended")
    assert target.wait() == -signal.SIGKILL


def test_the_user_detaches(victim, started):
    """Without stopping the watch: that ends it, and the target is as it was."""
    target = victim("exact", 60)
    session = started(target)
    session.during(target, "go 1")
    session.do("detach")
    assert_untouched(target)
    wait_for(lambda: not engines(session.pid), "the engine has ended")
    target.ask("churn")
    assert session.report()["totals"]["allocs"] > 0
    assert_untouched(target)
    target.ask("go 2")
    target.end()


@pytest.mark.parametrize("how", ["quit", "end of input"])
def test_the_user_leaves(victim, started, tmp_path, how):
    target = victim("exact", 60)
    trace = tmp_path / "t.mmt"
    session = started(target, "-o", trace)
    engine = session.engine()
    session.during(target, "go 1")
    if how == "quit":
        session.process.stdin.write(b"quit\n")
        session.process.stdin.flush()
    session.leave()
    wait_for(lambda: ended(engine), "the engine has ended")
    assert_untouched(target)
    assert not list((tmp_path / "gdb").iterdir()), "something of it is left"
    target.ask("go 2")
    target.end()
    assert json.loads(report(trace))["totals"]["allocs"] > 0


def test_gdb_is_killed(victim, started, tmp_path):
    """While the target is stopped: then gdb's breakpoints are not in the code, and the kernel continues the
    target. The engine notices that gdb is gone, and the trace is complete. (While the target runs, a killed
    gdb leaves its breakpoints in the code, ours and the user's.)
    """
    target = victim("scopes", LIBRARY)
    trace = tmp_path / "t.mmt"
    session = started(target, "-o", trace)
    session.during(target, "0 keep 5")
    engine = session.engine()
    session.process.kill()
    session.process.wait()
    wait_for(lambda: ended(engine), "the engine has ended")
    assert_untouched(target)
    assert json.loads(report(trace))["totals"]["allocs"] == 5
    target.end()


# --- from gdb to mmattach ---


def test_hand_over(victim, started, tmp_path):
    """gdb detaches, the watch continues: live blocks from before are known afterwards; the report says that
    there was a gap."""
    target = victim("scopes", LIBRARY)
    trace = tmp_path / "t.mmt"
    session = started(target, "-o", trace)
    session.during(target, "0 keep 5", "1 keep 4")
    engine = session.engine()
    said = session.mmleak("hand-over")
    assert str(target.pid) in said, said
    assert {comm(p) for p in tracers(target.pid)} == {"mm-keeper"}
    session.leave()
    target.ask("1 give 0")
    target.ask("2 keep 3")
    os.kill(engine, signal.SIGINT)
    wait_for(lambda: ended(engine), "the watch has ended", 20)
    assert_untouched(target)
    got = json.loads(report(trace))
    totals = got["totals"]
    assert (totals["allocs"], totals["frees"], totals["unmatched_frees"], totals["live_blocks"]) == (12, 5, 0, 7)
    assert got["run"]["gaps"] and lost(got) == {}
    target.end()


def test_hand_over_for_a_while(victim, started, tmp_path):
    """The engine ends by itself, and its file is complete; the session can continue meanwhile, and attach to
    the target again."""
    target = victim("exact", 60)
    trace = tmp_path / "t.mmt"
    session = started(target, "-o", trace)
    session.during(target, "go 1")
    engine = session.engine()
    session.mmleak("hand-over", "-d", "1s")
    target.ask("go 2")
    wait_for(lambda: ended(engine), "the watch has ended", 20)
    assert_untouched(target)
    got = json.loads(report(trace))
    assert got["run"]["gaps"] and not [n for n in got["notes"] if "without an end" in n]
    assert session.value("2+2") == 4
    session.do(f"attach {target.pid}")
    session.mmleak("start")
    session.during(target, "go 3")
    session.mmleak("stop")
    session.do("detach")
    assert_untouched(target)
    target.end()


def test_mmattach_and_gdb_do_not_trace_at_once(victim, gdb, watch):
    """The second tracer is refused, with the name of the first; the first one's watch continues."""
    target = victim("scopes", LIBRARY)
    session = gdb(target)
    other = Watch("-p", target.pid)
    assert other.wait() == 1 and "traced" in other.said()
    session.mmleak("start")
    session.during(target, "0 keep 2")
    assert_totals(session.report(), allocs=2, frees=0)
    session.mmleak("stop")
    session.do("detach")
    assert_untouched(target)
    target.end()
