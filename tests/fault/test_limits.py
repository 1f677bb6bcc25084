# SPDX-License-Identifier: MIT
"""Too little of something: memory, open files, locked memory, room for the report, the standard streams.

At any limit mmattach either works or reports what it lacks and exits with 1; it is never killed by a signal,
never hangs, and the target continues as it was found.
"""
import json
import os
import pathlib
import resource
import signal
import subprocess

import pytest

from copies import allow_files, copy_at_a_trap, copy_without_files
from engines import has_uprobe
from faults import SANITIZED, assert_refuses, assert_says, assert_unharmed, report
from harness import FULL, MMATTACH, hits, lost, wait_for
from scans import scan
from untouched import assert_untouched, state_letters, tracers

MB = 1 << 20


def limited(what, value):
    """For preexec_fn."""
    return lambda: resource.setrlimit(what, (value, value))


def assert_works_or_says(run, target, *patterns):
    """@run ends by itself: with a report, or with status 1 and a reason."""
    status, said = run.wait(), run.err.text()
    assert status in (0, 1), f"status {status}: {said}"
    assert_unharmed(target)
    if status == 0:
        assert hits(report(run), "alloc malloc") > 0
    else:
        assert_says(said, *patterns)


# --- memory ---

PAGE = resource.getpagesize()
CLOSE = range(-3, 2)  # pages around what the keeper uses


def keeper_bytes(watch, target):
    """How much memory a keeper has in the middle of a watch."""
    run = watch("-p", target.pid).wait_watching()
    pages = int(pathlib.Path(f"/proc/{run.keeper()}/statm").read_text().split()[0])
    run.finish()
    return pages * PAGE


if not SANITIZED:
    # with 16 the dynamic loader has no room for the libraries, and the program does not begin
    @pytest.mark.parametrize("mb", [20, 24, 28, 40, 48, 64, 120] if not FULL else range(20, 128, 2))
    def test_little_memory(victim, watch, mb):
        target = victim("hot", 2, 3)
        run = watch("-p", target.pid, "-d", "200ms", preexec_fn=limited(resource.RLIMIT_AS, mb * MB))
        assert_works_or_says(run, target, "memory")

    @pytest.mark.parametrize("mb", range(40, 160, 8) if not FULL else range(24, 160))
    def test_little_memory_for_a_scan(victim, mb):
        """For whatever there is no room: the copy, its tables, the stacks of the threads that make it."""
        target = victim("hot", 2, 3)
        done = scan("-p", target.pid, preexec_fn=limited(resource.RLIMIT_AS, mb * MB))
        assert done.status in (0, 1), done.err
        if done.status == 1:
            assert_says(done.err, "memory")
        assert_unharmed(target)

    @pytest.mark.parametrize("more", CLOSE)
    def test_just_enough_memory(victim, watch, more):
        """The keeper has what it needs, but no more: its stack must not have to grow once it has begun."""
        target = victim("hot", 2, 3)
        size = keeper_bytes(watch, target) + more * PAGE
        run = watch("-p", target.pid, "-d", "200ms", preexec_fn=limited(resource.RLIMIT_AS, size))
        assert_works_or_says(run, target, "memory|keeper ended")

    def test_keeper_needs_nothing_more(victim, attach):
        """Once it watches, it allocates no more memory, up to its end: whatever happens, it can leave."""
        target = victim("hot", 2, 3)
        run = attach(target)
        pages = int(pathlib.Path(f"/proc/{run.keeper()}/statm").read_text().split()[0])
        resource.prlimit(run.keeper(), resource.RLIMIT_AS, (pages * PAGE, pages * PAGE))
        target.rate()
        assert hits(run.finish(), "alloc malloc") > 0
        assert_unharmed(target)

    def test_memory_runs_out(victim, attach):
        """In the middle of a watch: it ends early, reports that, and prints the report so far."""
        target = victim("grower")
        run = attach(target, "--stack-bytes", "0")
        size = int(pathlib.Path(f"/proc/{run.pid}/statm").read_text().split()[0]) * PAGE
        resource.prlimit(run.pid, resource.RLIMIT_AS, (size, size))
        wait_for(lambda: target.ask("leak 500") and not run.alive(), "the end for want of memory", 300)
        assert run.wait() == 1, run.said()
        assert "memory" in run.err.text() + run.out.text()
        assert_untouched(target)
        grown = target.ask("leak 500")["heap"]
        assert target.ask("trim")["heap"] < grown
        target.end()


# --- open files ---

@pytest.mark.parametrize("files", range(4, 24, 1 if FULL else 2))
def test_few_open_files(victim, watch, files):
    target = victim("hot", 2, 3)
    run = watch("-p", target.pid, "-d", "200ms", preexec_fn=limited(resource.RLIMIT_NOFILE, files))
    assert_works_or_says(run, target, "too many open files")


@pytest.mark.skipif(not has_uprobe(), reason="clang or libbpf-dev is not installed")
@pytest.mark.parametrize("files", [10, 20, 22, 24])
def test_few_open_files_for_probes(victim, watch, files):
    """The kernel is not said to refuse a program that it has taken."""
    target = victim("hot", 2, 3)
    run = watch("-p", target.pid, "-d", "200ms", "--engine", "uprobe", preexec_fn=limited(resource.RLIMIT_NOFILE, files))
    assert "refuses" not in assert_refuses(run, target, "too many open files")


@pytest.mark.parametrize("files", [4, 8, 12])
def test_few_open_files_at_start(watch, files):
    run = watch("--", "sh", "-c", "echo ran", preexec_fn=limited(resource.RLIMIT_NOFILE, files))
    status, said = run.wait(), run.err.text()
    assert status in (0, 1), f"status {status}: {said}"
    assert status == 0 or "oo many open files" in said, said


STEPPED = ["--probe", "alloc sse_alloc size=arg1", "--probe", "free sse_free", "--probe", "free step_free"]


def leave_with_files(run):
    """It may open files again, and leaves before it retries what failed without."""
    os.kill(run.keeper(), signal.SIGSTOP)
    allow_files(run.keeper())
    run.interrupt()
    os.kill(run.keeper(), signal.SIGCONT)
    run.wait()


def test_copy_that_cannot_be_cleaned_yet(victim, attach):
    """It is stopped at an instruction that must be stepped, and continues when it can be cleaned; its calls
    do not count for the target."""
    target = victim("indirect")
    run = attach(target, *STEPPED)
    child = copy_at_a_trap(target, run.keeper())
    assert tracers(child) == {run.keeper()}
    allow_files(run.keeper())
    assert json.loads(target.out.take()) == {"status": 0}
    told = target.ask("go 50")
    report = run.finish()
    assert hits(report, "alloc sse_alloc") == told["calls"]["sse_alloc"], report["run"]["probes"]
    assert "could not be cleaned" in json.dumps(report["notes"]) + run.said(), run.said()
    assert_untouched(target)
    target.end()


def test_copy_that_is_cleaned_as_we_leave(victim, attach):
    target = victim("indirect")
    run = attach(target, *STEPPED)
    copy_at_a_trap(target, run.keeper())
    leave_with_files(run)
    assert json.loads(target.out.take()) == {"status": 0}
    assert_untouched(target)
    target.end()


@pytest.mark.parametrize("cleaned", ["before its own int3", "at a trap", "as we leave"])
def test_own_int3_of_a_copy(victim, attach, cleaned):
    """It handles SIGTRAP, and gets each SIGTRAP of its own, whether or not it could be cleaned by then; and
    none of ours."""
    target = victim("indirect")
    run = attach(target, *STEPPED)
    child = copy_without_files(target, run.keeper(), 10, "own")
    wait_for(lambda: state_letters(child) == {"S"}, "the copy has had its first, and waits")
    if cleaned == "before its own int3":
        allow_files(run.keeper())
    os.kill(child, signal.SIGUSR1)
    if cleaned != "before its own int3":
        wait_for(lambda: state_letters(child) == {"t"}, "the copy stands at a trap")
    if cleaned == "as we leave":
        leave_with_files(run)
    else:
        allow_files(run.keeper())
    assert json.loads(target.out.take()) == {"status": 0}
    if cleaned != "as we leave":
        run.finish()
    assert_untouched(target)
    target.end()


def test_copy_whose_module_is_unloaded(victim, attach):
    """In the copy it is not unloaded: the copy continues over traps that are forgotten, although it can never
    be cleaned."""
    target = victim("dl")
    target.ask("open")
    run = attach(target, "--probe", "alloc plug_malloc size=arg1")
    child = copy_without_files(target, run.keeper(), 9)
    wait_for(lambda: state_letters(child) == {"S"}, "the copy waits")
    target.ask("close")
    os.kill(child, signal.SIGUSR1)
    assert target.ask("status") == {"status": 0}
    assert hits(run.finish(), "alloc plug_malloc") == 0
    assert_untouched(target)
    target.end()


UNCLEANED = "1 threads of forked processes were let go with traps"


def test_copy_that_cannot_be_cleaned_as_we_leave(victim, attach):
    """Nothing can be done for the copy any more: that is reported, and it is true; the target itself is
    intact."""
    target = victim("indirect")
    run = attach(target, *STEPPED)
    copy_at_a_trap(target, run.keeper())
    run.interrupt()
    assert run.wait() == 0, run.said()
    notes = report(run)["notes"]
    assert [n for n in notes if UNCLEANED in n] and not [n for n in notes if "could not be lifted" in n], notes
    assert_says(run.err.text(), UNCLEANED)
    assert json.loads(target.out.take())["status"] & 0x7f == signal.SIGTRAP
    assert_untouched(target)
    target.end()


# --- an ordinary user ---

def test_no_locked_memory(ordinary, victim, watch):
    """Locking the keeper in memory, and a higher priority, help, but are not needed."""
    copy, who = ordinary
    target = victim(str(copy("hot")), 2, 3, **who)
    run = watch("-p", target.pid, "-d", "300ms", preexec_fn=limited(resource.RLIMIT_MEMLOCK, 0), **who,
                executable=str(copy("mmattach")))
    assert_works_or_says(run, target, "ptrace_scope")


def test_no_more_processes(ordinary, victim, watch):
    copy, who = ordinary
    if not who:
        pytest.skip("root starts processes without a limit, and only root can become somebody with one")
    target = victim(str(copy("hot")), 2, 3, **who)
    run = watch("-p", target.pid, "-d", "300ms", preexec_fn=limited(resource.RLIMIT_NPROC, 0), **who,
                executable=str(copy("mmattach")))
    assert run.wait() == 1, run.said()
    assert_says(run.err.text(), "temporarily unavailable")
    assert_unharmed(target)


# --- no room for the report ---

def assert_not_written(run, target, *patterns):
    assert run.wait() == 1, f"status {run.process.returncode}: {run.said()}"
    assert_says(run.err.text(), *patterns)
    assert_unharmed(target)


def test_report_to_a_full_disk(victim, watch):
    target = victim("hot", 1)
    run = watch("-p", target.pid, "-d", "200ms", "--report", "/dev/full")
    assert_not_written(run, target, "cannot write the report", "/dev/full", "no space left")


def test_stdout_is_full(victim, watch):
    target = victim("hot", 1)
    with open("/dev/full", "w") as full:
        run = watch("-p", target.pid, "-d", "200ms", stdout=full)
    assert_not_written(run, target, "cannot write the report", "no space left")


def test_stdout_has_no_reader(victim, watch):
    target = victim("hot", 1)
    reader, writer = os.pipe()
    os.close(reader)
    run = watch("-p", target.pid, "-d", "200ms", stdout=writer)
    os.close(writer)
    assert_not_written(run, target, "cannot write the report", "broken pipe")


@pytest.mark.parametrize("size", [0, 100])
def test_files_may_not_grow(victim, watch, tmp_path, size):
    """ulimit -f: the kernel sends a signal, unless it is ignored."""
    target = victim("hot", 1)
    run = watch("-p", target.pid, "-d", "200ms", "--report", tmp_path / "report",
                preexec_fn=limited(resource.RLIMIT_FSIZE, size))
    assert_not_written(run, target, "file too large")
    assert not list(tmp_path.iterdir()), "half a report was left"


@pytest.mark.parametrize("command", ["probes", "repair", "--help", "--version"])
def test_other_results_have_no_room(victim, command):
    """Their output is their purpose."""
    target = victim("hot", 1)
    words = {"probes": ["probes", "-p", str(target.pid)], "repair": ["repair", str(target.pid)]}.get(command, [command])
    with open("/dev/full", "w") as full:
        run = subprocess.run([MMATTACH, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=30)
    assert_unharmed(target)
    assert run.returncode == 1, f"status {run.returncode}, said: {run.stderr!r}"
    assert_says(run.stderr, "no space left")


# --- standard streams that are closed, as in some daemons and cron jobs ---

def closed(*numbers):
    def close():
        for n in numbers:
            os.close(n)
    return close


@pytest.mark.parametrize("numbers", [(1,), (0, 1), (0, 1, 2)])
def test_stdout_is_closed(victim, watch, numbers):
    """The next file that is opened must not become stdout: the report would be written into it."""
    target = victim("hot", 1)
    quiet = {name: subprocess.DEVNULL for n, name in enumerate(("stdin", "stdout", "stderr")) if n in numbers}
    run = watch("-p", target.pid, "-d", "200ms", preexec_fn=closed(*numbers), **quiet)
    status = run.wait()
    assert_unharmed(target)
    assert status == 1, f"status {status}: {run.said()}"
    assert 2 in numbers or assert_says(run.err.text(), "stdout|cannot write the report") is None


def sleeps_until_bell(pid):
    """In poll(2) without a short timeout."""
    call = pathlib.Path(f"/proc/{pid}/syscall").read_text().split()
    return call[0] == "7" and int(call[3], 16) > 100


@pytest.mark.parametrize("numbers", [(0,), (2,), (0, 2), (1, 2), (0, 1, 2)])
def test_streams_are_closed(victim, watch, tmp_path, numbers):
    """With a file for the report they are not needed; but bell, signals and the target's memory must not get
    their numbers."""
    target = victim("hot", 2, 3)
    place = tmp_path / "report"
    quiet = {name: subprocess.DEVNULL for n, name in enumerate(("stdin", "stdout", "stderr")) if n in numbers}
    target.process.send_signal(signal.SIGSTOP)
    run = watch("-p", target.pid, "-d", "2s", "--report", place, preexec_fn=closed(*numbers), **quiet)
    wait_for(lambda: tracers(target.pid), "it is watched")
    wait_for(lambda: sleeps_until_bell(run.pid), "mmattach sleeps, as nothing happens")
    target.process.send_signal(signal.SIGCONT)
    assert run.wait() == 0, run.said()
    told = json.loads(place.read_text())
    assert_unharmed(target)
    assert hits(told, "alloc malloc") > 0 and not lost(told) and not told["run"]["gaps"], told
