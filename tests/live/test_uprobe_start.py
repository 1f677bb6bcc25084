# SPDX-License-Identifier: MIT
"""`mmattach --engine uprobe -- PROGRAM`: a keeper holds the program until its modules are mapped, and leaves; from
there on nothing traces it. What it does from its first constructor on is seen, as by ptrace."""
import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import signal
import subprocess

import pytest

from engines import has_uprobe, same_report
from harness import MMATTACH, VICTIMS, Victim, children, comm, hits, lost, random_moment, rounds, wait_for
from untouched import assert_code_whole, tracers
from test_uprobe import WAYS

EARLY = ["--probe", "alloc early_alloc size=arg1", "--probe", "free early_free"]
PR_SET_CHILD_SUBREAPER = 36


@pytest.fixture(autouse=True, scope="module")
def _engine():
    if not has_uprobe():
        pytest.skip("clang or libbpf-dev is not installed")


@pytest.fixture
def run(watch, tmp_path):
    """run(ENGINE, PROGRAM, ARG..., options=[...]): (mmattach when it has ended, its report)."""
    def start(engine, *program, options=(), **kwargs):
        report = tmp_path / f"report-{engine}"
        w = watch("--report", report, "--engine", engine, "--verdicts", "no", *options, "--", *program, **kwargs)
        w.wait()
        return w, json.loads(report.read_text())

    return start


@pytest.mark.parametrize("way", WAYS)
def test_constructors(run, way):
    """Calls before main are seen; and a program that ends within the time that the keeper takes to leave."""
    for _ in range(rounds(1, 50)):
        ended, report = run(way, VICTIMS / "early", options=EARLY)
        assert ended.process.returncode == 3, ended.said()
        told = json.loads(ended.out.text())
        assert hits(report, "alloc early_alloc") == hits(report, "free early_free") == told["calls"]
        assert report["run"]["engine"] == "uprobe" and lost(report) == {}


@pytest.mark.parametrize("program", [
    [VICTIMS / "early"], [VICTIMS / "hot", "0"], [VICTIMS / "hot_static", "0"], [VICTIMS / "hot_static_pie", "0"],
    [VICTIMS / "nested"], ["/bin/ls", "-d", "/"], ["/bin/sh", "-c", "kill -9 $$"], ["/bin/sh", "-c", "exit 7"],
], ids=lambda program: " ".join(map(str, program)).rpartition("/victims/")[2])
def test_the_report_is_that_of_ptrace(run, program):
    seen = [run(engine, *program, options=["--sizes", "exact"], stdin=subprocess.DEVNULL) for engine in ("ptrace", "uprobe")]
    (by_ptrace, one), (by_uprobe, other) = seen
    assert by_ptrace.process.returncode == by_uprobe.process.returncode
    assert one["totals"]["allocs"] > 0 and other["run"]["engine"] == "uprobe"
    assert same_report(one, other) == []


def test_a_library_is_missing(run, tmp_path):
    """The program ends in its dynamic linker: with its own status, and an empty report."""
    program = tmp_path / "needs"
    (tmp_path / "lib.c").write_text("int f(void) { return 0; }\n")
    (tmp_path / "main.c").write_text("int f(void); int main(void) { return f(); }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "libgone.so", tmp_path / "lib.c"], check=True)
    subprocess.run(["cc", "-o", program, tmp_path / "main.c", f"-L{tmp_path}", "-lgone"], check=True)
    for engine in ("ptrace", "uprobe"):
        ended, report = run(engine, program)
        assert ended.process.returncode == 127 and "libgone.so" in ended.err.text()
        assert report["totals"]["allocs"] == 0


def test_nothing_traces_it(watch):
    w = watch("--engine", "uprobe", "--verdicts", "no", "--", "/bin/sh", "-c", "read line; exit 4", stdin=subprocess.PIPE)
    w.wait_watching()
    [pid] = wait_for(lambda: [p for p in children(w.pid) if comm(p) == "sh"], "the program")
    assert not tracers(pid) and not [p for p in children(w.pid) if comm(p) == "mm-keeper"]
    w.interrupt()
    w.err.find("^no such line", 0.2)
    wait_for(lambda: _whole(pid), "the probes are out", 10)
    w.process.stdin.close()
    assert w.wait() == 4
    assert json.loads(w.out.text())["totals"]["allocs"] > 0


def _whole(pid):
    try:
        assert_code_whole(pid)
        return True
    except AssertionError:
        return False


def test_killed_while_the_program_starts(tmp_path):
    """kill -9 of mmattach at any moment: the program was not started, or it goes on to its own end."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    ended = []
    try:
        for turn in range(rounds(6, 500)):
            out = tmp_path / f"out{turn}"
            with out.open("wb") as file:
                run = subprocess.Popen([MMATTACH, "-q", "--engine", "uprobe", "--", VICTIMS / "early"], stdout=file,
                                       stderr=subprocess.DEVNULL, process_group=0)
            random_moment(0.4)
            run.kill()
            run.wait()
            ended.append((_statuses(run.pid), out.read_text()))
    finally:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
    for statuses, text in ended:
        # SIGKILL: a process in which attaching is rehearsed ends with us; a trap that is not served is another signal
        assert all(os.WIFEXITED(status) or os.WTERMSIG(status) == signal.SIGKILL for status in statuses), (statuses, text)
        assert not text.startswith("{") or json.loads(text.splitlines()[0]) == {"calls": 27}
        assert 3 << 8 not in statuses or text


def _statuses(group):
    """How the processes ended that mmattach has left in its process group. A keeper that was just forked leaves the
    group; a call that waits for the group is not woken by that."""
    found = []

    def all_ended():
        try:
            pid, status = os.waitpid(-group, os.WNOHANG)
        except ChildProcessError:
            return True
        if pid:
            found.append(status)
        return False

    wait_for(all_ended, f"process group {group} is empty")
    return found


def test_stopped_while_the_program_starts(tmp_path):
    """Once it is exec'ed it waits for us ten seconds at most; then it runs, and is not watched."""
    for turn in range(rounds(1, 20)):
        out = tmp_path / f"out{turn}"
        with out.open("wb") as file:
            run = subprocess.Popen([MMATTACH, "-q", "--engine", "uprobe", "--", VICTIMS / "early"], stdout=file,
                                   stderr=subprocess.PIPE, process_group=0)
        random_moment(0.3)
        run.send_signal(signal.SIGSTOP)
        wait_for(lambda: out.read_text() or not any(comm(p) == "early" for p in children(run.pid)), "the program runs", 30)
        run.send_signal(signal.SIGCONT)
        run.communicate(timeout=60)
        assert out.read_text().startswith('{"calls": 27}')


def test_a_shadow_stack_is_asked_for(watch, tmp_path):
    environment = {**os.environ, "GLIBC_TUNABLES": "glibc.cpu.x86_shstk=on"}
    done = tmp_path / "done"
    w = watch("--engine", "uprobe", "--", "/bin/touch", done, env=environment, json_report=False)
    assert w.wait() == 1 and "shadow stack" in w.err.text() and not done.exists()
    w = watch("--engine", "auto", "--", "/bin/touch", done, env=environment)
    assert w.wait() == 0 and done.exists()
    assert json.loads(w.out.text())["run"]["engine"] == "ptrace"


def test_without_the_rights(tmp_path):
    """The program is not started; auto starts it, by ptrace."""
    done = tmp_path / "done"
    caps = ["setpriv", "--bounding-set", "-bpf,-perfmon,-sys_admin", "--inh-caps", "-bpf,-perfmon,-sys_admin"]
    said = subprocess.run([*caps, MMATTACH, "--engine", "uprobe", "--", "touch", done], capture_output=True, text=True)
    assert said.returncode == 1 and "CAP_BPF and CAP_PERFMON" in said.stderr and not done.exists(), said.stderr
    said = subprocess.run([*caps, MMATTACH, "--engine", "auto", "--format", "json", "--", "touch", done],
                          capture_output=True, text=True)
    assert said.returncode == 0 and done.exists(), said.stderr
    assert json.loads(said.stdout)["run"]["engine"] == "ptrace"


def test_auto(run):
    """At the end of the program ptrace holds it, for verdicts."""
    assert run("auto", VICTIMS / "early")[1]["run"]["engine"] == "ptrace"


# --- where the kernel takes the keeper's int3 for its own ---

EVENTS = pathlib.Path("/sys/kernel/tracing/uprobe_events")


@pytest.fixture
def another_watch():
    """Of another process, with a probe where the keeper's trap will be: in the same file, the dynamic linker."""
    target = Victim("hot", "1")
    watch = subprocess.Popen([MMATTACH, "-p", str(target.pid), "--engine", "uprobe", "--verdicts", "no", "-q"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: not _whole(target.pid), "its probes")
    yield
    watch.send_signal(signal.SIGINT)
    watch.wait(30)
    target.kill()


@contextlib.contextmanager
def probe_of_all(file, function):
    """A probe of each process that runs @file, whose code is mapped at the addresses of its symbols."""
    symbols = subprocess.run(["nm", file], capture_output=True, text=True, check=True).stdout.splitlines()
    [offset] = [line.split()[0] for line in symbols if line.endswith(f" T {function}")]
    name = f"mmattach{os.getpid()}"
    subprocess.run(["sh", "-c", f"echo 'p:{name}/a {file}:0x{offset}' >> {EVENTS}"], check=True)
    on = EVENTS.parent / f"events/{name}/enable"
    on.write_text("1")
    try:
        yield
    finally:
        on.write_text("0")
        subprocess.run(["sh", "-c", f"echo '-:{name}/a' >> {EVENTS}"], check=True)


def test_beside_another_watch(run, another_watch):
    ended, report = run("uprobe", VICTIMS / "early", options=EARLY)
    assert hits(report, "alloc early_alloc") == json.loads(ended.out.text())["calls"]


def test_beside_another_watch_and_another_tool(run, another_watch, tmp_path):
    """The process has a probe already, so its int3 in the dynamic linker is taken for that of the other watch: it is
    held at its first instruction only, after the constructors of its libraries, which is reported."""
    if not EVENTS.exists():
        pytest.skip("optional: no tracefs")
    program = shutil.copy(VICTIMS / "early", tmp_path / "early")
    with probe_of_all(program, "main"):
        ended, report = run("uprobe", program, options=EARLY)
    assert ended.process.returncode == 3, ended.said()
    assert any("were seen only from some moment after" in note for note in report["notes"]), report["notes"]
    assert 0 < hits(report, "alloc early_alloc") <= json.loads(ended.out.text())["calls"]
