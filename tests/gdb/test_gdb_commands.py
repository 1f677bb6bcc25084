# SPDX-License-Identifier: MIT
"""The commands one after the other: what each prints and does, also where it makes no sense; and the files
they write."""
import json
import re
import shutil
import subprocess

import pytest

from harness import MMATTACH, TOP, VICTIMS, Program, lost, wait_for
from session import ENVIRONMENT, SCRIPT, comparable, engines
from test_scopes import LIBRARY, assert_totals
from test_trace import mmattach, report
from untouched import assert_untouched, tracers

MINIMAL = TOP / "build/gdb-minimal/usr/bin/gdb"


def refused(said, *words):
    """It is one clear message, not a traceback, and names the problem."""
    assert "Traceback" not in said and "Python Exception" not in said, said
    for word in words:
        assert re.search(word, said, re.I), f"no {word!r} in {said!r}"


@pytest.fixture
def scopes(victim):
    return victim("scopes", LIBRARY)


def leave_untouched(session, target):
    session.do("detach")
    assert_untouched(target)
    assert target.end() == {}


# --- a watch from beginning to end ---


def test_status_report_save_reset(scopes, started, tmp_path):
    """They show the present state, and the watch continues; after reset from zero."""
    session = started(scopes)
    session.during(scopes, "0 keep 5", "0 pairs 2")
    status = session.mmleak("status")
    assert str(scopes.pid) in status and re.search(r"\b9\b", status), status
    assert_totals(session.report(), allocs=7, frees=2)
    first = tmp_path / "first.mmt"
    assert str(first) in session.mmleak("save", first)
    session.during(scopes, "0 keep 4")
    assert_totals(json.loads(report(first)), allocs=7, frees=2)
    assert_totals(session.report(), allocs=11, frees=2)
    session.mmleak("reset")
    session.during(scopes, "0 keep 3", "0 give 0")
    assert_totals(session.report(), allocs=3, frees=3, older=9)
    session.mmleak("stop")
    ended = session.report()
    assert_totals(ended, allocs=3, frees=3, older=9)
    last = tmp_path / "last.mmt"
    session.mmleak("save", last)
    assert comparable(json.loads(report(last))) == comparable(ended)
    leave_untouched(session, scopes)
    assert_totals(session.report(), allocs=3, frees=3, older=9)


def test_started_twice_and_stopped_twice(scopes, gdb):
    session = gdb(scopes)
    refused(session.mmleak("stop"), "no watch|not watching|nothing")
    refused(session.mmleak("report"), "mmleak start")
    refused(session.mmleak("status"), "no watch|not watching|nothing")
    refused(session.mmleak("save /tmp/none"), "mmleak start")
    refused(session.mmleak("reset"), "mmleak start|not watching|no watch")
    session.mmleak("start")
    engine = session.engine()
    refused(session.mmleak("start"), "already")
    assert session.engine() == engine
    session.during(scopes, "0 keep 3")
    session.mmleak("stop")
    refused(session.mmleak("stop"), "no watch|not watching|nothing|already")
    assert_totals(session.report(), allocs=3, frees=0)
    session.mmleak("start")
    session.during(scopes, "0 keep 2")
    session.mmleak("stop")
    assert_totals(session.report(), allocs=2, frees=0)
    leave_untouched(session, scopes)


def test_printed_as_mmattach_prints_it(scopes, started, tmp_path):
    """The report of the session is that of its trace, in every format; its trace is an ordinary one."""
    trace, small = tmp_path / "t.mmt", tmp_path / "small.mmt"
    session = started(scopes, "-o", trace)
    session.during(scopes, "0 keep 5", "0 library 3", "1 keep 2")
    session.mmleak("stop")
    mmattach("shrink", trace, "-o", small)
    for form in ("json", "csv", "folded"):
        said = session.mmleak("report", "--top", "0", "--format", form)
        assert said.split() == report(trace, form=form).decode().split() == report(small, form=form).decode().split()
    said = session.mmleak("report", "--top", "0")
    assert "10 blocks" in said and "scope_wrap" in said
    leave_untouched(session, scopes)


def test_differences_between_two_traces(scopes, started, tmp_path):
    """Saved twice in one watch: the difference is what happened in between."""
    old, new = tmp_path / "old.mmt", tmp_path / "new.mmt"
    session = started(scopes)
    session.during(scopes, "0 keep 5")
    session.mmleak("save", old)
    session.during(scopes, "0 library 3")
    session.mmleak("save", new)
    leave_untouched(session, scopes)
    changed = json.loads(mmattach("diff", "--format", "json", old, new))
    came = [c for c in changed["changes"] if c["change"] != "same"]
    assert [(c["old_blocks"], c["new_blocks"], c["stack"][1]["function"]) for c in came] == [(0, 3, "scope_keep")]


def test_text_report_to_a_file(scopes, started, tmp_path):
    session = started(scopes)
    session.during(scopes, "0 keep 5")
    session.mmleak("report", "-o", tmp_path / "report.txt")
    assert "5 blocks" in (tmp_path / "report.txt").read_text()
    refused(session.mmleak("report", "--format", "poem"), "poem")
    leave_untouched(session, scopes)


def test_blocks_of_an_entry(scopes, started):
    """block-list and who-points-at: from a group to its blocks, from a block to the pointers to it."""
    session = started(scopes)
    session.during(scopes, "0 keep 3", "1 library 2")
    samples = {a for g in session.report()["groups"] for a in g["examples"]}
    listed = session.mmleak("block-list", 1) + session.mmleak("block-list", 2)
    blocks = set(re.findall(r"0x[0-9a-f]+", listed))
    assert blocks >= samples and len(blocks & {hex(int(b, 16)) for b in blocks}) >= 5, listed
    block = session.do("output/x workers[0].held[1]")
    said = session.mmleak("who-points-at", block)
    place = session.do("output/x &workers[0].held[1]")
    assert place in said and "workers + " in said and "block of 104 bytes" in said, said
    refused(session.mmleak("block-list", 77), "77|entries|2")
    refused(session.mmleak("who-points-at", "nonsense"), "nonsense")
    leave_untouched(session, scopes)


def test_run_for_a_while(scopes, gdb):
    """Starts, continues, stops the target when the time is over, and reports."""
    session = gdb(scopes)
    running = session.begin("mmleak run 1500ms")
    wait_for(lambda: tracers(scopes.pid) and scopes.ask("0 keep 5"), "an answer")
    said = session.finish_command(running)
    assert "5 blocks" in said, said
    assert session.value("1") == 1
    refused(session.mmleak("run soon"), "soon")
    leave_untouched(session, scopes)


def test_warnings_are_shown(scopes, gdb):
    """The program's messages, once."""
    session = gdb(scopes)
    session.mmleak("start", "--in", "no_such_function_at_all")
    session.mmleak("status")
    session.mmleak("stop")
    assert session.said_since(0).count("not found in the target: in no_such_function_at_all") == 1
    leave_untouched(session, scopes)


# --- wrong arguments ---


WRONG = [
    ("start --famly libc", "--famly"),
    ("start --family nosuch", "nosuch"),
    ("start --sizes huge", "huge"),
    ("start --probe 'grab malloc'", "grab"),
    ("start --in", "--in"),
    ("start -o /no/such/folder/t.mmt", "/no/such/folder"),
    ("start --format json", "--format"),
    ("start -p 1", "-p"),
    ("start 'unbalanced", "unbalanced"),
    ("begin", "begin"),
]


def test_wrong_options(scopes, gdb):
    """Reported in the program's own words; nothing is planted, and the next watch works."""
    session = gdb(scopes)
    for words, named in WRONG:
        refused(session.mmleak(words), named)
        wait_for(lambda: not engines(session.pid), "no engine is left")
    session.mmleak("start")
    session.during(scopes, "0 keep 2")
    assert_totals(session.report(), allocs=2, frees=0)
    leave_untouched(session, scopes)


def test_settings_are_defaults(scopes, gdb):
    session = gdb(scopes)
    session.do("set mmleak sizes exact")
    session.do("set mmleak depth 2")
    assert "exact" in session.do("show mmleak sizes") and "2" in session.do("show mmleak depth")
    assert "program" in session.do("show mmleak")
    session.mmleak("start")
    session.during(scopes, "0 keep 5")
    (group,) = session.report()["groups"]
    assert group["bytes"] == 500 and len({frame["pc"] for frame in group["stack"]}) == 2
    session.mmleak("stop")
    session.do("set mmleak program /bin/true")
    refused(session.mmleak("start"), "/bin/true")
    leave_untouched(session, scopes)


def test_gdbs_own_unwinder(scopes, gdb):
    """gdb's stacks are the same as mmattach's, up to main, which is all that gdb shows."""
    session = gdb(scopes)
    session.mmleak("start")
    session.during(scopes, "0 library 3", "1 grow 2")
    ours = session.report()
    session.mmleak("stop")
    session.do("set mmleak unwinder gdb")
    session.mmleak("start")
    session.during(scopes, "0 library 3", "1 grow 2")
    theirs = session.report()
    assert stacks(ours) == stacks(theirs)
    leave_untouched(session, scopes)


# gdb's own function for unwinders in Python, with a counter; and an unwinder of the user's, which handles no
# frame.
COUNT = """python
asked, seen, gdbs = [], [], gdb._execute_unwinders
def counting(frame):
    asked.append(1)
    return gdbs(frame)
gdb._execute_unwinders = counting
class Users:
    name, enabled = "users", True
    def __call__(self, frame):
        seen.append(1)
end
"""


def counted(session, name):
    return int(session.do(f"python print(len({name}))"))


def test_no_python_of_gdbs_own_while_the_target_runs(scopes, gdb):
    """A Ctrl-C raised in that Python makes gdb drop its current event: a thread that has just forked, and its
    child, stay stopped. So gdb's function is not called while no unwinder needs it; it is restored as soon as
    one is registered, and after the watch.
    """
    session = gdb(scopes)
    session.do(COUNT)
    session.do("maint flush register-cache")
    session.do("backtrace 1")
    session.mmleak("start")
    before = counted(session, "asked")
    assert before > 0
    session.during(scopes, "0 keep 5")
    session.during(scopes, "0 keep 5")
    assert counted(session, "asked") == before
    session.do("python gdb.frame_unwinders.append(Users())")
    session.during(scopes, "0 keep 5")
    assert counted(session, "asked") > before and counted(session, "seen") > 0
    session.do("python gdb.frame_unwinders.pop()")
    session.during(scopes, "0 keep 5")
    assert [group["blocks"] for group in session.report()["groups"]] == [20]
    session.mmleak("stop")
    assert session.do("python print(gdb._execute_unwinders is counting)") == "True"
    leave_untouched(session, scopes)


def stacks(got):
    found = [[frame["function"] for frame in group["stack"]] for group in got["groups"]]
    return sorted(names[:names.index("main") + 1] if "main" in names else names for names in found)


# --- help ---


def test_help_and_completion(gdb):
    session = gdb()
    assert session.do("complete mmleak st").split("\n") == ["mmleak start", "mmleak status", "mmleak stop"]
    words = ["start", "stop", "run", "status", "report", "save", "reset", "block-list", "who-points-at", "hand-over"]
    everything = session.do("help mmleak")
    for word in words:
        said = session.do(f"help mmleak {word}")
        assert word in everything and len(said) > 60 and "not documented" not in said, said
    for name in ("program", "depth", "stack-bytes", "sizes", "family", "unwinder", "trace-dir"):
        assert "not documented" not in session.do(f"help set mmleak {name}")
        assert name in session.do("help set mmleak")
    assert "mmleak start --family" in session.do("complete mmleak start --fam")
    assert "glusterfs" in session.do("complete mmleak start --family gl")


# --- where nothing can be watched ---


def test_no_process(gdb):
    refused(gdb().mmleak("start"), "no process|not being run|no program|attach")


def test_core_file(scopes, plain_gdb, gdb, tmp_path):
    """Clear messages about what cannot be done with it."""
    core = tmp_path / "core"
    session = plain_gdb()
    session.do(f"attach {scopes.pid}")
    session.do(f"generate-core-file {core}")
    session.leave()
    session = gdb()
    session.do(f"core-file {core}")
    refused(session.mmleak("start"), "core")
    refused(session.mmleak("report"), "core|start")
    assert_untouched(scopes)


def test_remote_target(scopes, gdb):
    """gdbserver: another process traces the target; refused, and the target is left alone."""
    if not shutil.which("gdbserver"):
        pytest.skip("gdbserver is not installed")
    server = Program(["gdbserver", "--attach", "--once", "127.0.0.1:0", scopes.pid])
    try:
        port = re.search(r"port (\d+)", server.err.find(r"Listening on port \d+"))[1]
        session = gdb()
        session.do(f"target remote 127.0.0.1:{port}")
        refused(session.mmleak("start"), "remote")
        assert not engines(session.pid)
        session.do("detach")
        server.wait()
        assert_untouched(scopes)
    finally:
        server.kill()


def test_a_program_that_has_not_been_started(gdb):
    """A program that has not been started."""
    session = gdb()
    session.do(f"file {VICTIMS / 'scopes'}")
    refused(session.mmleak("start"), "no process|not being run|attach|run")


def test_a_gdb_without_python():
    """Debian's gdb-minimal (./run check fetches it) reads the file as gdb commands: its first line reports
    that Python is missing."""
    if not MINIMAL.exists():
        pytest.skip("optional: no build/gdb-minimal: it could not be fetched")
    done = subprocess.run([MINIMAL, "-nx", "-batch", "-x", SCRIPT], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=30, env=ENVIRONMENT)
    assert "Python" in done.stderr and "Undefined command" not in done.stderr, done.stderr


def test_batch(victim, tmp_path):
    """gdb's own way for scripts: attach, watch for a while, report, leave."""
    target = victim("hot", 1)
    done = subprocess.run(["gdb", "-nx", "-batch", "-p", str(target.pid), "-ex", f"source {SCRIPT}", "-ex",
                           f"set mmleak program {MMATTACH}", "-ex", "mmleak run 300ms", "-ex", "mmleak save " + str(tmp_path / "t.mmt")],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    got = json.loads(report(tmp_path / "t.mmt"))
    assert got["totals"]["allocs"] > 10 and got["run"]["engine"] == "gdb" and lost(got) == {}
    assert_untouched(target)
    target.end()
