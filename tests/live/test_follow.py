# SPDX-License-Identifier: MIT
"""mmattach report --follow: interim reports of a trace while another mmattach writes it, and then its report as
always."""
import os
import re
import subprocess

from harness import MMATTACH, Program, wait_for
from test_trace import pieces_of
from untouched import assert_untouched, wait_untraced


def follow(trace, *args):
    return Program([MMATTACH, "report", "--follow", "--interval", "1s", *args, trace], stdin=subprocess.DEVNULL)


def report(*args):
    return subprocess.run([MMATTACH, "report", *args], check=True, capture_output=True, text=True).stdout


def begin(attach, target, trace, *args):
    watch = attach(target, "-o", trace, *args)
    first = trace if "--rotate" not in args else trace.with_suffix(".0001.mmt")
    wait_for(first.exists, "the trace has begun")
    return watch


def last_report(text):
    """What comes after the interim reports."""
    parts = re.split(r"^(?=leaky_service \(\d+\): )", text, flags=re.M)
    return parts[-1], [re.search(r"^interim report (\d+): the watch goes on$", p, re.M)[1] for p in parts[1:-1]]


def test_a_trace_that_grows(victim, attach, tmp_path):
    target, trace = victim("leaky_service"), tmp_path / "a.mmt"
    watch = begin(attach, target, trace)
    f = follow(trace)
    assert f.out.find("^interim report 2"), f.said()
    watch.finish()
    assert f.wait() == 0 and f.said() == ""
    last, rounds = last_report(f.out.text())
    assert last.strip("\n") == report(trace).strip("\n")
    assert rounds == [str(i + 1) for i in range(len(rounds))] and len(rounds) >= 2
    assert "cache_insert" in f.out.text().split("interim report 2")[1]
    assert_untouched(target)


def test_a_trace_that_is_complete(victim, attach, tmp_path):
    trace = tmp_path / "a.mmt"
    attach(victim("leaky_service"), "-o", trace, "-d", "1s").wait()
    f = follow(trace)
    assert f.wait() == 0 and f.out.text() + "\n" == report(trace)


def test_a_writer_that_is_killed(victim, attach, tmp_path):
    target, trace = victim("leaky_service"), tmp_path / "a.mmt"
    watch = begin(attach, target, trace)
    f = follow(trace)
    assert f.out.find("^interim report 1"), f.said()
    watch.process.kill()
    assert f.wait() == 0
    last, _ = last_report(f.out.text())
    assert last.strip("\n") == report(trace).strip("\n")
    assert "mmattach was killed" in last
    wait_untraced(target.pid, 60)
    assert_untouched(target)


def test_ctrl_c_ends_the_view_and_not_the_watch(victim, attach, tmp_path):
    target, trace = victim("leaky_service"), tmp_path / "a.mmt"
    watch = begin(attach, target, trace)
    f = follow(trace)
    assert f.out.find("^interim report 1"), f.said()
    os.kill(f.pid, 2)
    assert f.wait() == 0
    assert "still writing" in last_report(f.out.text())[0]
    assert watch.alive()
    watch.finish()
    assert_untouched(target)


def test_pieces(victim, attach, tmp_path):
    target = victim("leaky_service")
    watch = begin(attach, target, tmp_path / "a.mmt", "--rotate", "64K")
    f = follow(tmp_path / "a.0001.mmt")
    wait_for((tmp_path / "a.0003.mmt").exists, "three pieces")
    watch.finish()
    assert f.wait() == 0 and f.said() == ""
    last, _ = last_report(f.out.text())
    assert last.strip("\n") == report(*pieces_of(tmp_path / "a.mmt")).strip("\n")


def test_a_sampled_watch(victim, attach, tmp_path):
    target, trace = victim("leaky_service"), tmp_path / "a.mmt"
    watch = begin(attach, target, trace, "--budget", "2%")
    f = follow(trace)
    assert f.out.find("^interim report 3"), f.said()
    watch.finish()
    assert f.wait() == 0
    assert "budget" in f.out.text()


def test_other_formats_have_only_the_last_report(victim, attach, tmp_path):
    target, trace = victim("leaky_service"), tmp_path / "a.mmt"
    watch = begin(attach, target, trace)
    followers = [follow(trace, "--format", form) for form in ("json", "folded", "pprof")]
    seen = trace.stat().st_size
    wait_for(lambda: trace.stat().st_size > 2 * seen + 1000, "it grows")
    watch.finish()
    for f in followers:
        assert f.wait() == 0
        form = f.argv[f.argv.index("--format") + 1]
        f.out.thread.join(60)
        assert b"".join(f.out.raw) == subprocess.run([MMATTACH, "report", "--format", form, trace], check=True,
                                                     capture_output=True).stdout


def test_into_a_file(victim, attach, tmp_path):
    target, trace, out = victim("leaky_service"), tmp_path / "a.mmt", tmp_path / "out.txt"
    watch = begin(attach, target, trace)
    f = follow(trace, "-o", out)
    wait_for(lambda: out.exists() and "interim report" in out.read_text(), "an interim report")
    watch.finish()
    assert f.wait() == 0
    assert out.read_text() == report(trace)


def test_what_cannot_be_followed(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, why in ((tmp_path / "pipe", "it is not a file"), ("/dev/stdin", "it is not a file"),
                      (tmp_path / "nothing", "No such file"), (__file__, "is not a trace")):
        f = follow(path)
        assert f.wait() == 1 and why in f.said(), path
        assert f.out.text() == ""
