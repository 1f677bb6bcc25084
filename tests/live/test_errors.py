# SPDX-License-Identifier: MIT
"""Clear errors: what is wrong, with which process, and what to do; and nothing is left behind."""
import os
import re
import shutil
import signal
import stat
import struct
import subprocess
import tempfile

import pytest

from harness import MMATTACH, PTRACE_SEIZE, VICTIMS, Watch, ptrace, wait_for
from untouched import assert_untouched, tracers


def fails(*args, status=1, **kwargs):
    """Run mmattach @args, which must fail with @status; returns its messages."""
    run = Watch(*args, json_report=False, **kwargs)
    assert run.wait() == status, run.said()
    said = run.err.text()
    assert said.strip() and run.out.text() == "", "results of a failure, or no word"
    return said


def assert_says(said, *patterns):
    for pattern in patterns:
        assert re.search(pattern, said, re.IGNORECASE), f"no {pattern!r} in: {said}"


# --- targets that cannot be watched ---

def test_no_such_process():
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert_says(fails("-p", gone.pid), "no such process", str(gone.pid))


def test_kernel_thread():
    if not os.path.exists("/proc/2") or os.path.exists("/proc/2/exe") and os.access("/proc/2/exe", os.R_OK):
        pytest.skip("no kernel threads to be seen here")
    assert_says(fails("-p", 2), "kernel thread", "2")


def test_zombie():
    dead = subprocess.Popen(["true"])
    os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)
    assert_says(fails("-p", dead.pid), "zombie|ended", str(dead.pid))
    dead.wait()


def test_traced_already(victim):
    target = victim("hot", 1)
    assert ptrace(PTRACE_SEIZE, target.pid) == 0
    assert_says(fails("-p", target.pid), "traced", rf"\b{os.getpid()}\b")
    assert tracers(target.pid) == {os.getpid()}
    target.wait_working()
    target.kill()


def test_watched_already(victim, attach):
    target = victim("hot", 1)
    first = attach(target)
    said = fails("-p", target.pid)
    assert_says(said, "watch|traced", rf"\b{first.keeper()}\b")
    assert first.finish()["totals"]["allocs"] > 0
    assert_untouched(target)
    target.end()


def test_itself():
    said = subprocess.run(["sh", "-c", f"exec {MMATTACH} -p $$"], capture_output=True, text=True, timeout=30)
    assert said.returncode == 1
    assert_says(said.stderr, "itself")


def test_a_keeper(victim, attach):
    target = victim("hot", 1)
    watch = attach(target)
    assert_says(fails("-p", watch.keeper()), "keeper")
    watch.finish()
    assert_untouched(target)
    target.end()


# mov $29, %eax; int $0x80 (pause); jmp back
PAUSE_32 = b"\xb8\x1d\x00\x00\x00\xcd\x80\xeb\xf7"


def program_32(path):
    """The smallest 32-bit program that waits: no 32-bit compiler is needed."""
    base, headers = 0x08048000, 52 + 32
    size = headers + len(PAUSE_32)
    ident = b"\x7fELF\x01\x01\x01" + bytes(9)
    header = ident + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, base + headers, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    segment = struct.pack("<IIIIIIII", 1, 0, base, base, size, size, 5, 0x1000)
    path.write_bytes(header + segment + PAUSE_32)
    path.chmod(0o755)
    return path


def test_32_bit(tmp_path):
    path = program_32(tmp_path / "pause32")
    try:
        target = subprocess.Popen([path])
    except OSError as e:
        pytest.skip(f"optional: this kernel runs no 32-bit programs: {e}")
    try:
        wait_for(lambda: os.path.exists(f"/proc/{target.pid}/exe") and
                 os.readlink(f"/proc/{target.pid}/exe") == str(path), "it runs")
        assert_says(fails("-p", target.pid), "32-bit", str(target.pid))
        assert target.poll() is None and not tracers(target.pid)
    finally:
        target.kill()
        target.wait()


def test_no_allocator_found(victim):
    """A stripped static program: the message says how to name its functions."""
    target = victim("hot_static_stripped", 1)
    assert_says(fails("-p", target.pid), "no allocator", "--probe", "0x|address")
    assert_untouched(target)
    target.wait_working()
    target.end()


def test_named_by_address(victim, attach):
    """The error's advice works: here with the addresses of the unstripped program."""
    symbols = {}
    for line in subprocess.run(["nm", VICTIMS / "hot_static"], capture_output=True, text=True).stdout.splitlines():
        *value, _, name = line.split()
        symbols[name] = value and value[0]
    target = victim("hot_static_stripped", 1)
    watch = attach(target, "--probe", f"alloc 0x{symbols['malloc']}", "--probe", f"free 0x{symbols['free']}")
    target.rate()
    totals = watch.finish()["totals"]
    assert totals["allocs"] > 0 and totals["frees"] > 0
    assert_untouched(target)
    target.end()


def test_unknown_function(victim):
    target = victim("hot", 1)
    assert_says(fails("-p", target.pid, "--probe", "alloc no_such_function size=arg1"), "no_such_function")
    assert_untouched(target)
    target.end()


# --- selecting the target by name ---

def odd_name():
    """A name for this process only: another process may run the same test."""
    return f"mm-odd-{os.getpid()}"


@pytest.fixture
def named(tmp_path, victim):
    """named(): a victim with a name that no other process has."""
    path = tmp_path / odd_name()
    shutil.copy(VICTIMS / "hot", path)
    return lambda: victim(str(path), 1)


def test_name(named, watch):
    target = named()
    run = watch("-n", odd_name()).wait_watching()
    assert re.match(rf"watching {target.pid}\b", run.err.find("^watching"))
    run.finish()
    assert_untouched(target)
    target.end()


def test_ambiguous_name(named):
    both = [named(), named()]
    assert_says(fails("-n", odd_name()), *(rf"\b{t.pid}\b" for t in both))
    for target in both:
        assert_untouched(target)
        target.end()


def test_unknown_name():
    assert_says(fails("-n", "no-such-name-here"), "no-such-name-here")


def test_a_thread_that_is_not_the_leader(victim, watch):
    """-p TID means its process."""
    target = victim("hot", 1)
    tid = max(int(t) for t in os.listdir(f"/proc/{target.pid}/task"))
    run = watch("-p", tid).wait_watching()
    assert re.match(rf"watching {target.pid}\b", run.err.find("^watching"))
    run.finish()
    assert_untouched(target)
    target.end()


# --- not permitted ---

@pytest.fixture
def as_nobody():
    """A folder with mmattach that the user "nobody" can reach, and the command that runs it as that user."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root, and setpriv")
    folder = tempfile.mkdtemp(prefix="mmattach-test-")
    os.chmod(folder, 0o755)
    shutil.copy(MMATTACH, folder)
    yield ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", f"{folder}/mmattach"]
    shutil.rmtree(folder)


def run_denied(words, pid):
    run = subprocess.run([*words, "-p", str(pid)], capture_output=True, text=True, timeout=30)
    assert run.returncode == 1, run
    return run.stderr


def test_another_user(victim, as_nobody):
    target = victim("hot", 1)
    assert_says(run_denied(as_nobody, target.pid), "not permitted", r"\broot\b", "as that user|capab")
    assert_untouched(target)
    target.end()


def test_root_without_the_capability(victim, as_nobody):
    """As in a container: we are root, but without permission."""
    target = victim("hot", 1)
    words = ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace", as_nobody[-1]]
    said = run_denied(words, target.pid)
    assert_says(said, "not permitted", "CAP_SYS_PTRACE|SYS_PTRACE|capab|privileges")
    assert_untouched(target)
    target.end()


def test_vanished_while_attaching(watch):
    """Targets that end at any moment of our start: an error or a report, never a hang or a crash."""
    for turn in range(12):
        target = subprocess.Popen(["sleep", f"{turn * 0.01:.2f}"])
        run = watch("-p", target.pid)
        assert target.wait(10) == 0
        assert run.wait() in (0, 1), run.said()
        assert run.process.returncode == 0 or run.err.text().strip()


# --- the report's file ---

def test_report_cannot_be_written(victim, tmp_path):
    """Reported at once, not after the hours of a watch."""
    target = victim("hot", 1)
    said = fails("-p", target.pid, "-d", "1s", "--report", tmp_path / "no" / "such" / "folder")
    assert_says(said, "no such file", "folder")
    assert_untouched(target)
    target.end()


def test_report_is_private_and_whole(victim, attach, tmp_path):
    target = victim("hot", 1)
    name = tmp_path / "report"
    watch = attach(target, "--report", name)
    assert not name.exists(), "there under its name before it is whole"
    watch.interrupt(signal.SIGTERM)
    assert watch.wait() == 0
    assert name.read_text().startswith("{") and name.read_text().rstrip().endswith("}")
    assert stat.S_IMODE(name.stat().st_mode) == 0o600
    assert watch.out.text() == ""
    assert_untouched(target)
    target.end()
