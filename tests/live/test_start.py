# SPDX-License-Identifier: MIT
"""`mmattach -- PROGRAM ARG...`: watched from its first instruction, and otherwise as if started by hand."""
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import termios

import pytest

from harness import LIMIT, MMATTACH, VICTIMS, hits, lost, rounds, wait_for


@pytest.fixture
def run(watch, tmp_path):
    """run(PROGRAM, ARG..., options=[...]): (mmattach when it has ended, its report)."""
    def start(*program, options=(), **kwargs):
        report = tmp_path / "report"
        w = watch("--report", report, *options, "--", *program, **kwargs)
        w.wait()
        return w, json.loads(report.read_text()) if report.exists() else None

    return start


@pytest.mark.parametrize("script, status", [("exit 0", 0), ("exit 7", 7), ("exit 255", 255)])
def test_status_is_the_programs(run, script, status):
    ended, report = run("/bin/sh", "-c", script)
    assert ended.process.returncode == status, ended.said()
    assert report["totals"]["allocs"] >= 0


@pytest.mark.parametrize("sig", [signal.SIGSEGV, signal.SIGKILL, signal.SIGTERM])
def test_death_by_signal(run, sig):
    """The status is as in a shell."""
    ended, _ = run("/bin/sh", "-c", f"kill -{int(sig)} $$")
    assert ended.process.returncode == 128 + sig, ended.said()


def test_from_the_first_instruction(run):
    """Calls before main, before any constructor, are seen."""
    ended, report = run(VICTIMS / "early", options=["--probe", "alloc early_alloc size=arg1",
                                                     "--probe", "free early_free"])
    assert ended.process.returncode == 3, ended.said()
    told = json.loads(ended.out.text())
    assert hits(report, "alloc early_alloc") == told["calls"]
    assert hits(report, "free early_free") == told["calls"]
    assert report["totals"]["live_blocks"] == 0
    assert lost(report) == {}


def test_it_is_not_killed_first_if_memory_runs_out(run):
    ended, _ = run("/bin/cat", "/proc/self/oom_score_adj")
    assert ended.out.text() == pathlib.Path("/proc/self/oom_score_adj").read_text().strip()


def test_input_and_output_are_its_own(run, tmp_path):
    words = tmp_path / "words"
    words.write_text("one\ntwo\n")
    with words.open() as stdin:
        ended, _ = run("/bin/cat", stdin=stdin)
    assert ended.process.returncode == 0
    assert ended.out.text() == "one\ntwo"


def test_found_by_path(run):
    ended, _ = run("sh", "-c", "exit 5")
    assert ended.process.returncode == 5


def test_program_that_executes_another(run):
    """A shell that execs another program: the exit status is still forwarded."""
    ended, _ = run("/bin/sh", "-c", "exec /bin/sh -c 'exit 6'")
    assert ended.process.returncode == 6, ended.said()


def test_program_with_children(run):
    ended, report = run("/bin/sh", "-c", "/bin/true; /bin/true | /bin/cat; (exit 4)")
    assert ended.process.returncode == 4, ended.said()
    assert report["totals"]["allocs"] > 0


@pytest.mark.parametrize("program, reason", [
    ("/no/such/program", "No such file"), ("no-such-program-in-path", "No such file|not found"), ("/etc/passwd", "denied|Exec format"),
])
def test_program_that_cannot_start(watch, program, reason):
    w = watch("--", program)
    assert w.wait() in (1, 126, 127)
    assert w.err.find(reason) and program in w.err.text()


def test_program_that_cannot_run_leaves_the_older_trace(run, tmp_path):
    trace = tmp_path / "old.mmt"
    trace.write_bytes(b"of an older watch")
    ended, _ = run("/no/such/program", options=["-o", trace])
    assert ended.process.returncode != 0
    assert trace.read_bytes() == b"of an older watch"


def test_exact_under_start(run):
    """A whole life counted: the allocations and frees between start and end of a single-threaded program."""
    ended, report = run(VICTIMS / "hot", "0", stdin=subprocess.DEVNULL)
    assert ended.process.returncode == 0, ended.said()
    assert lost(report) == {}
    assert report["totals"]["unmatched_frees"] == 0, "a block was released whose birth was not seen"
    assert report["totals"]["double_frees"] == 0


def test_same_process_group_and_parent(run):
    """Job control of the shell that started us reaches the program."""
    ended, _ = run("/bin/sh", "-c", "ps -o ppid=,pgid= -p $$ || cat /proc/$$/stat", start_new_session=True)
    fields = ended.out.text().split()
    ppid, pgid = (fields[3], fields[4]) if len(fields) > 2 else fields
    assert (int(ppid), int(pgid)) == (ended.pid, ended.pid)


# --- on a terminal ---

class Terminal:
    """mmattach -- PROGRAM as the foreground job of its own terminal."""

    def __init__(self, *argv):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execv(MMATTACH, [str(MMATTACH), *argv])
        self.output = b""

    def wait_output(self, text):
        def there():
            self.output += os.read(self.fd, 4096)
            return text in self.output

        wait_for(there, f"{text!r} on the terminal; there is {self.output!r}")

    def press(self, key):
        os.write(self.fd, termios.tcgetattr(self.fd)[6][key])

    def status(self):
        """Its exit status; its remaining output is read meanwhile."""
        def ended():
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            return (status,) if pid else None

        os.set_blocking(self.fd, False)

        def drained_and_ended():
            try:
                self.output += os.read(self.fd, 4096)
            except OSError:
                pass
            return ended()

        return os.waitstatus_to_exitcode(wait_for(drained_and_ended, "its end", LIMIT)[0])


@pytest.fixture
def terminal():
    started = []

    def start(*argv):
        started.append(Terminal(*argv))
        return started[-1]

    yield start
    for t in started:
        os.close(t.fd)  # hangs up on programs that still run


WAITS = "trap 'echo got-int; exit 5' INT; test -t 0 && test -t 1 && echo on-terminal; while :; do sleep 0.05; done"


def test_terminal_and_ctrl_c(terminal, tmp_path):
    """Ctrl-C reaches the program, and the report is made."""
    report = tmp_path / "report"
    t = terminal("-q", "--format", "json", "--report", str(report), "--", "/bin/sh", "-c", WAITS)
    t.wait_output(b"on-terminal")
    t.press(termios.VINTR)
    assert t.status() == 5, t.output
    assert b"got-int" in t.output
    assert json.loads(report.read_text())["totals"]["allocs"] > 0


def test_a_number_that_is_no_process(terminal, victim):
    """Answered on the terminal: a number too large for a pid is not truncated to another process' pid."""
    target = victim("exact")
    t = terminal()
    t.wait_output(b"which process?")
    os.write(t.fd, b"%d\n" % (target.pid + 2**32))
    t.wait_output(b"no process is called")
    target.end()


def blocks_by_verdict(report):
    return sorted((group["verdict"], group["bytes"]) for group in report["groups"])


@pytest.mark.parametrize("mode", ["returns", "exits", "ends"])
def test_old_words_at_the_end_are_no_roots(run, mode):
    """As in valgrind: stale words of frames that are gone, at the addresses of exit's frames, keep no block
    reachable; blocks that main still has are reachable."""
    done = subprocess.run(["valgrind", "--leak-check=full", "--show-leak-kinds=all", VICTIMS / "dying", mode], capture_output=True, text=True, check=False)
    kinds = {"definitely lost": "definite", "still reachable": "reachable", "indirectly lost": "indirect", "possibly lost": "possible"}
    expected = sorted((kinds[kind], int(size.replace(",", "")))
                      for size, kind in re.findall(r"([\d,]+) bytes in 1 blocks are ([a-z ]+) in loss", done.stderr))
    assert len(expected) == (3 if mode == "returns" else 5)
    for _ in range(rounds(3, 50)):
        _, report = run(VICTIMS / "dying", mode, options=["--sizes", "exact"])
        assert blocks_by_verdict(report) == expected


def test_what_is_said_of_a_program_that_begins(run, tmp_path):
    """Its libraries are not there yet: no number of their functions is said. The dynamic loader's start has no
    caller, and a stack that reaches it is whole. Where nothing is live, nothing is said of verdicts."""
    w, report = run(VICTIMS / "cxxlosses", stdin=subprocess.DEVNULL)
    assert re.search(r"watching \d+ \(cxxlosses\), from its start, 1 thread", w.said())
    assert report["run"]["stacks_cut"] == report["run"]["stacks_lost"] == 0
    assert any("call_init" in f["function"] or "ld-linux" in f["module"] for g in report["groups"] for f in g["stack"])
    said = subprocess.run([MMATTACH, "--", "/bin/true"], capture_output=True, text=True, check=True).stdout
    assert ": 0 allocations" in said and "verdicts" not in said, said


def test_a_program_that_ends_at_once(run):
    """It may have ended before mmattach reports that it watches: there are verdicts all the same."""
    for _ in range(rounds(12, 300)):
        _, report = run(VICTIMS / "dying", "returns")
        assert report["run"]["verdicts"]["why_not"] is None
        assert [verdict for verdict, _ in blocks_by_verdict(report)] == ["definite"] * 3


def test_what_holds_a_block_at_the_end(watch):
    """When the report can be read, the memory is gone: so the question is asked beforehand, by a verdict."""
    w = watch("--who-points-at", "reachable", "--sizes", "exact", "--", VICTIMS / "dying", "exits", json_report=False)
    assert w.wait() == 0
    text = w.out.text()
    assert re.search(r"\n0x[0-9a-f]+ is the beginning of a block of 2000 bytes, \[\d+\] [^,]+, still reachable\n  stack of thread \d+, sp\+0x[0-9a-f]+ +points at its beginning$", text), text
    w = watch("--who-points-at", "possible", "--", VICTIMS / "dying", "returns", json_report=False)
    assert w.wait() == 0
    assert w.out.text().endswith("\nno block that was watched is possible")
