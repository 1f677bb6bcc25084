# SPDX-License-Identifier: MIT
"""Children of fork are watched from their first instruction, with --follow and ptrace: their counts are exact, those
that exec or end at once cost little, and whatever is killed, none of them dies of a trap, or stays stopped."""
import os
import pathlib
import resource
import shutil
import signal
import tempfile
from unittest.mock import ANY

import pytest

from harness import (MMATTACH, VICTIMS, children, comm, ended, everyday, last_for, parent, random_moment, rounds,
                     wait_for)
from untouched import (assert_code_whole, assert_untouched, assert_untraced, state_letters, stopped, tracers,
                       wait_untraced)

BY = ["--engine", "ptrace"]
ALL_GONE = 5.0


@pytest.fixture
def follow(watch):
    """follow(TARGET, ARG...): mmattach that watches it and what it forks; it has attached."""
    def start(target, *args, **kwargs):
        run = watch("-p", target.pid, "--follow", *BY, *args, **kwargs)
        assert run.err.find(r"^watching \d+ process", 60), run.said()
        return run
    return start


@pytest.fixture
def births(victim):
    return victim("births")


def watches(run, n):
    """The processes that watch, when there are N of them."""
    def found():
        all_of = [p for p in children(run.pid) if comm(p) == "mmattach"]
        return all_of if len(all_of) >= n else None
    return wait_for(found, f"{n} watches")


def wait_adopted(run, folder, pids):
    """Each has a trace, which its watch begins when it has taken over."""
    wait_for(lambda: all(list(folder.glob(f"{pid}-*.mmt")) for pid in pids), f"traces of {pids}")


def watch_of(run, folder, pid):
    """The process that watches PID: it writes the trace."""
    def writes(w):
        open_files = pathlib.Path(f"/proc/{w}/fd").iterdir()
        return any(os.readlink(f).startswith(f"{folder}/{pid}-") for f in open_files)
    return next(w for w in watches(run, 2) if writes(w))


def by_pid(report):
    return {p["pid"]: p for p in report["processes"]}


def assert_exact(report, pids, kept, frees):
    processes = by_pid(report)
    for pid in pids:
        p = processes[pid]
        assert (p["allocs"], p["frees"], p["live_blocks"]) == (2 * kept, kept + frees, kept), (pid, p)
        assert p["ended"]
    assert not [n for n in report["notes"] if "after its start" in n], report["notes"]


def assert_left(pids):
    for pid in pids:
        assert not ended(pid), f"{pid} has ended"
        wait_untraced(pid, ALL_GONE)
        assert_untraced(pid)
        assert_code_whole(pid)


@pytest.mark.parametrize("depth", [1, 4])
def test_exact_from_the_first_instruction(births, follow, tmp_path, depth):
    """What it inherits is no leak of its own, and that it frees some of that is no error."""
    run = follow(births, "-o", f"{tmp_path}/t/")
    pids = births.ask(f"chain {depth} 50 7")["pids"]
    wait_adopted(run, tmp_path / "t", pids)
    births.ask("old")
    report = run.finish()
    assert sorted(by_pid(report)) == sorted([births.pid, *pids])
    assert_exact(report, pids, 50, 7)
    assert report["totals"]["double_frees"] == 0
    assert report["totals"]["unmatched_frees"] == 7 * depth + 1
    assert_left([births.pid, *pids])
    assert births.end() == {"bad": 0}


def test_blocks_that_the_parent_has_allocated_under_watch(births, follow, tmp_path):
    """They stay live there, whatever the child frees."""
    run = follow(births, "-o", f"{tmp_path}/t/")
    first = births.ask("chain 1 30 0")["pids"]
    second = births.ask("chain 1 30 5")["pids"]
    wait_adopted(run, tmp_path / "t", first + second)
    report = run.finish()
    assert_exact(report, first, 30, 0)
    assert_exact(report, second, 30, 5)
    assert_left([births.pid, *first, *second])


def test_of_a_process_with_threads(births, follow, tmp_path):
    """They hit all the time; the child has the one that has forked."""
    run = follow(births, "-o", f"{tmp_path}/t/")
    pids = births.ask("among 3 2 40 3")["pids"]
    wait_adopted(run, tmp_path / "t", pids)
    report = run.finish()
    assert_exact(report, pids, 40, 3)
    assert_left([births.pid, *pids])
    assert births.end() == {"bad": 0}


def test_a_call_that_was_open_in_the_parent(births, follow, tmp_path):
    """What counts is inside of a function, and the child is born there."""
    run = follow(births, "--in", "inside", "-o", f"{tmp_path}/t/")
    pid, = births.ask("inside 25")["pids"]
    wait_adopted(run, tmp_path / "t", [pid])
    report = run.finish()
    process = by_pid(report)[pid]
    assert (process["allocs"], process["live_blocks"]) == (50, 25), (process, report["notes"])
    assert_left([births.pid, pid])
    assert births.end() == {"bad": 0}


def test_more_than_there_is_memory_for(births, follow, tmp_path):
    """It records so much at once that its watch begins before it is found."""
    run = follow(births, "-o", f"{tmp_path}/t/")
    pids = births.ask("chain 1 20000 0", limit=60)["pids"]
    wait_adopted(run, tmp_path / "t", pids)
    assert_exact(run.finish(limit=60), pids, 20000, 0)
    assert births.end() == {"bad": 0}


def test_more_than_there_are_slots(victim, watch, tmp_path):
    """Those without are let go, and found later."""
    target, folder = victim("births"), tmp_path / "t"
    run = watch("-p", target.pid, "--follow", *BY, "-o", f"{folder}/")
    assert run.err.find(r"^watching \d+ process", 60), run.said()
    told = [pid for _ in range(2) for pid in target.ask("chain 36 3 0", limit=60)["pids"]]
    wait_for(lambda: all(list(folder.glob(f"{pid}-*.mmt")) for pid in told), "each is watched", 90, every=0.1)
    report = run.finish(limit=120)
    processes = by_pid(report)
    assert sorted(processes) == sorted([target.pid, *told])
    exact = [pid for pid in told if processes[pid]["allocs"] == 6]
    late = [pid for pid in told if processes[pid]["allocs"] == 0]
    odd = {pid: processes[pid] for pid in told if pid not in (*exact, *late)}
    assert not odd and len(exact) >= 64, (odd, len(exact), [told.index(pid) for pid in late])
    assert_left([target.pid, *told])


def test_few_files(births, watch):
    """A copy takes three. Those that are not taken can be cleaned, which needs one: none stays with the keeper."""
    run = watch("-p", births.pid, "--follow", *BY,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (130, 130)))
    assert run.err.find(r"^watching \d+ process", 60), run.said()
    keeper = tracers(births.pid)
    pids = births.ask("chain 30 3 0")["pids"]
    assert sum(tracers(pid) == keeper for pid in pids) == 11
    assert births.ask("exec 20") == {"bad": 0, "each_us": ANY}
    run.finish()
    assert_left([births.pid, *pids])
    assert births.end() == {"bad": 0}


def test_each_opens_a_plugin(victim, follow, tmp_path):
    """One after the other, so each is in the memory of the one before, which had more traps at its end than this
    one has at its beginning: the plugin's."""
    target, folder = victim("dl"), tmp_path / "t"
    rules = ["alloc plug_malloc size=arg1", "free plug_free", "alloc malloc", "free free"]
    run = follow(target, *(arg for rule in rules for arg in ("--probe", rule)), "-o", f"{folder}/")
    pids = []
    for _ in range(4):
        pids.append(target.ask("opener 30")["child"])
        wait_adopted(run, folder, pids)
        os.kill(pids[-1], signal.SIGUSR1)
        assert target.ask("status") == {"status": 0}
    report = run.finish()
    # the plugin's own calls, and those of the program and of the dynamic linker are as many in each
    processes = by_pid(report)
    assert len({processes[pid]["allocs"] for pid in pids}) == 1 and processes[pids[0]]["allocs"] > 30, processes
    assert len({processes[pid]["frees"] for pid in pids}) == 1, processes
    assert_left([target.pid])
    target.end()


@pytest.fixture
def small_group():
    """A memory control group of 150 MiB: its file to write a process into."""
    v1, v2 = pathlib.Path("/sys/fs/cgroup/memory"), pathlib.Path("/sys/fs/cgroup")
    try:
        if not v1.is_dir():
            (v2 / "cgroup.subtree_control").write_text("+memory")
        group = (v1 if v1.is_dir() else v2) / f"mmattach-test-{os.getpid()}"
        group.mkdir()
    except OSError as e:
        pytest.skip(f"optional: no control group can be made: {e}")
    (group / ("memory.limit_in_bytes" if v1.is_dir() else "memory.max")).write_text(str(150 << 20))
    yield group / "cgroup.procs"
    wait_for(lambda: not (group / "cgroup.procs").read_text(), "the group is empty")
    group.rmdir()


def test_the_memory_of_a_group_runs_out(births, watch, tmp_path, small_group):
    """It is ours alone, and too small for so many watches: some are killed, but no keeper that has planted."""
    run = watch("-p", births.pid, "--follow", *BY, "-o", f"{tmp_path}/t/",
                preexec_fn=lambda: small_group.write_text(str(os.getpid())))
    assert run.err.find(r"^watching \d+ process", 60), run.said()
    pids = births.ask("chain 12 8000 0", limit=60)["pids"]
    last_for(1)
    run.interrupt()
    run.wait(60)
    assert "the keeper was killed" not in run.said(), run.said()
    assert_left([births.pid, *pids])
    assert births.end() == {"bad": 0}


def test_children_that_exec_at_once(births, follow):
    before = births.ask("exec 100", limit=60)
    run = follow(births)
    n = everyday(500, 5000)
    told = births.ask(f"exec {n}", limit=120)
    report = run.finish()
    assert before["bad"] == told["bad"] == 0
    # on a busy machine a few live for so long that their watch begins
    assert births.pid in by_pid(report) and len(by_pid(report)) <= 1 + n / 100
    assert_untouched(births)
    assert births.end() == {"bad": 0}


def test_a_storm(births, follow):
    run = follow(births)
    births.say("storm 3000")
    last_for(2.5)
    run.finish(limit=60)
    told = births.answer()
    # a busy machine starts fewer: so many are more than live at once, which is what a storm is
    assert told["bad"] == 0 and told["started"] > 30
    assert_untouched(births)
    assert births.end() == {"bad": 0}


@pytest.mark.parametrize("which", ["member", "first", "all", "stopped"])
def test_watches_are_killed_in_a_storm(births, follow, tmp_path, which):
    """kill -9 of the watch of a copy, of its parent's, of mmattach; or one is stopped. All are left."""
    for i in range(rounds(2, 30)):
        folder = tmp_path / str(i)
        run = follow(births, "-o", f"{folder}/")
        pids = births.ask("chain 2 10 1")["pids"] if i == 0 else []
        if pids:
            wait_adopted(run, folder, pids)
            lasting = pids
        births.say("storm 900")
        random_moment(0.6)
        everyone = watches(run, 1)
        # its threads come and go while they are looked at
        first = wait_for(lambda: next((w for w in everyone if any(parent(t) == w for t in tracers(births.pid))), None),
                         "the keeper of the first watch is seen", 5)
        if which == "all":
            run.process.kill()
        elif which == "first":
            os.kill(first, signal.SIGKILL)
        else:
            for w in (w for w in everyone if w != first):
                os.kill(w, signal.SIGKILL if which == "member" else signal.SIGSTOP)
        told = births.answer(60)
        assert told["bad"] == 0, told
        if which != "all":
            run.interrupt()
        run.wait(60)
        for w in everyone:
            wait_for(lambda w=w: ended(w), "the watches have ended", 20)
        assert_left([births.pid, *lasting])
    assert births.end() == {"bad": 0}


def test_one_that_is_stopped(births, follow, tmp_path):
    """By a signal of its own: it stays so when its watch ends, though its keeper does not end."""
    run = follow(births, "-o", f"{tmp_path}/t/")
    second, first = births.ask("chain 2 10 1")["pids"]
    wait_adopted(run, tmp_path / "t", [first, second])
    mine = watch_of(run, tmp_path / "t", first)
    os.kill(first, signal.SIGSTOP)
    wait_for(lambda: stopped(first), "it is stopped")
    os.kill(mine, signal.SIGTERM)
    wait_untraced(first, ALL_GONE)
    # it runs for a moment inside of the kernel
    wait_for(lambda: state_letters(first) == {"T"}, "it is stopped as before")
    assert tracers(births.pid) and tracers(second)
    os.kill(first, signal.SIGCONT)
    wait_for(lambda: not stopped(first), "it runs")
    run.finish()
    assert_left([births.pid, first, second])
    assert births.end() == {"bad": 0}


def test_the_first_ends_before_its_copies(victim, watch, tmp_path):
    """Its keeper goes on with them."""
    target, folder = victim("pool"), tmp_path / "t"
    run = watch("-p", target.pid, "--follow", *BY, "-o", f"{folder}/")
    assert run.err.find(r"^watching \d+ process", 60), run.said()
    first = watches(run, 1)[0]
    workers = target.ask("fork 3")["workers"]
    wait_adopted(run, folder, workers)
    os.kill(first, signal.SIGTERM)
    wait_for(lambda: not tracers(target.pid), "the first watch has left")
    told = target.ask("go 20")
    assert all(tracers(w) for w in workers)
    report = run.finish()
    processes = by_pid(report)
    assert {w: processes[w]["allocs"] for w in workers} == {w: 220 if w == told["worst"] else 40 for w in workers}
    assert_left([target.pid, *workers])
    assert target.end()["bad"] == 0


def test_the_keeper_is_killed(births, follow, tmp_path):
    """kill -9 of it: copies that no watch has yet, and what is forked before the watch has put the target's
    bytes back, are as they were. Those that allocate in that moment die, which no test forbids."""
    for _ in range(rounds(3, 30)):
        run = follow(births)
        keeper, = tracers(births.pid)
        pids = births.ask("chain 3 10 1")["pids"]
        assert all(tracers(pid) == {keeper} for pid in pids)
        births.say("later 400 600")
        random_moment(0.03)
        os.kill(keeper, signal.SIGKILL)
        told = births.answer(60)
        assert told["bad"] == 0, told
        # it goes on with those of earlier rounds, and may find these anew
        run.interrupt()
        run.wait(60)
        assert_left([births.pid, *pids])
        assert "the keeper was killed" in run.said(), run.said()
    assert births.end() == {"bad": 0}


SIGTIMEDWAIT = "128"


def stop_in_its_code(keeper):
    """True: it is stopped there, or where it waits for a signal. Otherwise it goes on."""
    os.kill(keeper, signal.SIGSTOP)
    wait_for(lambda: stopped(keeper), "the keeper is stopped")
    call = pathlib.Path(f"/proc/{keeper}/syscall").read_text().split()[0]
    if call in ("-1", SIGTIMEDWAIT):
        return True
    os.kill(keeper, signal.SIGCONT)
    return False


def crash(keeper):
    """A signal that another process sends is no crash; a second one is taken for one. A crash is in the keeper's own
    code: not between what a request to the kernel has done and its return."""
    wait_for(lambda: stop_in_its_code(keeper), "the keeper is stopped in its own code")
    os.kill(keeper, signal.SIGSEGV)
    os.kill(keeper, signal.SIGBUS)
    os.kill(keeper, signal.SIGCONT)


@pytest.mark.parametrize("how", ["SIGTERM", "SIGSEGV", "crash"])
def test_the_keeper_leaves_in_a_storm(births, follow, tmp_path, how):
    """Of copies that have a watch, that have none yet, and that are just being made."""
    lasting = []
    for i in range(rounds(2, 30)):
        run = follow(births, "-o", f"{tmp_path}/{i}/")
        keeper, = tracers(births.pid)
        lasting += births.ask("chain 2 10 1")["pids"]
        if i == 0:
            wait_adopted(run, tmp_path / "0", lasting)
        births.say("storm 400")
        random_moment(0.4)
        crash(keeper) if how == "crash" else os.kill(keeper, getattr(signal, how))
        told = births.answer(60)
        assert told["bad"] == 0, told
        run.interrupt()
        run.wait(60)
        assert_left([births.pid, *lasting])
        said = "it crashed" if how == "crash" else "asked to by a signal"
        assert f"the keeper lifted all traps and left: {said}" in run.said(), run.said()
    assert births.end() == {"bad": 0}


def test_a_signal_in_the_middle_of_a_request(victim, follow):
    """Most often it comes there. What the request has done is taken notice of before the keeper leaves."""
    kin = victim("kin")
    for _ in range(rounds(8, 240)):
        run = follow(kin)
        keeper, = tracers(kin.pid)
        kin.say("cloneparent 40")
        random_moment(0.1)
        os.kill(keeper, signal.SIGSEGV)
        assert kin.answer() == {"bad": 0}
        run.wait(60)
        assert_untouched(kin)


def test_harder_kinds(victim, follow):
    """They stop, exec from a thread, change their parent, namespace or user, fork from several threads at once,
    and have an int3 of their own: all goes on as without us."""
    kin = victim("kin")
    run = follow(kin)
    for kind in ["stopped", "threadexec", "spawn", "daemonize", "cloneparent", "namespace", "setuid", "together",
                 "sigtrap", "killed"]:
        assert kin.ask(f"{kind} {everyday(15, 1000)}", limit=120) == {"bad": 0}, kind
    for kind in ["across", "asleep"]:
        assert kin.ask(f"{kind} {everyday(1, 20)}") == {"bad": 0}, kind
    run.finish()
    assert_untouched(kin)


NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}


@pytest.fixture
def reachable():
    """A folder in which any user finds mmattach, kin, and a copy of that which is set-uid root."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mmattach-test-"))
    shutil.copy(MMATTACH, folder)
    shutil.copy(VICTIMS / "kin", folder)
    shutil.copy(VICTIMS / "kin", folder / "kin.suid")
    (folder / "kin.suid").chmod(0o4755)
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_set_uid_programs_of_an_ordinary_user(victim, watch, reachable):
    """A tracer without CAP_SYS_PTRACE takes the privileges of what its tracee executes: so the children are let go
    at their birth, and found later."""
    kin = victim(reachable / "kin", **NOBODY)
    assert kin.ask("rights 3") == {"bad": 0}, "set-uid programs do not work here at all"
    run = watch("-p", kin.pid, "--follow", *BY, executable=reachable / "mmattach", **NOBODY)
    assert run.err.find(r"^watching \d+ process", 60), run.said()
    assert tracers(kin.pid)
    assert kin.ask("rights 30") == {"bad": 0}
    run.finish()
    assert_untouched(kin)
    kin.end()
