# SPDX-License-Identifier: MIT
"""The second engine: what it sees is what the first one sees, and whatever happens to mmattach, the target goes on.

The whole of tests/live that applies runs with it, too: MM_ENGINE=uprobe.
"""
import ctypes
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import time

import pytest

from counted import MARKS, assert_equal, calls_seen, small_alignments_joined
from engines import has_uprobe, same_report
from harness import MMATTACH, VICTIMS, Watch, last_for, lost, random_moment, rounds, wait_for
from untouched import assert_untouched, tracers

WAYS = ["uprobe-session", "uprobe-multi", "uprobe-perf"]
SYS_POLL = 7
SETTLED = 0.12  # until then no free is called a double one


@pytest.fixture(autouse=True, scope="module")
def _engine():
    if not has_uprobe():
        pytest.skip("clang or libbpf-dev is not installed")


def watching(target, *args, engine="uprobe"):
    return Watch("-p", str(target.pid), "--engine", engine, *args).wait_watching()


# --- the same is seen ---

@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("sizes, size", [("usable", "live_usable"), ("exact", "live_requested")])
def test_every_call(victim, way, sizes, size):
    """Eight threads, all functions of the heap, and calls that fail. No thread waits: on a busy machine a burst of
    theirs may fill the ring, which is counted; then there is nothing to compare."""
    target = victim("exact", 600)
    whole = 0
    for _ in range(rounds(5, 50)):
        watch = watching(target, "--sizes", sizes, *MARKS, engine=way)
        told = target.ask(f"go {random.getrandbits(40)}", limit=120)
        report = watch.finish()
        assert_untouched(target)
        target.ask("churn")
        if lost(report):
            assert report["totals"]["double_frees"] == 0
            continue
        whole += 1
        assert_equal(report, told, size)
        assert small_alignments_joined(calls_seen(report)) == small_alignments_joined(told["calls"])
    assert whole
    target.end()


@pytest.mark.parametrize("shape", ["paths", "paths_O0", "paths_Os"])
def test_the_same_stacks(victim, shape):
    """Recursion, tail calls, callbacks, with and without frame pointers: the stacks of both engines are equal."""
    seen = []
    for engine in ("ptrace", "uprobe"):
        target = victim(shape)
        watch = watching(target, "--top", "0", "--verdicts", "no", engine=engine)
        time.sleep(SETTLED)
        target.ask("keep 60", limit=60)    # what the ring has space for, however late it is read
        report = watch.finish()
        assert lost(report) == {}
        seen.append({(*(f["function"] for f in g["stack"]), g["stack_end"], g["blocks"]) for g in report["groups"]})
        target.end()
    assert seen[0] and seen[0] == seen[1]


SAME = [
    (["sites"], ["run 50 50"], []),
    (["families"], ["plain 6"], []),
    (["twins"], ["take 20", "give 5"], []),
    (["fds"], ["go 3"], ["--family", "fd"]),
    (["grower"], ["leak 300", "map 3", "unmap 1"], []),
    (["grower"], ["hold", "grow 3", "pages", "cut"], ["--growth"]),
    *([[shape], ["keep 60"], []] for shape in ("cpaths", "cpaths_O0", "cpaths_Os")),
    # at a probed return the kernel's trampoline stores the result on the stack, where it may stay: one block is reachable
    *([[shape], ["keep 60"], ["--verdicts", "no"]] for shape in ("paths_static", "paths_static_pie")),
]


@pytest.mark.parametrize("program, orders, options", SAME, ids=lambda x: " ".join(x))
def test_the_same_report(victim, program, orders, options):
    """Of programs that do the same each time: field by field, with stacks and verdicts (engines.py has what differs)."""
    seen = []
    for engine in ("ptrace", "uprobe"):
        target = victim(*program)
        watch = watching(target, "--top", "0", *options, engine=engine)
        time.sleep(SETTLED)
        for order in orders:
            target.ask(order)
        seen.append(watch.finish())
        assert_untouched(target)
        target.end()
    assert seen[0]["groups"] and same_report(*seen) == []


def test_leaks_have_verdicts(victim):
    """The target is stopped for a moment at the end, by a keeper that goes at once."""
    target = victim("leaky_service")
    watch = watching(target)
    time.sleep(2)
    report = watch.finish()
    assert report["run"]["engine"] == "uprobe" and lost(report) == {}
    assert report["run"]["verdicts"]["known"], report["run"]["verdicts"]
    worst = {g["stack"][g["wrappers"]]["function"] for g in report["groups"] if g["verdict"] == "definite"}
    assert {"cache_insert", "session_open"} <= worst, worst
    assert_untouched(target)


# --- what it does not do ---

NO_BPF = ["setpriv", "--bounding-set", "-bpf,-perfmon,-sys_admin", "--inh-caps", "-bpf,-perfmon,-sys_admin"]


def test_auto(victim):
    """The kernel's probes, unless something is asked for that takes ptrace."""
    target = victim("leaky_service")
    for args, frontend in (([], "uprobe"), (["--in", "main"], "ptrace"), (["--unwinder", "dwfl"], "ptrace")):
        report = watching(target, *args, engine="auto").finish()
        assert report["run"]["engine"] == frontend


@pytest.mark.parametrize("args", [[], ["--engine", "auto"], ["--lose-sigtrap", "--engine", "uprobe"]])
def test_what_ptrace_would_harm(victim, args):
    """A process with a handler of SIGTRAP: by the kernel's probes, and that is said if no engine was named."""
    target = victim("own_int3", "masked")
    watch = Watch("-p", str(target.pid), *args, "--verdicts", "no").wait_watching()
    last_for(0.1)
    report = watch.finish()
    assert report["run"]["engine"] == "uprobe" and report["totals"]["allocs"] > 0
    said = "by the kernel's probes, as ptrace could remove its handler of SIGTRAP"
    assert watch.said().count(said) == (not args), watch.said()
    assert report["run"].get("no_other_engine", said).endswith(said.partition("as ")[2])
    assert_untouched(target)
    told = target.end()
    assert told["strange"] == told["damaged"] == 0 and told["handler_kept"] and told["mask_kept"], told


def test_what_only_ptrace_can_do(victim):
    """Where the kernel's probes cannot do what is asked for, or cannot be had, it is refused; no hint names them."""
    target = victim("own_int3")
    for before, args, words in (([], ["--budget", "1%"], ""), ([], ["--in", "main"], ""),
                                (NO_BPF, [], "the kernel's probes, which would not harm it, cannot be had: BPF programs"),
                                (NO_BPF, ["--engine", "ptrace"], "")):
        said = subprocess.run([*before, MMATTACH, "-p", str(target.pid), *args, "-d", "1s"], capture_output=True, text=True)
        assert said.returncode == 1 and "it handles SIGTRAP" in said.stderr and words in said.stderr, said.stderr
        assert "--engine" not in said.stderr, said.stderr
    assert_untouched(target)


HIDDEN = {"LD_PRELOAD": str(VICTIMS / "libhidden.so")}  # a malloc whose end the kernel's probes do not see


def test_auto_sees_what_is_asked_for(victim):
    """Where an allocator cannot be watched by the kernel's probes, auto goes by ptrace; but not for a family of
    functions that can."""
    target = victim("leaky_service", env=HIDDEN)
    watch = watching(target, engine="auto")
    assert "by ptrace, as the kernel's probes do not see malloc in libhidden.so: " in watch.said()
    last_for(0.5)
    report = watch.finish()
    assert report["run"]["engine"] == "ptrace" and report["totals"]["allocs"] > 0
    assert watching(target, "--family", "fd", engine="auto").finish()["run"]["engine"] == "uprobe"
    assert_untouched(target)


def test_what_cannot_be_watched(victim):
    """The first lines say that, and not to watch for longer; a test that asks for the status fails."""
    target = victim("leaky_service", env=HIDDEN)
    said = subprocess.run([MMATTACH, "-p", str(target.pid), "--engine", "uprobe", "-d", "1s", "--error-exitcode", "9"],
                          capture_output=True, text=True)
    first = "\n".join(said.stdout.splitlines()[:5])
    assert "incomplete: malloc and 2 more functions of libhidden.so could not be watched" in first, said.stdout
    assert "If anything was allocated, it was not seen: malloc and" in first and "watch for longer" not in said.stdout
    assert "malloc in libhidden.so is not watched" in said.stderr
    assert said.returncode == 9
    assert_untouched(target)


def test_without_the_rights(victim):
    """Nothing is planted, and what is missing is said; auto goes on by ptrace."""
    target = victim("leaky_service")
    said = subprocess.run([*NO_BPF, MMATTACH, "-p", str(target.pid), "--engine", "uprobe"], capture_output=True, text=True)
    assert said.returncode == 1 and "CAP_BPF and CAP_PERFMON" in said.stderr, said.stderr
    said = subprocess.run([*NO_BPF, MMATTACH, "-p", str(target.pid), "--engine", "auto", "-d", "1s", "--format", "json"],
                          capture_output=True, text=True)
    run = json.loads(said.stdout)["run"]
    assert run["engine"] == "ptrace" and f"by ptrace, as {run['no_other_engine']}" in said.stderr and run["engine_asked"] == "auto"
    assert_untouched(target)


def test_no_hint_names_what_was_done(victim, tmp_path):
    """--engine auto that came to ptrace is not what costs less; a report of the trace says the same."""
    target = victim("hot", 1)
    said = subprocess.run([*NO_BPF, MMATTACH, "-p", str(target.pid), "--engine", "auto", "-d", "500ms", "-o", tmp_path / "t"],
                          capture_output=True, text=True)
    assert "the watch slowed the process" in said.stdout and "--engine" not in said.stdout, said.stdout
    assert ", by ptrace, as the kernel's probes cannot be had: " in " ".join(said.stdout.split()), said.stdout
    assert subprocess.run([MMATTACH, "report", tmp_path / "t"], capture_output=True, text=True).stdout == said.stdout
    assert_untouched(target)


# --- beside others ---

PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17


def test_beside_a_tracer(victim):
    """A process that gdb or strace has: its calls are seen; only verdicts need it to be stopped."""
    target = victim("leaky_service")
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    assert ptrace(PTRACE_SEIZE, target.pid, None, None) == 0
    try:
        watch = watching(target)
        time.sleep(SETTLED)
        report = watch.finish()
    finally:
        ptrace(PTRACE_INTERRUPT, target.pid, None, None)
        os.waitpid(target.pid, 0)
        ptrace(PTRACE_DETACH, target.pid, None, None)
    assert report["totals"]["allocs"] > 0 and report["groups"]
    assert "another tracer" in report["run"]["verdicts"]["why_not"]
    wait_for(lambda: _clean(target), "the probes, which stay until the tracer has detached, are out", 10)


TRACING = pathlib.Path("/sys/kernel/tracing")


@pytest.fixture
def probed_for_all(tmp_path):
    """A folder with a copy of libc.so.6 whose malloc is probed in all processes, as bpftrace does it."""
    library, name = tmp_path / "libc.so.6", f"mm_{os.getpid()}"
    shutil.copy(os.path.realpath("/lib/x86_64-linux-gnu/libc.so.6"), library)
    if not (TRACING / "uprobe_events").exists():
        subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACING], stderr=subprocess.DEVNULL, check=False)
    if not (TRACING / "uprobe_events").exists():
        pytest.skip("optional: there is no tracefs")
    symbols = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout
    at = next(line.split()[0] for line in symbols.splitlines() if line.split()[-1].split("@")[0] == "malloc")
    events = os.open(TRACING / "uprobe_events", os.O_WRONLY | os.O_APPEND)
    os.write(events, f"p:{name}/malloc {library}:0x{at}\n".encode())
    (TRACING / "events" / name / "enable").write_text("1")
    yield tmp_path
    (TRACING / "events" / name / "enable").write_text("0")
    os.write(events, f"-:{name}/malloc\n".encode())
    os.close(events)


@pytest.mark.parametrize("way", WAYS)
def test_beside_a_probe_of_all_processes(victim, probed_for_all, way):
    """The kernel's int3 of another program's probe is no change of the code."""
    target = victim("exact", 100, env={"LD_LIBRARY_PATH": str(probed_for_all)})
    watch = watching(target, *MARKS, engine=way)
    told = target.ask(f"go {random.getrandbits(40)}", limit=120)
    report = watch.finish()
    assert lost(report) == {}
    assert_equal(report, told, "live_usable")
    target.end()


# --- whatever happens to us ---

def test_killed_at_random_moments(victim):
    target = victim("hot", 4)
    for turn in range(rounds(20, 500)):
        run = Watch("-p", str(target.pid), "--engine", "uprobe")
        random_moment(0.4)
        run.process.kill()
        run.wait()
        wait_for(lambda: not tracers(target.pid), "untraced", 2)
        if turn % 5 == 0:
            target.wait_working()
    wait_for(lambda: _clean(target), "the kernel has taken the probes out", 10)
    assert target.end()["damaged"] == 0


def _clean(target):
    try:
        assert_untouched(target)
        return True
    except AssertionError:
        return False


def test_stopped(victim):
    """The target runs on while mmattach is stopped; the gap is named, and no double free is made up."""
    target = victim("hot", 2)
    watch = watching(target, "--verdicts", "no")
    watch.process.send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    target.wait_working()
    watch.process.send_signal(signal.SIGCONT)
    time.sleep(0.5)
    report = watch.finish()
    assert lost(report).get("ring full", 0) > 0 and report["run"]["gaps"], report["run"]
    assert report["totals"]["double_frees"] == 0
    assert_untouched(target)
    assert target.end()["damaged"] == 0


def run_for(pid, seconds):
    """Wait until the process has used so much CPU time."""
    def used():
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    begun = used()
    wait_for(lambda: used() > begun + seconds, "it works", limit=60)


def wait_until_read(watch):
    """The target makes no more calls: what was in the ring has been read when mmattach waits for more, in poll."""
    def waits():
        return pathlib.Path(f"/proc/{watch.pid}/syscall").read_text().startswith(f"{SYS_POLL} ")

    wait_for(lambda: all(waits() and not last_for(0.01) for _ in range(3)), "the ring is empty")


@pytest.mark.parametrize("sizes", ["usable", "exact"])
def test_losses_in_bursts(victim, sizes):
    """Hits are lost while threads allocate, free and end: whatever a free looks like, none is a double one. Those that
    are, and of which both frees were seen, are found as ever."""
    target = victim("bursts")
    watch = watching(target, "--sizes", sizes, "--free-stacks", "--verdicts", "no")
    target.say("run")
    for _ in range(rounds(2, 10)):
        watch.process.send_signal(signal.SIGSTOP)
        run_for(target.pid, 0.3)
        watch.process.send_signal(signal.SIGCONT)
        run_for(target.pid, 0.2)
    target.say("twice 0")  # the rounds end
    assert target.answer()["rounds"]
    target.answer()
    wait_until_read(watch)
    target.ask("twice 3")
    report = watch.finish()
    assert lost(report).get("ring full", 0) > 1000, report["run"]
    assert report["totals"]["double_frees"] == 3, [entry["second"] for entry in report["double_frees"]]
    assert_untouched(target)
    target.end()


def test_the_target_ends(victim):
    target = victim("leaky_service")
    watch = watching(target)
    time.sleep(SETTLED)
    target.process.terminate()
    report = watch.finish(sig=None)
    assert report["totals"]["allocs"] > 0 and any(re.search("target ended", note) for note in report["notes"]), report["notes"]


def test_nobody_waits(victim):
    """No sleeper is woken, no signal lost: no thread is ever stopped."""
    target = victim("storm", 32)
    target.say("signals")
    for _ in range(rounds(3, 30)):
        watching(target, "--verdicts", "no").finish()
    told = target.end()
    assert (told["eintr"], told["odd"], told["damaged"], told["lost"], told["doubled"]) == (0, 0, 0, 0, 0)


def reads(pid):
    """How often a short watch reads from a file: the system calls."""
    process = subprocess.Popen([MMATTACH, "-p", str(pid), "--engine", "uprobe", "--verdicts", "no", "-d", "100ms"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    with open(f"/proc/{process.pid}/io", encoding="ascii") as io:
        n = int(re.search(r"^syscr: (\d+)$", io.read(), re.MULTILINE)[1])
    assert process.wait() == 0
    return n


def test_no_file_is_read_for_each_thread(victim):
    """Neither at the beginning nor at the end. The list of mappings is read, which is longer with more threads."""
    few, many = victim("crowd", 10), victim("crowd", 3000)
    assert reads(many.pid) - reads(few.pid) < 2000
    assert_untouched(many)


def test_exec():
    """The watch ends there: nothing of the new program is reported."""
    process = subprocess.Popen(["sh", "-c", "read x; exec sleep 100"], stdin=subprocess.PIPE)
    watch = Watch("-p", str(process.pid), "--engine", "uprobe", "--verdicts", "no").wait_watching()
    process.stdin.write(b"go\n")
    process.stdin.close()
    report = watch.finish(sig=None)
    process.kill()
    process.wait()
    assert any("another program" in note for note in report["notes"]), report["notes"]


def test_refused_on_the_way_to_ptrace(victim):
    """What does not matter to the kernel's probes matters when auto falls back."""
    target = victim("own_int3")
    said = subprocess.run([*NO_BPF, MMATTACH, "-p", str(target.pid), "--engine", "auto", "-d", "1s"], capture_output=True, text=True)
    assert said.returncode == 1 and "it handles SIGTRAP" in said.stderr, said.stderr
    report = watching(target, "--verdicts", "no").finish()
    assert report["run"]["engine"] == "uprobe"
    assert_untouched(target)
