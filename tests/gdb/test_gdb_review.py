# SPDX-License-Identifier: MIT
"""What a second reading found: the engine stands still, files vanish or are the same, gdb plays back, the hand-over is refused."""
import os
import shutil
import signal

import pytest

from harness import children, ended, wait_for
from session import engines
from test_scopes import LIBRARY, assert_totals
from untouched import assert_untouched, tracers



def relay(session):
    return wait_for(lambda: next(iter(children(session.engine())), None), "a relay")


@pytest.fixture
def impatient(gdb):
    """impatient(VICTIM): a watch by a gdb that does not wait long."""
    def start(target):
        session = gdb(target)
        session.do("python import mmgdb.engine, mmgdb.hits; mmgdb.engine.PATIENCE_S = mmgdb.hits.SILENCE_S = 1")
        session.mmleak("start")
        return session

    return start


@pytest.mark.parametrize("whom", [("engine",), ("engine", "relay")], ids="+".join)
def test_the_engine_is_stopped(victim, impatient, whom):
    """gdb does not wait for it for ever: the target runs on, nothing is left of the watch."""
    target = victim("hot", 2)
    session = impatient(target)
    pids = {"engine": session.engine(), "relay": relay(session)}
    session.go()
    for one in whom:
        os.kill(pids[one], signal.SIGSTOP)
    wait_for(lambda: not engines(session.pid), "the watch is over")
    assert target.rate() > 0
    session.stop()
    assert "nothing is being watched" in session.mmleak("status")
    wait_for(lambda: ended(pids["relay"]), "the relay has ended")
    session.do("detach")
    assert_untouched(target)
    target.end()


def test_the_engine_is_stopped_at_the_end(victim, impatient):
    """It is made to go on, and writes its trace."""
    target = victim("scopes", LIBRARY)
    session = impatient(target)
    session.during(target, "0 keep 2")
    os.kill(session.engine(), signal.SIGSTOP)
    session.mmleak("stop")
    assert_totals(session.report(), allocs=2, frees=0)
    session.do("detach")
    assert_untouched(target)
    target.end()


def test_saved_under_its_own_name(victim, started, tmp_path):
    """A trace that is being written is not replaced by a copy of itself, whatever name it is given by."""
    target = victim("scopes", LIBRARY)
    trace, other = tmp_path / "t.mmt", tmp_path / "link"
    other.symlink_to(trace)
    session = started(target, "-o", trace)
    session.during(target, "0 keep 2")
    for name in trace, other:
        assert "this watch itself writes" in session.mmleak("save", name)
    session.during(target, "0 keep 3")
    assert "watched for" in session.mmleak("stop")
    assert_totals(session.report(), allocs=5, frees=0)
    session.do("detach")
    assert_untouched(target)
    target.end()


def test_its_folder_is_cleaned_away(victim, started, tmp_path):
    """By somebody who cleans /tmp: what was there is lost, the next watch is not."""
    target = victim("scopes", LIBRARY)
    session = started(target)
    session.mmleak("stop")
    folder = session.do("python import mmgdb.session; print(mmgdb.session.folder)")
    shutil.rmtree(folder)
    assert "cannot read" in session.mmleak("report")
    assert "watching" in session.mmleak("start")
    session.during(target, "0 keep 2")
    said = session.mmleak("stop")
    assert "watched for" in said and "Error" not in said, said
    assert_totals(session.report(), allocs=2, frees=0)
    folder = session.do("python print(mmgdb.session.folder)")
    session.do("detach")
    session.leave()
    assert not os.path.exists(folder)
    assert_untouched(target)
    target.end()


def test_hand_over_is_refused(victim, started):
    """What gdb has let go may not be ours to take: said so, and what was seen can be reported."""
    target = victim("scopes", LIBRARY)
    session = started(target)
    session.during(target, "0 keep 2")
    session.do("call (long)signal(5, (void (*)(int))1)")
    engine = session.engine()
    said = session.mmleak("hand-over")
    assert "SIGTRAP" in said and "cannot go on" in said and "goes on without gdb" not in said, said
    wait_for(lambda: ended(engine), "the engine has ended")
    assert_totals(session.report(), allocs=2, frees=0)
    assert not tracers(target.pid)
    folder = session.do("python print(mmgdb.session.folder)")
    session.leave()
    assert not os.path.exists(folder)
    assert_untouched(target)
    target.end()


def test_played_back(victim, gdb):
    """What `record` plays back, backwards or forwards, has been counted when it happened."""
    target = victim("families")
    session = gdb(target)
    session.do("tbreak *__libc_malloc")
    session.mmleak("start")
    target.say("plain 1")
    session.do("continue")
    session.do("record")
    session.do("finish")
    assert_totals(session.report(), allocs=1, frees=0)
    for command in "reverse-continue", "continue":
        assert "No more reverse-execution history" in session.do(command)
        assert_totals(session.report(), allocs=1, frees=0)
    session.do("record stop")
    session.mmleak("stop")
    session.do("detach")
    assert target.out.take() is not None
    assert_untouched(target)
    target.end()
