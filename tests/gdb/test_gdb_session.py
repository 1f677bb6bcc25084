# SPDX-License-Identifier: MIT
"""A user's session is not disturbed by a watch: breakpoints, watchpoints, displays, settings, the selected
thread and frame, stepping, Ctrl-C. And whatever the user does, every call is counted, once."""
import json
import random
import re

import pytest

from counted import MARKS, assert_equal, calls_seen
from harness import lost, random_moment, rounds, wait_for
from test_scopes import LIBRARY, assert_totals
from untouched import assert_code_whole, assert_untouched

WATCH_MARK, BREAK_AT_MARK = "watch mark", "break mark_begin"

# Two breakpoints, a watchpoint, two displays. The breakpoint in take continues by itself; the one in inside
# has two hits.
FURNITURE = [
    "set $seen = 0",
    "break take", "commands 1\nsilent\nset $seen = $seen + 1\ncontinue\nend",
    "break inside if depth > 1", "ignore 2 1",
    WATCH_MARK,
    "display mark", "display/i $pc",
    "set width 111", "set print elements 77", "set scheduler-locking step", "set print frame-arguments none",
    "set confirm on", "set pagination on", "handle SIGUSR1 nostop noprint",
]

SHOWN = ["info breakpoints", "info display", "info signals", "info inferiors", "thread", "frame", "info source"]


def settings(session):
    """All that gdb's show prints, except for mmleak's own settings, and gdb's numbering of its history."""
    lines = session.do("show").splitlines()
    return [line for line in lines if "mmleak" not in line and not re.match(r"(commands|values|history\b|\$)", line)]


def picture(session):
    """What users see of their session."""
    return {command: session.do(command) for command in SHOWN}, settings(session), convenience(session)


def convenience(session):
    """The user's variables, and those in which gdb counts."""
    return re.findall(r"^\$[a-z].*", session.do("show convenience"), re.M)


def user_hits(session):
    """{breakpoint: how often it was hit}, as gdb reports."""
    found, number = {}, None
    for line in session.do("info breakpoints").splitlines():
        if re.match(r"\d+\s", line):
            number = int(line.split()[0])
        hit = re.search(r"already hit (\d+) time", line)
        if hit:
            found[number] = int(hit[1])
    return found


def select(session, thread, frame):
    session.do(f"thread {thread}")
    session.do(f"frame {frame}")


def furnished(session, watchpoints):
    for command in FURNITURE:
        session.do(BREAK_AT_MARK if command == WATCH_MARK and not watchpoints else command)
    select(session, 3, 2)


def test_nothing_of_the_session_is_disturbed(victim, gdb, watchpoints):
    """Before, during and after the watch: the same picture. And the user's own hits have the right number."""
    target = victim("scopes", LIBRARY)
    session = gdb(target)
    furnished(session, watchpoints)
    before = picture(session)
    for command in ("start", "status", "report", "save /dev/null", "reset", "report --format json"):
        session.mmleak(command)
        assert picture(session) == before, command
    session.go()
    target.ask("0 keep 5")
    target.say("0 in 4")
    # the first of its hits is ignored: two are left
    assert "inside (" in session.stopped()
    session.go()
    assert "inside (" in session.stopped()
    session.go()
    assert target.out.take()
    target.say("0 begin 0")
    assert "mark" in session.stopped()
    assert user_hits(session) == {1: 13, 2: 3, 3: 1} and session.value("$seen") == 13
    select(session, 3, 1)
    during = picture(session)
    got = session.report()
    session.mmleak("status")
    session.mmleak("stop")
    assert picture(session) == during
    assert_totals(got, allocs=13, frees=0)
    assert_code_whole(target.pid)
    session.do("delete")
    session.do("detach")
    assert_untouched(target)
    target.end()


def test_scheduler_locking(victim, started):
    """Only the selected thread runs: the watch works all the same."""
    target = victim("scopes", LIBRARY)
    session = started(target)
    session.do("thread 1")
    session.do("set scheduler-locking on")
    session.during(target, "0 keep 9", "0 pairs 2", "0 give 0")
    assert session.do("show scheduler-locking").count('"on"') == 1
    session.do("set scheduler-locking off")
    session.mmleak("stop")
    assert_totals(session.report(), allocs=11, frees=11)
    session.do("detach")
    assert_untouched(target)
    target.end()


def all_stopped(session):
    return "(running)" not in session.do("info threads")


def test_non_stop(victim, gdb):
    """Each thread stops on its own: the others continue while one is counted."""
    target = victim("exact", 60)
    session = gdb(target, "set non-stop on")
    wait_for(lambda: all_stopped(session), "gdb has stopped all")
    assert "error" not in session.mmleak("start", *MARKS).lower()
    session.do("continue -a &")
    told = target.ask(f"go {random.getrandbits(40)}", limit=90)
    session.do("interrupt -a")
    wait_for(lambda: all_stopped(session), "all have stopped")
    session.mmleak("stop")
    got = session.report()
    assert_equal(got, told)
    assert calls_seen(got) == told["calls"]
    session.do("detach")
    assert_untouched(target)
    target.end()


def test_started_while_it_runs(victim, gdb):
    """There is a prompt, but nothing can be planted now: a message says what to do, and nothing else
    happens."""
    target = victim("scopes", LIBRARY)
    session = gdb(target)
    session.do("continue &")
    assert "running" in session.mmleak("start")
    assert target.ask("0 keep 5")
    session.do("interrupt")
    wait_for(lambda: all_stopped(session), "it has stopped")
    session.mmleak("start")
    session.during(target, "0 keep 5")
    assert_totals(session.report(), allocs=5, frees=0)
    session.leave()
    assert_untouched(target)
    target.end()


# --- Ctrl-C ---


def nothing(session):
    pass


def look_about(session):
    """Select another thread, or let this one make some steps; then another thread than the one that stopped
    continues."""
    session.do(f"thread {random.randint(1, 9)}")
    if random.random() < 0.5:
        session.try_for(f"stepi {random.randint(1, 9)}", 0.2)
    session.do(f"thread {random.randint(1, 9)}")


@pytest.mark.parametrize("meanwhile, times", [(nothing, 20), (look_about, 10)])
def test_interrupted(victim, started, meanwhile, times):
    """In the middle of load: each Ctrl-C stops the target, and no call is lost or counted twice."""
    target = victim("exact", 200)
    session = started(target, *MARKS)
    stops = []
    session.go()
    target.say(f"go {random.getrandbits(40)}")
    for _ in range(rounds(times, 500)):
        random_moment(0.04)
        stops.append(session.stop())
        meanwhile(session)
        session.go()
    told = json.loads(target.out.take(90))
    session.stop()
    session.mmleak("stop")
    assert [stop for stop in stops if "SIGINT" not in stop and "Quit" not in stop] == []
    got = session.report()
    assert_equal(got, told)
    assert calls_seen(got) == told["calls"]
    session.do("detach")
    assert_untouched(target)
    target.end()


def test_the_key(victim, gdb):
    """On a terminal: Ctrl-C reaches gdb, the target stops, and the signal does not reach the engine."""
    target = victim("scopes", LIBRARY)
    session = gdb(target, terminal=True)
    session.mmleak("start")
    for _ in range(5):
        session.go()
        target.ask("0 keep 5")
        assert "SIGINT" in session.stop()
    session.mmleak("stop")
    assert_totals(session.report(), allocs=25, frees=0)
    session.leave()
    assert_untouched(target)
    target.end()


# --- stepping ---


def test_stepping_through_malloc(victim, started):
    """stepi and next over and into watched functions, finish out of them: each call counts once."""
    target = victim("scopes", LIBRARY)
    session = started(target)
    session.do("tbreak take")
    session.go()
    target.say("0 pairs 12")
    session.stopped()
    for _ in range(160):
        session.do("stepi")
    for _ in range(12):
        session.do("next")
    session.do("tbreak free")
    session.do("continue")
    session.do("finish")
    session.do("tbreak malloc")
    session.do("continue")
    session.do("finish")
    for _ in range(60):
        session.do("nexti")
    session.go()
    assert target.out.take()
    session.stop()
    session.mmleak("stop")
    assert_totals(session.report(), allocs=12, frees=12)
    session.do("detach")
    assert_untouched(target)
    target.end()


def test_the_users_own_breakpoint_on_malloc(victim, started):
    """Also at exactly our address: both breakpoints are hit, as often as they should be."""
    target = victim("scopes", LIBRARY)
    session = started(target)
    session.do("break malloc")
    session.do("break *free")
    session.do("break *free if 0")
    number = {"malloc": 1, "free": 2}
    session.go()
    target.say("0 pairs 3")
    for where in ("malloc", "free") * 3:
        assert f"Breakpoint {number[where]}" in session.stopped()
        session.go()
    assert target.out.take()
    session.stop()
    assert {n: hit for n, hit in user_hits(session).items() if n < 3} == {1: 3, 2: 3}
    session.mmleak("stop")
    assert_totals(session.report(), allocs=3, frees=3)
    session.do("delete 1")
    session.go()
    target.say("0 pairs 1")
    assert "Breakpoint 2" in session.stopped()
    session.do("delete")
    session.go()
    assert target.out.take()
    session.stop()
    session.do("detach")
    assert_untouched(target)
    target.end()


@pytest.mark.usefixtures("gdb_calls")
def test_calls_from_the_prompt(victim, started):
    """print malloc(10): the target calls it, so it counts."""
    target = victim("scopes", LIBRARY)
    session = started(target)
    assert session.value("$p = (char *(*)(unsigned long)) malloc, $p(10) != 0") == 1
    session.do("set $block = ((void *(*)(unsigned long)) malloc)(20)")
    session.do("call ((void (*)(void *)) free)($block)")
    session.during(target, "0 keep 2")
    session.mmleak("stop")
    got = session.report()
    assert (got["totals"]["allocs"], got["totals"]["frees"], lost(got)) == (4, 1, {})
    session.do("detach")
    assert_untouched(target)
    target.end()
