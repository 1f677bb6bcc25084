# SPDX-License-Identifier: MIT
"""Several processes at once: each has a watch of its own, each is left as it was, whatever becomes of the others, and
the sums are those of each."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

from harness import (MMATTACH, PTRACE_INTERRUPT, PTRACE_SEIZE, VICTIMS, Program, children, comm, ended, everyday,
                     last_for, parent, ptrace, random_moment, rounds, wait_for)
from untouched import (assert_code_whole, assert_untouched, assert_untraced, code_differences, tracers,
                       wait_untraced)

ENGINES = pytest.mark.parametrize("by", ["ptrace", "uprobe"])
WALL = 0x40000000   # of waitpid
ALL_GONE = 5.0      # seconds after its death within which all are left, also on a busy machine
MARKS = ["--from", "mm_mark_begin", "--until", "mm_mark_end"]


@pytest.fixture
def many(watch):
    """many(ARG...): mmattach that watches several; it has attached to all that were there."""
    def start(*args, **kwargs):
        run = watch(*args, **kwargs)
        assert run.err.find(r"^watching \d+ process", 120), run.said()
        return run
    return start


def assert_left(pids):
    """They live, are not traced or stopped, and their code is whole."""
    for pid in pids:
        assert not ended(pid), f"{pid} has ended"
        assert_untraced(pid)
        assert_code_whole(pid)


def traces(folder, *pids):
    """The traces in FOLDER of these processes, when there is at least one of each."""
    def found():
        all_of = {pid: sorted(folder.glob(f"{pid}-*.mmt")) for pid in pids}
        return all_of if all(all_of.values()) else None
    return wait_for(found, f"traces of {pids} in {folder}")


def by_pid(report):
    return {p["pid"]: p for p in report["processes"]}


def left_behind():
    tmp = pathlib.Path(os.environ.get("TMPDIR", "/tmp"))
    return sorted(tmp.glob("mmattach-*"))


# --- who is watched, and what is counted ---


def watched_together(targets, many, by):
    """(the report, what they have counted). With uprobes no thread waits: on a busy machine a burst may fill the ring,
    which is counted; then it is tried again."""
    for turn in range(20):
        run = many("-p", ",".join(str(t.pid) for t in targets), "--engine", by, *MARKS)
        told = {t.pid: t.ask(f"go {i + 7 + turn}", limit=120) for i, t in enumerate(targets)}
        report = run.finish()
        if by == "ptrace" or not any(process["lost"] for process in by_pid(report).values()):
            return report, told
    raise AssertionError("events are lost each time")


@ENGINES
def test_a_list(victim, many, tmp_path, monkeypatch, by):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    targets = [victim("exact", 150) for _ in range(3)]
    for t in targets[1:]:
        t.ask("go 1")   # their threads rest: the first one is busy when it is attached to
    report, told = watched_together(targets, many, by)
    assert by_pid(report).keys() == told.keys()
    for pid, process in by_pid(report).items():
        assert (process["allocs"], process["frees"], process["live_blocks"], process["live_bytes"]) == (
            told[pid]["allocs"], told[pid]["frees"], told[pid]["live_blocks"], told[pid]["live_usable"])
    assert report["totals"]["allocs"] == sum(t["allocs"] for t in told.values())
    assert report["totals"]["unmatched_frees"] == sum(t["old_frees"] for t in told.values())
    assert not left_behind()
    for t in targets:
        assert_untouched(t)


def test_all_of_a_name(victim, many, tmp_path):
    name = f"mm{os.getpid()}"
    program = tmp_path / name
    program.symlink_to(VICTIMS / "pool")
    targets = [victim(str(program)) for _ in range(3)]
    report = many("-n", name, "--all").finish()
    assert sorted(by_pid(report)) == sorted(t.pid for t in targets)
    for t in targets:
        assert_untouched(t)
    # without --all they are listed
    run = Program([MMATTACH, "-n", name, "-d", "1s"], stdin=subprocess.DEVNULL)
    assert run.wait() == 1 and "several processes are called" in run.said()


@ENGINES
def test_a_tree(victim, many, by):
    target = victim("pool")
    workers = target.ask("fork 4")["workers"]
    run = many("--tree", target.pid, "--engine", by)
    told = target.ask("go 20")
    report = run.finish()
    processes = by_pid(report)
    assert sorted(processes) == sorted([target.pid, *workers])
    assert sum(p["allocs"] for pid, p in processes.items() if pid != target.pid) == told["allocs"]
    assert sum(p["live_blocks"] for p in processes.values()) >= told["kept"]
    assert processes[told["worst"]]["live_blocks"] == told["worst_kept"]
    kept = [g for g in report["groups"] if any(f["function"] == "allocate" for f in g["stack"])]
    assert sum(g["blocks"] for g in kept) == told["kept"]
    assert kept[0]["processes"] == 4 and report["processes"][kept[0]["worst_process"]]["pid"] == told["worst"]
    assert report["totals"]["unmatched_frees"] >= told["older"] == 4
    assert_left(workers)
    assert_untouched(target)
    assert target.end()["bad"] == 0


def writable_cgroup():
    """A cgroup of our own, of version 2 or 1, and its path as /proc/PID/cgroup has it."""
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        _, mounted, kind, options, *_ = line.split()
        if kind not in ("cgroup", "cgroup2") or "cpuset" in options:
            continue
        path = pathlib.Path(mounted) / f"mm-test-{os.getpid()}"
        try:
            path.mkdir()
        except OSError:
            continue
        return path, f"/{path.name}"
    raise AssertionError("no cgroup can be made here: run the tests as root")


def move(cgroup, pid):
    (cgroup / "cgroup.procs").write_text(str(pid))


@pytest.fixture
def cgroup():
    path, name = writable_cgroup()
    made = [path]
    yield path, name, made
    for folder in reversed(made):
        wait_for(lambda: not (folder / "cgroup.procs").read_text(), "the cgroup is empty")
        folder.rmdir()


def test_a_cgroup(victim, many, cgroup, tmp_path):
    path, name, made = cgroup
    inner = path / "inner.service"
    inner.mkdir()
    made.append(inner)
    here, below, late, other = (victim("pool") for _ in range(4))
    move(path, here.pid)
    move(inner, below.pid)
    run = many("--cgroup", name, "--follow", "-o", f"{tmp_path}/t/")
    traces(tmp_path / "t", here.pid, below.pid)
    move(inner, late.pid)
    traces(tmp_path / "t", late.pid)
    assert sorted(by_pid(run.finish())) == sorted([here.pid, below.pid, late.pid])
    assert sorted(by_pid(many("--unit", "inner").finish())) == sorted([below.pid, late.pid])
    for t in (here, below, late, other):
        assert_untouched(t)
        t.end()


def test_a_container(victim, many, cgroup):
    path, _, made = cgroup
    container = path / f"docker-{'0123456789abcdef' * 4}.scope"
    container.mkdir()
    made.append(container)
    target = victim("pool")
    move(container, target.pid)
    assert list(by_pid(many("--container", "0123456789ab").finish())) == [target.pid]
    assert_untouched(target)
    target.end()


# --- what appears later ---


@ENGINES
def test_children_are_followed(victim, many, tmp_path, by):
    target, folder = victim("pool"), tmp_path / "t"
    before = target.ask("fork 1")["workers"]
    run = many("-p", target.pid, "--follow", "--engine", by, "-o", f"{folder}/")
    workers = target.ask("fork 4")["workers"]
    new = [w for w in workers if w not in before]
    traces(folder, target.pid, *new)
    told = target.ask("go 10")
    report = run.finish()
    processes = by_pid(report)
    assert sorted(processes) == sorted([target.pid, *new])      # not the one that was there before
    assert {w: processes[w]["allocs"] for w in new} == {w: 110 if w == told["worst"] else 20 for w in new}
    assert processes[told["worst"]]["live_blocks"] == told["worst_kept"]
    notes = [n for n in report["notes"] if "after its start" in n]
    assert sum(int(n.split()[0]) for n in notes) == (0 if by == "ptrace" else len(new))
    assert not any("were not watched" in n for n in report["notes"])
    assert_left(workers)
    assert_untouched(target)
    assert target.end()["bad"] == 0


@ENGINES
def test_after_exec_it_is_another_program(victim, many, tmp_path, by):
    target, folder = victim("pool"), tmp_path / "t"
    workers = target.ask("fork 2")["workers"]
    run = many("--tree", target.pid, "--follow", "--engine", by, "-o", f"{folder}/")
    target.ask("go 5")
    target.ask("exec")
    wait_for(lambda: all(len(t) == 2 for t in traces(folder, *workers).values()), "each has a second watch")
    told = target.ask("go 7")
    report = run.finish()
    of_workers = [p for p in report["processes"] if p["pid"] in workers]
    assert len(of_workers) == 4
    assert sorted(p["allocs"] for p in of_workers) == [10, 14, 55, 77]
    assert told["kept"] == 77
    assert_left(workers)
    assert target.end()["bad"] == 0


def test_without_follow_an_exec_ends_its_watch_alone(victim, many):
    target = victim("pool")
    workers = target.ask("fork 2")["workers"]
    run = many("--tree", target.pid)
    told = target.ask("go 5")
    target.ask("exec")
    target.ask("go 7")
    report = run.finish()
    assert sum(p["allocs"] for p in report["processes"] if p["pid"] in workers) == told["allocs"]
    assert_left(workers)
    assert target.end()["bad"] == 0


def test_a_program_and_its_descendants(tmp_path, watch):
    folder = tmp_path / "t"
    run = watch("--follow", "-o", f"{folder}/", "--report", tmp_path / "r.json", "--", VICTIMS / "pool",
                stdin=subprocess.PIPE)

    def ask(order):
        run.process.stdin.write(order.encode() + b"\n")
        run.process.stdin.flush()
        return json.loads(run.out.take())

    assert run.out.take().startswith("ready ")
    workers = ask("fork 3")["workers"]
    traces(folder, *workers)
    told = ask("go 10")
    assert ask("end") == {"bad": 0}
    assert run.wait() == 0, run.said()
    report = json.loads((tmp_path / "r.json").read_text())
    processes = by_pid(report)
    assert sum(processes[w]["allocs"] for w in workers) == told["allocs"]
    assert len(processes) == 4 and all(p["comm"] == "pool" for p in processes.values())
    assert len(list(folder.iterdir())) == 4


def test_its_exit_status(tmp_path, watch):
    run = watch("--follow", "--report", tmp_path / "r", "--", "sh", "-c", "sleep 1; exit 7")
    assert run.wait() == 7


def test_waiting_for_the_first(victim, many, tmp_path):
    """Of a name that no process has yet; -d counts from the beginning."""
    name = f"mm{os.getpid()}w"
    (tmp_path / name).symlink_to(VICTIMS / "pool")
    run = many("-n", name, "--all", "--follow", "-o", f"{tmp_path}/t/", "-d", "20s")
    target = victim(str(tmp_path / name))
    traces(tmp_path / "t", target.pid)
    assert list(by_pid(run.finish())) == [target.pid]
    run = many("-n", f"{name}x", "--all", "--follow", "-d", "1s")
    assert run.wait() == 1 and "no process to watch was found" in run.said()
    assert_untouched(target)


def test_a_trap_of_its_own_remains(victim, many, tmp_path):
    """Its int3 is not the kernel's: no process that was watched is its parent."""
    name, folder = f"mm{os.getpid()}p", tmp_path / "t"
    (tmp_path / name).symlink_to(VICTIMS / "patched")
    run = many("-n", name, "--all", "--follow", "--engine", "uprobe", "-o", f"{folder}/", "-d", "60s",
               "--probe", "alloc patched_alloc size=arg1", "--probe", "free patched_free")
    target, other = victim(str(tmp_path / name), "jump"), victim(str(tmp_path / name), "none")
    before = code_differences(target.pid)
    traces(folder, other.pid)
    last_for(3)  # it is found, and refused
    assert target.ask("go 50")["traps"] == 50
    assert "breakpoint of its own" in by_pid(run.finish())[target.pid]["how"]
    assert before and code_differences(target.pid) == before


def test_a_trap_of_its_own_beside_another_watch(victim, many):
    """The other one's probe is where the int3 is, and the kernel would take that for its own."""
    trapped, other = victim("patched", "jump"), victim("patched", "none")
    before = code_differences(trapped.pid)
    run = many("-p", f"{trapped.pid},{other.pid}", "--engine", "uprobe",
               "--probe", "alloc patched_alloc size=arg1", "--probe", "free patched_free")
    assert trapped.ask("go 50")["traps"] == 50
    assert other.ask("go 50")["pairs"] == 50
    found = by_pid(run.finish())
    assert "breakpoint of its own" in found[trapped.pid]["how"] and found[other.pid]["allocs"] == 50
    assert trapped.ask("go 50")["traps"] == 100
    assert before and code_differences(trapped.pid) == before
    assert_untouched(other)


PREFORK = """
import os, sys, time

def work(leaks):
    kept = []
    while os.getppid() == parent:
        several = [bytes(3000) for _ in range(20)]
        if leaks:
            kept.append(bytes(3000))
        time.sleep(0.002)

parent = os.getpid()
workers = []
for i in range(4):
    workers.append(os.fork())
    if not workers[-1]:
        work(i == 2)
        os._exit(0)
print(*workers, flush=True)
sys.stdin.read()
"""


@ENGINES
def test_a_prefork_pool_in_python(many, by):
    """One of four workers keeps what it allocates: it is the worst, and its stack leads."""
    pool = Program([sys.executable, "-c", PREFORK])
    workers = [int(word) for word in pool.out.take().split()]
    report = many("--tree", str(pool.pid), "--engine", by, "-d", "3s", "--verdicts", "no").finish(sig=None)
    found = by_pid(report)
    assert found.keys() == {pool.pid, *workers}
    live = {pid: found[pid]["live_bytes"] for pid in workers}
    leaks = workers.pop(2)
    assert live[leaks] > 10 * 3000 and live[leaks] > 3 * max(live[pid] for pid in workers), live
    most = max(report["groups"], key=lambda group: group["bytes"])
    assert report["processes"][most["worst_process"]]["pid"] == leaks
    assert_left([pool.pid, leaks, *workers])
    pool.process.stdin.close()
    assert pool.wait() == 0


STORM = """
n=0 bad=0
while [ -e "$0" ]; do
    (exit 3); [ $? = 3 ] || bad=$((bad + 1))
    (:) || bad=$((bad + 1))
    n=$((n + 2))
    [ $n != 600 ] || : > "$0.$$"
done
echo $n $bad
"""


@ENGINES
def test_a_shell_that_starts_thousands(many, tmp_path, by):
    """They live too briefly to be attached to, and none fails."""
    go_on = tmp_path / "go_on"
    go_on.touch()
    shells = [Program(["/bin/sh", "-c", STORM, str(go_on)], stdin=subprocess.DEVNULL) for _ in range(2)]
    run = many("-p", ",".join(str(s.pid) for s in shells), "--follow", "--engine", by)
    last_for(2)
    wait_for(lambda: len(list(tmp_path.glob("go_on.*"))) == 2, "each has started hundreds", 120, every=0.05)
    report = run.finish()
    assert_left([s.pid for s in shells])
    last_for(0.5)
    go_on.unlink()
    for s in shells:
        assert s.wait() == 0
        started, bad = map(int, s.out.text().split())
        assert started > 500 and bad == 0
    # on a busy machine one may live for so long that its watch begins
    assert {s.pid for s in shells} <= set(by_pid(report))
    assert any(re.search(r"at least \d+ processes had ended before", n) for n in report["notes"])


@pytest.mark.parametrize("kind", ["child", "grandchild"])
def test_copies_are_known_by_their_keeper(victim, many, kind):
    """A child of fork that ptrace has from its birth need not be found in /proc, where nothing shows any more
    whose it is if its parent has ended; and if it has ended before its watch began, that is counted."""
    target = victim("briefly")
    run = many("-p", target.pid, "--follow", "--engine", "ptrace", "--verdicts", "no").wait_watching()
    target.ask(f"{kind} 4000 3")
    target.ask(f"{kind} 5 1")
    report = run.finish()
    # if a parent ends before its keeper has seen the birth, as on a busy machine, the copy is let go
    found = len(by_pid(report)) - 1
    assert found == 3 if kind == "child" else 1 <= found
    assert [g["blocks"] for g in report["groups"] if any(f["function"] == "allocate" for f in g["stack"])] == [50 * found]
    many_had = "at least 1 process had ended before it was" if kind == "child" else r"at least \d+ processes had ended before they were"
    assert any(re.fullmatch(many_had + " attached to", n) for n in report["notes"]), report["notes"]
    assert_left([target.pid])
    target.end()


# --- what goes wrong in one ---


def test_one_that_may_not_be_attached_to(victim, many):
    """A line of the report, and no failure; nor is a number of no process."""
    target, traced = victim("pool"), victim("pool")
    other = Program([MMATTACH, "-p", traced.pid, "-d", "60s"], stdin=subprocess.DEVNULL)
    assert other.err.find("^watching")
    report = many("-p", f"{target.pid},{traced.pid},4194300", "--engine", "ptrace").finish()
    processes = by_pid(report)
    assert not processes[target.pid]["absent"]
    assert processes[traced.pid]["absent"] and "another mmattach watches it" in processes[traced.pid]["how"]
    assert processes[4194300]["absent"] and "no such process" in processes[4194300]["how"]
    other.process.terminate()
    other.wait()
    for t in (target, traced):
        assert_untouched(t)


def test_none_can_be_watched(watch):
    run = watch("-p", "4194300,4194301")
    assert run.wait() == 1
    assert "none of 2 processes can be watched" in run.said()
    run = watch("-n", f"mm{os.getpid()}x", "--all")
    assert run.wait() == 1 and "no process to watch was found" in run.said()
    run = watch("-p", f"{os.getpid()},1", "-o", "/nosuchfolder/a.mmt")
    assert run.wait() == 1 and "cannot write the trace to /nosuchfolder/a.mmt" in run.said()


def members(run):
    """The processes that watch, by the process that they watch."""
    return [p for p in children(run.pid) if comm(p) == "mmattach"]


@ENGINES
def test_killed(victim, many, tmp_path, monkeypatch, by):
    """kill -9 of mmattach: every process is left, and nothing remains in TMPDIR."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    target = victim("pool")
    hot = [victim("hot", 2) for _ in range(2)]
    workers = target.ask("fork 3")["workers"]
    everyone = [target.pid, *workers, *(h.pid for h in hot)]
    for _ in range(rounds(4, 40)):
        run = many("-p", ",".join(map(str, everyone)), "--engine", by)
        random_moment(0.2)
        watchers = members(run)
        run.process.kill()
        run.wait()
        wait_for(lambda: all(ended(p) for p in watchers), "the watches have ended", 20)
        assert_left(everyone)
        wait_for(lambda: not left_behind(), "the traces are removed", ALL_GONE)
    target.ask("go 3")
    assert target.end()["bad"] == 0
    for h in hot:
        h.wait_working()
        assert h.end()["damaged"] == 0


def test_killed_after_the_first_have_ended(victim, many, tmp_path, monkeypatch):
    """Their traces are complete, and their watches are gone: those that are left remove them."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    brief, *lasting = [victim("pool") for _ in range(3)]
    run = many("-p", ",".join(str(t.pid) for t in (brief, *lasting)))
    brief.end()
    wait_for(lambda: len([p for p in members(run) if not ended(p)]) == 2, "the first watch has ended")
    run.process.kill()
    run.wait()
    wait_for(lambda: not left_behind(), "the traces are removed", 5)
    assert "was removed" not in run.said()
    assert_left([t.pid for t in lasting])


def test_killed_while_attaching(victim, watch, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    hot = [victim("hot", *threads) for threads in ((1, 1), (0, 2), (0, 2), (0, 2))]
    for _ in range(rounds(8, 80)):
        run = watch("-p", ",".join(str(h.pid) for h in hot))
        random_moment(0.5)
        watchers = members(run)
        run.process.kill()
        run.wait()
        wait_for(lambda: all(ended(p) for p in watchers), "the watches have ended", 20)
        # the last one removes them: it may have begun after we looked, and first has to attach
        wait_for(lambda: not left_behind(), "the traces are removed", 20)
        for h in hot:
            wait_untraced(h.pid, ALL_GONE)  # a watch that had just begun was none of those
            assert_untouched(h)
    hot[0].wait_working()
    for h in hot:
        assert h.end()["damaged"] == 0


@ENGINES
def test_one_watch_is_killed(victim, many, by):
    """Only that one ends; what it has written is in the report."""
    target = victim("pool")
    workers = target.ask("fork 3")["workers"]
    run = many("--tree", target.pid, "--engine", by)
    target.ask("go 5")
    last_for(1.5)       # a trace is written at least once a second
    watchers = members(run)
    os.kill(watchers[1], signal.SIGKILL)
    assert run.err.find("its watch was ended by signal 9"), run.said()
    told = target.ask("go 7")
    report = run.finish()
    assert len(report["processes"]) == 4
    complete = [p for p in report["processes"] if p["ended"] and p["pid"] in workers]
    assert len([p for p in report["processes"] if p["ended"]]) == 3
    assert {p["allocs"] for p in complete} <= {24, 55 + 77}
    assert told["worst"] in workers
    assert_left(workers)
    assert_untouched(target)
    assert target.end()["bad"] == 0


def test_a_watch_that_leaves_no_trace(victim, many, tmp_path):
    """The report says why, and not that a file is missing."""
    targets = [victim("pool") for _ in range(2)]
    run = many("-p", ",".join(str(t.pid) for t in targets), "-o", f"{tmp_path}/t/")
    for path in traces(tmp_path / "t", targets[0].pid)[targets[0].pid]:
        path.unlink()
    watched = {pid: watcher for watcher in members(run) for pid in [t.pid for t in targets]
               if any(int(tracer) and parent(int(tracer)) == watcher for tracer in tracers(pid))}
    os.kill(watched[targets[0].pid], signal.SIGKILL)
    assert run.err.find("its watch was ended by signal 9", 20), run.said()
    processes = by_pid(run.finish())
    assert processes[targets[0].pid]["absent"] and not processes[targets[1].pid]["absent"]
    assert processes[targets[0].pid]["how"] == "its watch was ended by signal 9"
    for t in targets:
        assert_untouched(t)


def test_a_watch_that_is_stopped(victim, many):
    """Its process is left, which its keeper sees to, and the end of all does not wait for it for ever."""
    targets = [victim("pool") for _ in range(2)]
    run = many("-p", ",".join(str(t.pid) for t in targets))
    os.kill(members(run)[0], signal.SIGSTOP)
    assert sorted(by_pid(run.finish(limit=60))) == sorted(t.pid for t in targets)
    for t in targets:
        assert_untouched(t)


def test_a_watch_that_does_not_end(victim, many):
    """The third signal does not wait for it; its process is let go."""
    targets = [victim("pool") for _ in range(2)]
    run = many("-p", ",".join(str(t.pid) for t in targets))
    stuck = members(run)[0]
    assert ptrace(PTRACE_SEIZE, stuck) == 0 and ptrace(PTRACE_INTERRUPT, stuck) == 0
    for _ in range(3):  # the third is too early
        run.interrupt()
        time.sleep(0.5)
    assert run.alive() and comm(stuck)
    time.sleep(2)
    run.interrupt()
    while not os.WIFSIGNALED(os.waitpid(stuck, WALL)[1]):
        pass
    processes = by_pid(run.finish(sig=None, limit=60))
    assert sorted(processes) == sorted(t.pid for t in targets)
    assert [p["how"] for p in processes.values()].count("its watch was ended by signal 9") == 1
    for t in targets:
        wait_untraced(t.pid, ALL_GONE)
        assert_untouched(t)


def test_they_end_one_after_the_other(victim, many):
    """The watch ends with the last one."""
    targets = [victim("pool") for _ in range(3)]
    run = many("-p", ",".join(str(t.pid) for t in targets))
    for t in targets:
        assert run.alive()
        t.end()
    report = run.finish(sig=None)
    assert sorted(by_pid(report)) == sorted(t.pid for t in targets)


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_all(victim, many, tmp_path, monkeypatch, sig):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    targets = [victim("pool") for _ in range(3)]
    report = many("-p", ",".join(str(t.pid) for t in targets)).finish(sig=sig)
    assert len(report["processes"]) == 3 and not left_behind()
    for t in targets:
        assert_untouched(t)


# --- traces and reports ---


def test_one_trace_of_all_and_one_of_each(victim, many, tmp_path):
    target = victim("pool")
    target.ask("fork 3")
    run = many("--tree", target.pid, "-o", tmp_path / "all.mmt")
    told = target.ask("go 8")
    report = run.finish()
    again = json.loads(subprocess.run([MMATTACH, "report", "--format", "json", tmp_path / "all.mmt"], check=True,
                                      capture_output=True).stdout)
    assert again["totals"] == report["totals"] and again["processes"] == report["processes"]
    run = many("--tree", target.pid, "-o", f"{tmp_path}/each/")
    told = target.ask("go 9")
    report = run.finish()
    of_folder = json.loads(subprocess.run([MMATTACH, "report", "--format", "json", f"{tmp_path}/each"], check=True,
                                          capture_output=True).stdout)
    assert of_folder["totals"] == report["totals"] and report["totals"]["live_blocks"] >= told["kept"]
    assert len(list((tmp_path / "each").iterdir())) == 4
    target.end()


def test_budgets_have_one_report(victim, many, tmp_path):
    """In a watch as short as this it may not be known that they leak."""
    targets = [victim("sampled", "-r", "20000") for _ in range(2)]
    run = many("-p", ",".join(str(t.pid) for t in targets), "--budget", "10%", "--budget-of", "all", "-d", "20s", "-o",
               f"{tmp_path}/all.mmt", "--top", "0")
    report = run.finish(sig=None, limit=90)
    assert report["run"]["mode"] == "sampled" and report["run"]["budget"]["promise"] == 0.05
    assert {process["pid"] for process in report["processes"]} == {t.pid for t in targets}
    fast = max((group for group in report["groups"] if group["stack"][group["wrappers"]]["function"] == "site_leak_fast"),
               key=lambda group: group["seen"])
    value, low, high = fast["allocs_per_minute"]
    assert low / 1.6 <= 2 * 60 * 100 and (high is None or 2 * 60 * 100 <= 1.6 * high), fast["estimate"]
    assert fast["turnover"] in {"stays", "unknown"} and 1 <= fast["processes"] <= 2
    again = subprocess.run([MMATTACH, "report", "--format", "json", "--top", "0", f"{tmp_path}/all.mmt"], check=True,
                           capture_output=True).stdout
    assert json.loads(again)["groups"] == report["groups"]
    for t in targets:
        assert_untouched(t)


# --- many ---


def total_memory(pid):
    """Pss of it and its descendants, in KiB."""
    everyone, total = [pid], 0
    parents = {int(p): parent(int(p)) for p in os.listdir("/proc") if p.isdigit()}
    for p in everyone:
        everyone += [c for c, above in parents.items() if above == p]
        try:
            text = pathlib.Path(f"/proc/{p}/smaps_rollup").read_text()
        except OSError:
            continue
        total += int(re.search(r"^Pss:\s*(\d+)", text, re.M)[1])
    return total


@ENGINES
def test_hundreds(victim, many, by):
    """Twenty-four each day, and three hundred in full runs."""
    target = victim("pool")
    n = everyday(24, 300)
    workers = target.ask(f"fork {n - 1}")["workers"]
    run = many("--tree", target.pid, "--engine", by)
    told = target.ask("go 4", limit=120)
    memory = total_memory(run.pid)
    report = run.finish(limit=300)
    assert len(report["processes"]) == n
    assert sum(p["allocs"] for p in report["processes"] if p["pid"] in workers) == told["allocs"]
    assert memory / n < 40 * 1024, f"{memory / n:.0f} KiB for each"
    assert_left(workers)
    assert_untouched(target)
    assert target.end()["bad"] == 0
