# SPDX-License-Identifier: MIT
"""System calls that are refused, as in a sandbox or on an old kernel.

Either mmattach cannot watch: then it reports what is missing and exits with 1. Or it can do without: then the
report is right, or names what it lacks. In both cases the target continues as it was found.
"""
import pathlib

import pytest

from engines import has_uprobe
from faults import PTRACE, Refused, assert_refuses, assert_says, assert_unharmed, refusal, report
from harness import hits, lost

SECONDS = "300ms"


@pytest.fixture
def refused():
    """refused([REFUSAL...], ARG...): mmattach, started with those failing."""
    started = []

    def start(refusals, *args, **kwargs):
        started.append(Refused(refusals, *args, **kwargs))
        return started[-1]

    yield start
    for run in started:
        if run.alive():
            run.interrupt()
            try:
                run.process.wait(10)
            finally:
                run.kill()


def watch_refused(refused, target, refusals):
    """A short watch of @target, which ends by itself."""
    run = refused(refusals, "-p", target.pid, "-d", SECONDS)
    run.wait()
    return run


# --- it cannot watch ---

@pytest.mark.parametrize("call, error, says", [
    ("ptrace SEIZE", "EPERM", "not permitted.*(seccomp|ptrace|capab)"),
    ("ptrace SEIZE", "ENOSYS", "no ptrace"),
    ("ptrace SEIZE", "EIO", "input/output error"),
    ("kcmp", "ENOSYS", "kcmp"),
    ("kcmp", "EPERM", "kcmp"),
    ("memfd_create", "ENOSYS", "cannot start the keeper"),
    ("memfd_create", "EMFILE", "too many open files"),
    ("eventfd2", "EMFILE", "too many open files"),
    ("signalfd4", "EMFILE", "too many open files|signalfd"),
    ("pidfd_open", "ENOSYS", "cannot start the keeper"),
    ("timer_create", "EAGAIN", "keeper"),
    ("chdir", "EACCES", "keeper"),
    ("clone", "EAGAIN", "temporarily unavailable"),
])
def test_cannot_watch(victim, refused, call, error, says):
    target = victim("hot", 2, 3)
    assert_refuses(watch_refused(refused, target, [refusal(call, error)]), target, says)


@pytest.mark.skipif(not has_uprobe(), reason="clang or libbpf-dev is not installed")
@pytest.mark.parametrize("call, error, says", [
    ("clone", "EPERM", "cannot start its process: operation not permitted"),
    ("clone3", "EPERM", "cannot start its thread: operation not permitted"),
])
def test_the_test_of_records_cannot_be_made(victim, refused, call, error, says):
    """The right to probe a program is not what is missing."""
    target = victim("hot", 2, 3)
    run = refused([refusal(call, error)], "-p", target.pid, "-d", SECONDS, "--engine", "uprobe")
    assert "CAP_" not in assert_refuses(run, target, says)


def test_memory_cannot_be_opened(victim, refused):
    """openat with O_RDWR|O_CLOEXEC, the flags with which /proc/PID/mem is opened."""
    target = victim("hot", 2, 3)
    run = watch_refused(refused, target, ["openat:2=524290:13"])
    assert_refuses(run, target, "not permitted|memory|/mem", "seccomp|capab")


def test_traps_cannot_be_written(victim, refused):
    """Every write of a trap fails: nothing can be seen, so there is no watch."""
    target = victim("hot", 2, 3)
    run = watch_refused(refused, target, [refusal("pwrite64", "EIO")])
    assert_unharmed(target)
    assert_says(run.err.text(), "cannot plant", "input/output error")
    assert run.wait() == 1, run.said()


# --- ptrace is there, but not all of it ---

# Without these a thread cannot get past a trap, or cannot be left intact.
NEEDED = ["CONT", "DETACH", "GETREGS", "GETSIGINFO", "INTERRUPT", "PEEKSIGINFO", "POKEUSER"]


@pytest.mark.parametrize("name", NEEDED)
def test_needed_of_ptrace(victim, refused, name):
    """Detected before anything is planted: afterwards it is too late."""
    target = victim("hot", 2, 3)
    assert_refuses(watch_refused(refused, target, [refusal(f"ptrace {name}", "EPERM")]), target, "ptrace|permitted")


@pytest.mark.parametrize("name", sorted(set(PTRACE) - set(NEEDED) - {"SEIZE"}))
def test_rest_of_ptrace(victim, refused, name):
    """Not used with this target: it is detected all the same, or has no effect."""
    target = victim("hot", 2, 3)
    run = watch_refused(refused, target, [refusal(f"ptrace {name}", "EPERM")])
    said, status = run.err.text(), run.wait()
    assert_unharmed(target)
    if status == 0:
        assert hits(report(run), "alloc malloc") > 0, f"no calls seen, and no word: {said}"
    else:
        assert status == 1 and said.strip(), f"status {status}: {said}"


# --- it works without ---

@pytest.mark.parametrize("call, error", [
    ("mlockall", "EPERM"),
    ("setpriority", "EACCES"),
    ("sched_setattr", "EPERM"),
    ("sched_setattr", "ENOSYS"),
    ("setsid", "EPERM"),
    ("close_range", "ENOSYS"),
    ("sched_yield", "ENOSYS"),
    ("pidfd_send_signal", "ENOSYS"),
    ("getrandom", "ENOSYS"),
])
def test_can_do_without(victim, refused, call, error):
    target = victim("hot", 2, 3)
    run = watch_refused(refused, target, [refusal(call, error)])
    assert run.wait() == 0, run.said()
    told = report(run)
    assert hits(told, "alloc malloc") > 0 and hits(told, "free free") > 0, told
    assert not lost(told), told
    assert_unharmed(target)


def test_a_session_that_is_not_ours_keeps_its_share(victim, refused):
    """The keeper gives its own session a larger share of the processors. If it has none of its own, the
    target and all other processes of the session would get that share, for ever."""
    if not pathlib.Path("/proc/self/autogroup").exists():
        pytest.skip("optional: a kernel without shares for sessions")
    # a separate session for this test: the session of all tests may be the machine's first, which has no
    # share
    run = refused([refusal("setsid", "EPERM")], "-p", victim("hot", 2, 3).pid, "-d", "60s", start_new_session=True).wait_watching()
    share = pathlib.Path(f"/proc/{run.pid}/autogroup").read_text()
    run.finish()
    assert share.endswith(" nice 0\n"), share


@pytest.mark.parametrize("call", ["process_vm_readv", "process_vm_writev"])
@pytest.mark.parametrize("error", ["ENOSYS", "EPERM"])
def test_no_reading_of_memory(victim, refused, call, error):
    """Docker's filter refuses these calls where it permits ptrace. The loss is reported."""
    target = victim("hot", 2, 3)
    run = watch_refused(refused, target, [refusal(call, error)])
    said, status = run.err.text(), run.wait()
    assert_unharmed(target)
    if status == 1:
        assert call in said or "memory" in said, said
        return
    told = report(run)
    assert hits(told, "alloc malloc") > 0, told
    assert lost(told) or told["notes"] or told["totals"]["unmatched_frees"] <= 2, f"no word of what was lost: {told}"


@pytest.mark.parametrize("call", ["kcmp", "timer_create", "ptrace SEIZE", "signalfd4", "pipe2"])
def test_started(refused, call):
    """With `--` the program has not run: it is not left behind either."""
    run = refused([refusal(call, "EPERM")], "--", "sh", "-c", "echo ran")
    assert run.wait() == 1, run.said()
    assert run.err.text().strip(), "no word"
    assert "ran" not in run.out.text()
