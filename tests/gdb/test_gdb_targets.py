# SPDX-License-Identifier: MIT
"""What targets do, watched from gdb, to the last call: dozens of threads, children, other programs, modules
that are loaded and unloaded, references, rules with conditions, scopes. The expected numbers come from the
victim; test_gdb_same.py tests that both frontends give the same report."""
import json
import pathlib
import random

import pytest

from counted import MARKS, assert_equal, calls_seen
from harness import hits, lost, rounds, wait_for
from session import engines
from test_life import PLUG
from test_references import ABSOLUTE, born_since, changes, nets
from test_scopes import LIBRARY, assert_totals, takers
from untouched import assert_code_whole, assert_untouched, threads


def end_of_watch(session, target, *options):
    """Stop the watch and detach. Returns the report."""
    session.mmleak("stop")
    got = session.report(*options)
    session.do("detach")
    assert_untouched(target)
    return got


# --- threads ---


def test_eight_threads(victim, started):
    """All at once, in every function there is: the watch and the victim have the same counts."""
    target = victim("exact", 60)
    session = started(target, *MARKS)
    for _ in range(rounds(1, 10)):
        told = session.during(target, f"go {random.getrandbits(40)}", limit=90)
        session.mmleak("stop")
        got = session.report()
        assert_equal(got, told)
        assert calls_seen(got) == told["calls"]
        session.mmleak("start", *MARKS)
        session.during(target, "churn")
    end_of_watch(session, target)
    target.end()


def test_threads_that_come_and_go(victim, started):
    """Each allocates a block and ends; a thread that starts during the watch is watched."""
    target = victim("scopes", LIBRARY)
    session = started(target)
    session.during(target, "0 short 60", "2 keep 5", "3 give 2", "1 short 20")
    got = end_of_watch(session, target)
    assert lost(got) == {}
    taken = {names: blocks for names, blocks in takers(got).items() if "take_and_end" in names}
    assert taken == {("take", "take_and_end"): 80}
    assert got["totals"]["double_frees"] == got["totals"]["unmatched_frees"] == 0
    assert len(threads(target.pid)) == 5
    target.end()


def test_one_thread(victim, started):
    target = victim("scopes", LIBRARY)
    tid = target.ask("1 keep 0")["tid"]
    session = started(target, "--thread", tid)
    session.during(target, "1 keep 3", "2 keep 4", "1 pairs 2", "2 pairs 5", "2 give 1", "1 give 2", "0 keep 9", "0 give 0")
    assert_totals(end_of_watch(session, target), allocs=5, frees=5)
    target.end()


def test_signal_handlers(victim, started):
    """They allocate, on either stack, and interrupt the program anywhere: each signal is delivered once, each
    call counted once."""
    target = victim("sigpaths")
    session = started(target)
    session.during(target, "own 60")
    assert_totals(session.report(), allocs=60, frees=60)
    session.during(target, "alternate 40")
    got = end_of_watch(session, target)
    # a stack ends where the handler's own stack does
    assert (got["totals"]["allocs"], got["totals"]["frees"], lost(got)) == (100, 100, {})
    target.end()


# --- children, and other programs ---


def forking(gdb, target, *settings):
    session = gdb(target)
    for setting in settings:
        session.do(f"set {setting}")
    session.do("set schedule-multiple off")
    session.mmleak("start")
    return session


def counts(got):
    totals = got["totals"]
    return totals["allocs"], totals["frees"], totals["unmatched_frees"]


def test_fork_parent_is_followed(victim, gdb):
    """gdb detaches from the child: it works as if it had never been traced, and is not counted."""
    target = victim("twins")
    session = forking(gdb, target)
    told = session.during(target, "take 5", "fork 7", "child", "give 1", "take 2")
    assert told == {"held": 6}
    got = end_of_watch(session, target)
    assert counts(got) == (7, 1, 0) and lost(got) == {}
    assert target.ask("fork 3")["child"] > 0 and target.ask("child") == {"status": 0}
    target.end()


def test_fork_parent_is_followed_and_the_child_stays(victim, gdb):
    """detach-on-fork off: gdb traces the child too, and it runs through our breakpoints uncounted."""
    target = victim("twins")
    session = forking(gdb, target, "detach-on-fork off")
    session.during(target, "take 5", "fork 7", "take 2")
    session.do("inferior 2")
    assert "exited normally" in session.do("continue")
    session.do("inferior 1")
    assert session.during(target, "child") == {"status": 0}
    got = end_of_watch(session, target)
    assert counts(got) == (7, 0, 0) and lost(got) == {}
    assert target.ask("take 1") == {"held": 8}
    target.end()


@pytest.mark.parametrize("detach", ["on", "off"])
def test_fork_child_is_followed(victim, gdb, detach):
    """The watch continues in the child, with its parent's blocks as known blocks; the parent continues by
    itself."""
    target = victim("twins")
    session = forking(gdb, target, "follow-fork-mode child", f"detach-on-fork {detach}")
    session.go()
    assert target.ask("take 5") == {"held": 5}
    target.say("fork 7")
    assert "exited normally" in session.stopped()
    got = session.report()
    assert counts(got) == (5 + 7, 2, 0) and lost(got) == {}
    if detach == "off":
        session.do("inferior 1")
        session.do("detach")
    child = json.loads(target.out.take())["child"]
    assert got["target"]["pid"] in (child, target.pid)
    assert target.ask("child") == {"status": 0}
    assert_untouched(target)
    assert target.ask("take 3") == {"held": 8}
    target.end()


def test_vfork(victim, gdb):
    """The child runs in the target's memory until it execs: the breakpoints are there."""
    target = victim("twins")
    session = forking(gdb, target)
    assert session.during(target, "take 5", "vfork", "give 2", "vfork") == {"status": 0}
    got = end_of_watch(session, target)
    assert counts(got) == (5, 2, 0) and lost(got) == {}
    target.end()


@pytest.mark.parametrize("mode", ["fork", "vfork", "spawn", "system", "exec", "thread"])
def test_children_without_pause(victim, started, mode):
    """Children made in every way while other threads allocate: none of them dies because of us, not even one
    that is just being made when the watch ends: stopped, with a copy of our breakpoints, and not handled by
    gdb yet.
    """
    target = victim("forker", mode, 2)
    session = started(target)
    for again in range(rounds(3, 30)):
        if again:
            session.mmleak("start")
        session.go()
        made = target.ask("made")["made"]
        wait_for(lambda: target.ask("made")["made"] >= made + 4, "children")
        said = session.stop()
        assert "Quit" not in said, said
        session.mmleak("stop")
        got = session.report()
        assert got["totals"]["allocs"] > 0 and lost(got) == {}
    session.do("detach")
    assert_untouched(target)
    told = target.end()
    assert (told["killed"], told["wrong"], told["damaged"]) == (0, 0, 0), told


def test_the_target_becomes_another_program(victim, started):
    """Its old addresses mean nothing any more: the watch is over, and no breakpoint of it is in the new
    program."""
    target = victim("twins")
    session = started(target)
    session.go()
    target.ask("take 5")
    target.say("exec")
    target.expect_ready()
    assert target.ask("take 4") == {"held": 4}
    session.stop()
    assert_code_whole(target.pid)
    got = session.report()
    assert counts(got) == (5, 0, 0)
    wait_for(lambda: not engines(session.pid), "the engine has ended")
    session.mmleak("start")
    session.during(target, "take 2")
    assert counts(end_of_watch(session, target)) == (2, 0, 0)
    target.end()


def go_again(session):
    """A thread that vanishes in the middle of a hit is sometimes an error for gdb, which then stops: the user
    continues."""
    if session.is_at_prompt():
        session.stopped()
        session.go()


def is_deaf(session, target):
    """Has gdb refused to continue 100 times, while the process waits in exec for it?"""
    refusals = session.out.all[-300:].count("Cannot execute this command while the selected thread is running.")
    return refusals >= 100 and "begin_new_exec" in pathlib.Path(f"/proc/{target.pid}/wchan").read_text()


@pytest.mark.parametrize("order", ["exec", "thread_exec"])
def test_a_hot_process_becomes_another(victim, started, order):
    """By exec in its first thread or another, while the other threads are in the middle of malloc. After two such
    errors gdb 13 sometimes takes the threads for running, refuses each command, and does not look at the process,
    which waits for it: then it goes on when gdb ends."""
    target = victim("exits")
    session = started(target)
    session.go()
    target.ask("rate")
    target.say(order)
    wait_for(lambda: go_again(session) or target.out.all[target.out.taken:] or is_deaf(session, target),
             "the new program is ready")
    if is_deaf(session, target):
        session.leave()
    target.expect_ready()
    target.ask("rate")
    if session.process.poll() is None:
        session.stop()
        session.do("detach")
    assert_untouched(target)
    target.end()


def test_gdb_left_sigchld_blocked(victim, started):
    """As gdb 13 does when a thread vanishes while it waits: it would notice no hit, and no Ctrl-C."""
    target = victim("twins")
    session = started(target)
    session.do("python import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])")
    session.during(target, "take 5", "give 2")
    assert counts(end_of_watch(session, target)) == (5, 2, 0)
    target.end()


# --- modules ---


def test_modules_that_come_and_go(victim, started):
    """dlopen during the watch: from the constructor on; dlclose: the breakpoints disappear with the memory.
    Several times."""
    target = victim("dl")
    session = started(target, *quoted(PLUG))
    session.during(target, *["open", "call 9", "close"] * 3)
    session.do("delete")
    session.during(target, "open", "call 3")
    got = end_of_watch(session, target)
    target.ask("close")
    told = target.end()
    assert hits(got, "alloc plug_malloc") == told["allocs"] == 3 * 10 + 4
    assert hits(got, "free plug_free") == told["frees"] == 3 * 8 + 2
    assert lost(got) == {}


def quoted(words):
    return [f"'{word}'" if " " in word else word for word in words]


def test_a_module_that_was_there_before(victim, started):
    target = victim("dl")
    target.ask("open")
    session = started(target, *quoted(PLUG))
    session.during(target, "call 9", "close")
    got = end_of_watch(session, target)
    assert hits(got, "alloc plug_malloc") == 9 and lost(got) == {}
    target.end()


# --- references ---


def test_references(victim, started, tmp_path):
    """By a file of rules, with the count in the object; and with one rule on the command line."""
    target = victim("refs")
    file = tmp_path / "own.probes"
    file.write_text(ABSOLUTE)
    old = target.ask("make 6")
    session = started(target, "--probes", file)
    told = session.during(target, "run 60", "jump 3", "threads 4 20", limit=60)
    session.mmleak("stop")
    got = session.report("--per-object")
    assert [(t["family"], t["acquired"], t["released"], t["live"]) for t in got["families"] if t["references"]] == [
        ("unit", *changes(old, told), told["forgot"])]
    assert nets(got) == born_since(old, told) and lost(got) == {}
    session.mmleak("start", "--ref", "object_ref:object_unref")
    now = session.during(target, "more 4", "less 1")
    got = end_of_watch(session, target, "--per-object")
    assert sorted(nets(got).values()) == [1, 1, 1]
    assert [(t["acquired"], t["released"]) for t in got["families"] if t["references"]] == [(4, 1)] and len(now["objects"]) == len(told["objects"])
    target.end()


# --- rules, scopes ---


def test_a_rule_on_the_command_line(victim, started):
    """A condition, a name read from memory, an address found behind a pointer."""
    target = victim("rules")
    session = started(target, "--probe", "'alloc pool_take ptr=*arg3 size=arg2 tag=str(arg4) if=i32(ret)==0'")
    told = session.during(target, "take 42")
    got = end_of_watch(session, target)
    assert got["totals"]["allocs"] == len(told["taken"]) == 28
    tags = {}
    for group in got["groups"]:
        tags[group["tag"]] = tags.get(group["tag"], 0) + group["blocks"]
    assert (tags["inode"], tags[None], lost(got)) == (4, 8, {"tag not read": 4})
    assert {int(a, 16) for g in got["groups"] for a in g["examples"]} <= {block for block, _, _ in told["taken"]}
    target.end()


def test_scopes(victim, started):
    """--in, --from and --until, --module: one watch after another in one session."""
    target = victim("scopes", LIBRARY)
    session = started(target, "--in", "inside")
    session.during(target, "0 keep 5", "0 in 3", "0 pairs 4", "1 give 0", "0 keep 7", "0 give 0")
    session.mmleak("stop")
    assert_totals(session.report(), allocs=6, frees=6)
    session.mmleak("start", "--from", "mark_begin", "--until", "mark_end")
    session.during(target, "0 keep 5", "0 begin 0", "1 keep 6", "0 give 0", "2 keep 3", "2 give 2", "0 end 0", "1 give 1",
                   "0 keep 4")
    session.mmleak("stop")
    assert_totals(session.report(), allocs=9, frees=3, older=5, live=0)
    session.mmleak("start", "--module", "libscope*")
    session.during(target, "0 library 3", "0 wrapped 4", "0 called 5", "0 keep 6")
    assert_totals(end_of_watch(session, target), allocs=7, frees=0)
    target.end()
