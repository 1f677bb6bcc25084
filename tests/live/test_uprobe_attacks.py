# SPDX-License-Identifier: MIT
"""The second engine under attack: mmattach is killed, stopped, starved, or cannot write; the target has tracers and
signals of its own, or no libc; its libraries come, go and are replaced.

After each attack the target is alive, not traced, works on, and its code is the file's; no system call of its threads
was interrupted; the report has no double free and no leak that is none.
"""
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

import pytest

from harness import TOP, VICTIMS, Victim, Watch, comm, children, last_for, lost, random_moment, rounds, wait_for
from own_libc import libc, victim  # noqa: F401
from untouched import assert_untouched, code_differences, stopped, tracers

ENGINE = ["--engine", "uprobe"]
SOON = 1.0      # until then the kernel has taken the probes out, and the keeper has let go
SETTLED = 0.12  # until then no free is called a double one


def harm(target):
    """What is not as it was, or None."""
    if not target.alive():
        return f"it ended: {target.process.returncode}"
    if tracers(target.pid):
        return f"it is traced by {[comm(t) for t in tracers(target.pid)]}"
    if stopped(target.pid):
        return "it is stopped"
    different = code_differences(target.pid)
    return f"code differs: {different[:4]}" if different else None


def wait_clean(target):
    """Within SOON of processor time: on a busy machine the kernel's worker, the keeper, and this test wait for one."""
    began, limit = time.monotonic(), SOON * max(1.0, os.getloadavg()[0] / os.cpu_count())
    found = [harm(target)]
    while found[-1] and time.monotonic() - began < 60:
        last_for(0.01)
        found.append(harm(target))
    took = time.monotonic() - began
    assert not found[-1], found[-1]
    assert took < limit, f"as it was only after {took:.2f} s, allowed {limit:.2f}: {list(dict.fromkeys(found))}"


def works_on(target):
    before = target.ask("now")["turns"]
    wait_for(lambda: target.ask("now")["turns"] > before, "its counter goes on")


def assert_unharmed(target):
    """@target: a storm."""
    wait_clean(target)
    now = target.ask("now")
    assert (now["eintr"], now["odd"], now["damaged"]) == (0, 0, 0), now


def assert_nothing_made_up(report):
    """Of a target that frees each block at once: blocks that are in use just now are not leaks."""
    assert report["totals"]["double_frees"] == 0, report["totals"]
    assert not [g for g in report["groups"] if g["verdict"] == "definite"], report["groups"]


def assert_end(target):
    told = target.end()
    assert (told["eintr"], told["odd"], told["damaged"], told["lost"], told["doubled"]) == (0, 0, 0, 0, 0), told


# --- attacks on mmattach ---

def test_killed(victim):
    """At any moment: while it attaches, watches, has the target stopped for verdicts, or leaves. Before probes were
    made and removed apart (uprobe_apart.h), one in a hundred kills left a breakpoint in the target for ever."""
    target = victim("storm", 16)
    moments = {"attaching": 0, "watching": 0, "verdicts": 0, "ended": 0}
    for turn in range(rounds(5, 500)):
        watch = Watch("-p", target.pid, *ENGINE, "-d", "30ms")
        if turn % 4 == 0:
            wait_for(lambda: watch.err.find("^watching", 0.01) or not watch.alive(), "it watches")   # noqa: B023
            wait_for(lambda: children(watch.pid) or not watch.alive(), "its keeper")   # noqa: B023
            random_moment(0.02)
        elif turn % 4 == 1:
            watch.wait_watching()
            watch.interrupt()
            random_moment(0.1)
        else:
            random_moment(1.2)
        keeper = [p for p in children(watch.pid) if comm(p) == "mm-keeper"]
        moment = "ended" if not watch.alive() else "verdicts" if keeper else \
            "watching" if watch.err.find("^watching", 0) else "attaching"
        moments[moment] += 1
        watch.kill()
        assert_unharmed(target)
        works_on(target)
    print(moments)
    assert_end(target)


def test_stopped_and_continued(victim):
    """SIGSTOP of mmattach, several times within a watch."""
    target = victim("storm", 16)
    for _ in range(rounds(1, 50)):
        watch = Watch("-p", target.pid, *ENGINE).wait_watching()
        last_for(SETTLED)
        for _ in range(10 if rounds(2, 50) == 50 else 4):
            watch.interrupt(signal.SIGSTOP)
            last_for(random.uniform(0.05, 1.0 if rounds(2, 50) == 50 else 0.4))
            works_on(target)
            watch.interrupt(signal.SIGCONT)
            random_moment(0.1)
        assert_nothing_made_up(watch.finish())
        assert_unharmed(target)
    assert_end(target)


@pytest.fixture
def tiny(tmp_path):
    """A file system that is full soon."""
    place = tmp_path / "tiny"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", place], capture_output=True, check=False).returncode:
        pytest.skip("mount is not permitted here")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def test_disk_full(victim, tiny):
    """The trace cannot be written on: the watch ends, or goes on without it; what it says is said."""
    target = victim("storm", 16)
    for turn in range(rounds(2, 500)):
        watch = Watch("-p", target.pid, *ENGINE, "--verdicts", "no", "-o", tiny / "trace.mmt", "-d", "1m")
        assert watch.err.find("No space left"), watch.said()
        if turn % 2:
            watch.kill()
        else:
            watch.interrupt()
            watch.wait()
        assert_unharmed(target)
        (tiny / "trace.mmt").unlink()
    works_on(target)
    assert_end(target)


def schedule(watch, policy):
    for tid in os.listdir(f"/proc/{watch.pid}/task"):
        os.sched_setscheduler(int(tid), policy, os.sched_param(0))


FILLS = 40000   # allocations, for which the ring has no space


def fill(target):
    goal = target.ask("now")["turns"] + FILLS
    wait_for(lambda: target.ask("now")["turns"] > goal, "it allocates", 300)


def test_ring_full(victim):
    """The reader is stopped, or gets a processor only if nothing else wants it, while threads allocate; events are
    lost. Then it catches up."""
    target = victim("storm", 16)
    full = 0
    for turn in range(rounds(1, 500)):
        watch = Watch("-p", target.pid, *ENGINE).wait_watching()
        last_for(SETTLED)
        if turn % 2:
            schedule(watch, os.SCHED_IDLE)
        else:
            watch.interrupt(signal.SIGSTOP)
        fill(target)
        if turn % 2:
            schedule(watch, os.SCHED_OTHER)
        else:
            watch.interrupt(signal.SIGCONT)
        random_moment(0.2)
        report = watch.finish()
        full += lost(report).get("ring full", 0) > 0
        assert_nothing_made_up(report)
        assert_unharmed(target)
    assert full > 0
    assert_end(target)


# --- programs with their own tracers, signals and libcs ---

@pytest.mark.parametrize("mode", [[], ["masked"]])
def test_sigtrap_is_its_own(victim, mode):
    """Its handler gets its own SIGTRAPs, and no other."""
    target = victim("own_int3", *mode)
    for _ in range(rounds(1, 50)):
        watch = Watch("-p", target.pid, *ENGINE, "--verdicts", "no").wait_watching()
        random_moment(0.5)
        assert watch.finish()["totals"]["double_frees"] == 0
    assert_untouched(target)
    told = target.end()
    assert told["strange"] == told["damaged"] == 0 and told["handler_kept"] and told["mask_kept"], told
    assert all(done == seen for done, seen in (told["int3"], told["raised"], told["killed"])), told


GDB = ["gdb", "-nx", "-q", "-batch", "-ex", "set pagination off", "-ex", "set auto-load no"]


def tracer(which, target):
    """Attached, and the target runs; it ends with SIGINT."""
    if which == "strace":
        p = subprocess.Popen(["strace", "-f", "-qq", "-e", "trace=none", "-p", str(target.pid)], stderr=subprocess.DEVNULL)
    else:
        p = subprocess.Popen([*GDB, "-p", str(target.pid), "-ex", "continue"], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: tracers(target.pid) == {p.pid}, f"{which} has attached")
    wait_for(lambda: not stopped(target.pid), "the target runs")
    return p


def end_tracer(p, target):
    p.send_signal(signal.SIGINT)
    try:
        p.wait(20)
    except subprocess.TimeoutExpired:
        p.kill()
        p.wait()
    wait_for(lambda: not tracers(target.pid), "it has detached")


@pytest.mark.parametrize("which", ["gdb", "strace"])
@pytest.mark.parametrize("first", [True, False])
def test_beside_a_debugger(victim, which, first):
    """Attached before the watch and detached after it, or during it."""
    if not shutil.which(which):
        pytest.skip(f"{which} is not installed")
    target = victim("hot", 2)
    for _ in range(rounds(1, 20)):
        beside = tracer(which, target) if first else None
        watch = Watch("-p", target.pid, *ENGINE).wait_watching()
        last_for(SETTLED)
        beside = beside or tracer(which, target)
        target.wait_working()
        if not first:
            end_tracer(beside, target)
        report = watch.finish()
        if first:
            end_tracer(beside, target)
        assert report["totals"]["allocs"] > 0
        assert_nothing_made_up(report)
        wait_clean(target)
        target.wait_working()
    assert target.end()["damaged"] == 0


def test_breakpoint_on_a_probe(victim):
    """A debugger takes the probe's int3 for the program's, and writes it there when it removes its breakpoint: until
    then the probe stays. Before, the target died of SIGTRAP."""
    target = victim("hot", 2)
    for _ in range(rounds(1, 20)):
        watch = Watch("-p", target.pid, *ENGINE, "--verdicts", "no").wait_watching()
        gdb = subprocess.Popen([*GDB[:3], "-p", str(target.pid), "-ex", "set pagination off", "-ex", "break *__libc_malloc",
                                "-ex", "continue&", "-ex", "echo goes-on\n"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
        try:
            while "goes-on" not in (line := gdb.stdout.readline()):
                assert line, "gdb ended"
            last_for(SETTLED)
            watch.finish()
            assert "the probes stay" in watch.said(), watch.said()
            last_for(SETTLED)
            gdb.communicate("detach\nquit\n", timeout=60)
        finally:
            gdb.kill()
            gdb.wait()
        wait_clean(target)
        target.wait_working()
    assert target.end()["damaged"] == 0


def watch_often(target, sees):
    """@sees(watch, report) checks what is reported."""
    try:
        for turn in range(rounds(1, 50)):
            watch = Watch("-p", target.pid, *ENGINE).wait_watching()
            last_for(SETTLED)
            if turn % 3 == 2:
                watch.kill()
            else:
                report = watch.finish()
                assert_nothing_made_up(report)
                sees(watch, report)
            wait_clean(target)
            target.wait_working()
        assert target.end()["damaged"] == 0
    finally:
        target.kill()


def sees_allocations(watch, report):
    assert report["totals"]["allocs"] > 0, watch.said()


@pytest.mark.parametrize("name", ["hot_static", "hot_static_pie"])
def test_static(name):
    watch_often(Victim(name, 2), sees_allocations)


@pytest.mark.parametrize("linking", [[], ["-static"]])
def test_musl(tmp_path, linking):
    if not shutil.which("musl-gcc"):
        pytest.skip("musl-tools is not installed")
    program = tmp_path / "hot_musl"
    subprocess.run(["musl-gcc", "-O2", "-g", "-pthread", *linking, "-o", program, TOP / "tests/victims/hot.c"], check=True)
    watch_often(Victim(program, 2), sees_allocations)


# --- libraries that come and go ---

def library(victim, tmp_path):
    """A victim that loads a copy of the plugin."""
    shutil.copy(VICTIMS / "libreload.so", tmp_path)
    return victim("reload", tmp_path / "libreload.so"), tmp_path / "libreload.so"


def test_loaded_and_unloaded(victim, tmp_path):
    """Without a pause, while watches begin, end, and are killed."""
    target, plugin = library(victim, tmp_path)
    for order in ("plain", "closed", "unmapped"):
        target.say(f"{order} {1000 * rounds(1, 60)}")
        until = time.monotonic() + rounds(1, 60)
        while time.monotonic() < until:
            watch = Watch("-p", target.pid, *ENGINE, "--verdicts", "no").wait_watching()
            random_moment(0.4)
            if random.random() < 0.5:
                watch.kill()
            else:
                watch.finish()
        told = target.out.take()
        assert told and '"changed": 0' in told, told
        assert plugin.read_bytes() == (VICTIMS / "libreload.so").read_bytes()
    wait_clean(target)
    target.end()


@pytest.mark.parametrize("how", ["deleted", "replaced"])
@pytest.mark.parametrize("before", [True, False])
def test_library_changes_on_disk(victim, tmp_path, how, before):
    """What is mapped is watched, whatever the path leads to; and it is left whole."""
    for turn in range(rounds(1, 25)):
        place = tmp_path / str(turn)
        place.mkdir()
        target = victim("hot", 2)
        file = pathlib.Path(next(line.split()[-1] for line in pathlib.Path(f"/proc/{target.pid}/maps").read_text().splitlines()
                                 if line.endswith("libc.so.6")))
        whole = file.read_bytes()

        def change():
            other = place / "libc.so.6"   # noqa: B023
            if how == "replaced":
                shutil.copy(VICTIMS / "libplug.so", other)
                os.rename(other, file)   # noqa: B023
            else:
                file.unlink()   # noqa: B023

        if before:
            change()
        watch = Watch("-p", target.pid, *ENGINE).wait_watching()
        last_for(SETTLED)
        if not before:
            change()
        target.wait_working()
        report = watch.finish()
        assert report["totals"]["allocs"] > 0
        assert_nothing_made_up(report)
        wait_clean(target)
        target.wait_working()
        assert target.end()["damaged"] == 0
        file.write_bytes(whole)


@pytest.mark.parametrize("way", ["session", "multi", "perf"])
def test_beside_another_watch(victim, way):
    """The kernel replaces return addresses also where the return is probed for another process, or by another program:
    the stacks are whole."""
    target, other = victim("bysize"), victim("bysize")
    with_returns = Watch("-p", str(other.pid), "--engine", "uprobe-session").wait_watching()
    before = target.ask("leak 0")
    watch = Watch("-p", str(target.pid), "--engine", f"uprobe-{way}", "--verdicts", "no").wait_watching()
    after = target.ask("leak 200", limit=60)
    report = watch.finish()
    with_returns.finish()
    found = {frame["function"]: group["blocks"] for group in report["groups"] for frame in group["stack"]}
    for site in ("leak_small", "leak_page", "leak_resized", "leak_aligned", "leak_large"):
        assert found.get(site) == after[site][0] - before[site][0], (site, found)
    assert report["run"]["stacks_cut"] == report["run"]["stacks_lost"] == 0
    assert_untouched(target)
    assert_untouched(other)
