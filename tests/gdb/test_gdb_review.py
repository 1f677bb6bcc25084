# SPDX-License-Identifier: MIT
"""Found in a second review: the engine is stopped, files vanish or are the same, gdb replays or calls
functions, the hand-over is refused."""
import os
import re
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
    """impatient(VICTIM): a watch by a gdb with a short timeout."""
    def start(target):
        session = gdb(target)
        session.do("python import mmgdb.engine, mmgdb.hits; mmgdb.engine.PATIENCE_S = mmgdb.hits.SILENCE_S = 1")
        session.mmleak("start")
        return session

    return start


@pytest.mark.parametrize("whom", [("engine",), ("engine", "relay")], ids="+".join)
def test_the_engine_is_stopped(victim, impatient, whom):
    """gdb does not wait for it for ever: the target continues, nothing is left of the watch."""
    target = victim("hot", 2)
    session = impatient(target)
    pids = {"engine": session.engine(), "relay": relay(session)}
    session.go()
    for one in whom:
        os.kill(pids[one], signal.SIGSTOP)
    wait_for(lambda: not engines(session.pid), "the watch is over")
    target.wait_working()
    session.stop()
    assert "nothing is being watched" in session.mmleak("status")
    wait_for(lambda: ended(pids["relay"]), "the relay has ended")
    session.do("detach")
    assert_untouched(target)
    target.end()


def test_the_engine_is_stopped_at_the_end(victim, impatient):
    """It is continued, and writes its trace."""
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
    """A trace that is being written is not replaced by a copy of itself, whatever name is given for it."""
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
    """A cleanup of /tmp deletes it: the data in it are lost, the next watch is not."""
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


def test_the_trace_cannot_be_written(victim, gdb):
    """There is no report without the trace: the watch ends, and a message says why."""
    target = victim("scopes", LIBRARY)
    session = gdb(target)
    said = session.mmleak("start", "-o", "/dev/full")
    session.during(target, "0 keep 2")
    wait_for(lambda: not engines(session.pid), "the watch is over")
    said += session.mmleak("status")
    assert "cannot write the trace /dev/full" in said and "the watch ends" in said, said
    assert "nothing is being watched" in session.mmleak("status")
    session.do("detach")
    assert_untouched(target)
    target.end()


@pytest.mark.usefixtures("gdb_calls")
def test_hand_over_is_refused(victim, started):
    """mmattach may not be able to attach after gdb has detached: this is reported, and the data so far can be
    reported."""
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
    """What `record` replays, backwards or forwards, was counted when it happened."""
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
        answer = session.do(command)
        if "Couldn't write extended state" in answer:
            pytest.skip("optional: gdb cannot replay on this processor")
        assert "No more reverse-execution history" in answer
        assert_totals(session.report(), allocs=1, frees=0)
    session.do("record stop")
    session.mmleak("stop")
    session.do("detach")
    assert target.out.take() is not None
    assert_untouched(target)
    target.end()


@pytest.mark.usefixtures("gdb_calls")
def test_a_checkpoint_in_its_place(victim, gdb):
    """`restart` swaps the process: allocations of the copy are not counted, which is reported; the watch
    continues with the first process."""
    target = victim("families")
    session = gdb(target)
    session.mmleak("start")
    copy = re.search(r"fork returned pid (\d+)", session.do("checkpoint")).group(1)
    session.during(target, "plain 2")
    session.do("restart 1")
    lines = len(session.out.all)
    session.during(target, "plain 3")
    assert f"mmleak: gdb is in process {copy} now; only what {target.pid} does is counted" in session.said_since(lines)
    session.do("restart 0")
    session.during(target, "plain 4")
    assert_totals(session.report(), allocs=6, frees=0)
    session.mmleak("stop")
    session.do("delete checkpoint 1")
    session.do("detach")
    assert_untouched(target)
    target.end()


def test_a_hit_that_cannot_be_told(victim, gdb):
    """If our Python fails anywhere: the watch ends with the reason, the process runs, Ctrl-C works."""
    target = victim("scopes", LIBRARY)
    session = gdb(target, "set mmleak unwinder gdb")
    session.mmleak("start")
    session.do("python import mmgdb.frames; mmgdb.frames.call_frames = None")
    lines = len(session.out.all)
    session.during(target, "0 keep 3")
    said = session.said_since(lines)
    assert said.count("a hit could not be reported, TypeError") == 1, said
    assert "nothing is being watched" in session.mmleak("status")
    session.during(target, "0 keep 3")
    session.do("detach")
    assert_untouched(target)
    target.end()


def test_answers_in_another_order(victim, started, tmp_path):
    """A copy of the engine does the saving; if Ctrl-C is typed meanwhile, its answer is not taken for the
    answer to the next request."""
    target = victim("scopes", LIBRARY)
    session = started(target)
    session.do("python import mmgdb.session")
    session.do(f"python mmgdb.session.watch.engine.control.send(b'900 save {tmp_path}/a')")
    assert str(target.pid) in session.mmleak("status")
    session.do(f"python mmgdb.session.watch.engine.control.send(b'901 save {tmp_path}/b')")
    assert "watched for" in session.mmleak("stop")
    assert_totals(session.report(), allocs=0, frees=0)
    session.do("detach")
    assert_untouched(target)
    target.end()


def test_saved_to_a_pipe_without_a_reader(victim, started, tmp_path):
    """gdb does not wait for a reader, during the watch and after it."""
    target = victim("scopes", LIBRARY)
    session = started(target)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "No such device" in session.mmleak("save", pipe)
    session.mmleak("stop")
    assert "No such device" in session.mmleak("save", pipe)
    session.do("detach")
    assert_untouched(target)
    target.end()


@pytest.mark.usefixtures("gdb_calls")
def test_a_call_where_a_hit_was_told(victim, started):
    """gdb calls a function in a thread that is at a breakpoint of ours: afterwards the thread is there again,
    and that is no new hit."""
    target = victim("scopes", LIBRARY)
    session = started(target)
    session.during(target, "0 keep 2")
    session.do("tbreak *__libc_free")
    target.say("0 give 0")
    assert "__libc_free" in session.do("continue")
    assert session.value("((void *(*)(unsigned long)) malloc)(20) != 0") == 1
    assert session.value("((void *(*)(unsigned long)) malloc)(20) != 0") == 1
    session.go()
    assert target.out.take() is not None
    session.stop()
    totals = session.report()["totals"]
    assert (totals["allocs"], totals["frees"], totals["unmatched_frees"], totals["double_frees"]) == (4, 2, 0, 0)
    session.mmleak("stop")
    session.do("detach")
    assert_untouched(target)
    target.end()


def test_ctrl_c_while_the_process_ends(victim, impatient):
    """The first Ctrl-C kept gdb from reporting the end to us, more come while we wait for the end of the
    trace: the watch is over, gdb at its prompt."""
    target = victim("scopes", LIBRARY)
    session = impatient(target)
    engine = session.engine()
    session.do("python mmgdb.engine.target = type('Blind', (), {'status': lambda *_: ''})")
    session.do("python import mmgdb.session")
    session.do("python events = mmgdb.session.watch.events")
    session.do("python [r.disconnect(h) for r, h in events.connected if r is gdb.events.exited]")
    session.do("python events.connected = [(r, h) for r, h in events.connected if r is not gdb.events.exited]")
    session.go()
    os.kill(engine, signal.SIGSTOP)
    target.process.stdin.close()
    assert session.out.find("exited normally")
    for _ in range(8):
        session.interrupt()
        if session.out.find(f"<<end {session.running}>>", 2):
            break
    session.stopped(1)
    os.kill(engine, signal.SIGCONT)
    assert "nothing is being watched" in session.mmleak("status")
    wait_for(lambda: ended(engine), "the engine has ended")
    assert "None of the watched functions was called" in session.mmleak("report")
