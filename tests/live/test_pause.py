# SPDX-License-Identifier: MIT
"""A process is stopped once and copied: the copy has what was there, and the process does not notice.

tests/tools/pauser makes the pauses, with or without traps planted.
"""
import json
import os
import pathlib
import random
import signal
import threading
import time

import pytest

from chance import at_most
from harness import TOP, Program, everyday, random_moment, rounds, wait_for
from test_whole import assert_unharmed
from untouched import assert_untouched, state_letters, stopped, threads, tracers, wait_untraced

PAUSER = TOP / os.environ.get("MM_BUILD", "build/release") / "tools/pauser"
PAGE = 4096
# seconds within which a target is free when the process that paused it is gone; the keeper gives running
# threads three (leave.c)
SOON = 6.0


class Pauser(Program):
    def __init__(self, pid, *args):
        super().__init__([PAUSER, pid, *args])
        self.target = pid
        line = self.out.take()
        assert line, self.said()
        self.keeper = json.loads(line)["keeper"]

    def say(self, order):
        self.process.stdin.write(order.encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, order, limit=30):
        self.say(order)
        line = self.out.take(limit)
        assert line is not None, f"no answer to {order!r}: status {self.process.poll()}, {self.said()}"
        return json.loads(line)

    def pause(self, *limits):
        """A pause that must succeed."""
        had = self.ask(" ".join(["pause", *map(str, limits)]))
        assert had["r"] == 0, had
        return had

    def word(self, address):
        return self.ask(f"word {address}")["word"]

    def end(self):
        self.process.stdin.close()
        assert self.wait() == 0, self.said()


@pytest.fixture
def pauser():
    """pauser(VICTIM, [watch]): seized, with traps if it is to watch."""
    started = []

    def start(target, *args):
        started.append(Pauser(target.pid, *args))
        return started[-1]

    yield start
    for p in started:
        if p.alive():
            os.kill(p.pid, signal.SIGCONT)
            p.process.stdin.close()
            try:
                p.process.wait(10)
            except Exception:  # whatever the error, it must not stay
                p.kill()


def resident(pid):
    """Resident pages, by mapping, as the kernel counts them (smaps walks the page tables itself)."""
    found, where = {}, None
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        key, _, rest = line.partition(":")
        if "-" in key.split()[0] and key.split()[0].replace("-", "").isalnum() and not rest.strip().endswith("kB"):
            where = line.split()[0]
        elif key in ("Rss", "Anonymous", "Swap"):
            found[where, key] = int(rest.split()[0])
    return found


def page_tables(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmPTE"):
            return int(line.split()[1])
    return None


WAYS = [[], ["watch"]]


def ids(args):
    return "watched" if args else "looked at"


# --- what is copied ---

@pytest.mark.parametrize("args", WAYS, ids=ids)
def test_contents(victim, pauser, args):
    """Memory is as the victim reports it, untouched pages are not there, and values that only registers hold
    are found."""
    target = victim("still")
    where = target.ask("where")
    p = pauser(target, *args)
    had = p.pause()
    assert (had["swapped"], had["not_stopped"], had["comm"]) == (0, 0, "still"), had
    for address, size, checksum in where["blocks"]:
        assert p.ask(f"sum {address} {size}") == {"sum": checksum}
    for address, size in where["untouched"]:
        assert p.ask(f"word {address + size // 2}") == {"word": 0, "kind": 1}
    assert len(p.ask(f"find {where['kept']}")["regs"]) == 1
    assert len(p.ask(f"find {where['vector']}")["vectors"]) == 1
    told = p.ask("threads")
    assert sorted(t["tid"] for t in told) == sorted(threads(target.pid))
    assert all(t["known"] and not t["running"] and t["sp"] for t in told)
    p.end()
    assert_untouched(target)
    assert target.end() == {"damaged": 0, "eintr": 0}


def test_nothing_becomes_resident(victim, pauser):
    """No page of a sparse mapping, a deep stack or anything else becomes resident by being looked for."""
    target = victim("still")
    target.ask("quiet")
    p = pauser(target)
    before, tables = resident(target.pid), page_tables(target.pid)
    for _ in range(rounds(8, 20)):
        p.pause()
    assert (resident(target.pid), page_tables(target.pid)) == (before, tables)
    p.end()
    assert_untouched(target)
    assert target.end()["damaged"] == 0


def test_one_moment(victim, pauser):
    """Two counters that a running thread keeps equal, except between its two writes, are equal in each
    snapshot, too."""
    target = victim("still", 2)
    where = target.ask("where")
    p = pauser(target)
    seen = set()
    for _ in range(rounds(30, 500)):
        p.pause()
        for a, b in where["twins"]:
            first, second = p.word(a), p.word(b)
            assert first - second in (0, 1), (first, second)
            seen.add(first)
    assert len(seen) > rounds(15, 100), "the threads did not run between the pauses"
    p.end()
    assert_untouched(target)
    assert target.end()["damaged"] == 0


def test_it_grows(victim, pauser):
    """More memory than at the last pause, and a mapping that goes away."""
    target = victim("still")
    p = pauser(target)
    small = p.pause()["bytes"]
    target.ask("grow 64")
    large = p.pause()["bytes"]
    assert 63 << 20 < large - small < 66 << 20
    target.ask("shrink")
    assert p.pause()["bytes"] < small + (2 << 20)
    p.end()
    assert target.end()["damaged"] == 0


# --- duration ---

def test_too_long_is_not_begun(victim, pauser):
    target = victim("still")
    p = pauser(target)
    had = p.ask("pause 1000")
    assert (had["r"], had["had_ns"], had["tries"]) == (-62, 0, 0), had  # ETIME
    assert had["expected_ns"] > 1000
    p.pause(10_000_000_000)
    p.end()
    assert_untouched(target)
    assert target.end() == {"damaged": 0, "eintr": 0}


def test_crowd_is_stopped_once(victim, pauser):
    """None of its threads runs, so the keeper's loop has not yet had a round when it is first asked for their
    number."""
    target = victim("crowd", 400)
    for _ in range(rounds(3, 20)):
        p = pauser(target)
        had = p.pause()
        assert (had["tries"], had["threads"]) == (1, 401), had
        p.end()
    assert_untouched(target)
    assert target.end() == {"eintr": 0, "short": 0}


@pytest.mark.alone
def test_shares_of_the_time_of_a_crowd(victim, attach):
    """The totals that stopped_seconds is a part of: the time of all threads, and of those that call."""
    target = victim("crowd", 400)
    run = attach(target, "-d", "2s").finish(sig=None)["run"]
    assert 401 * 0.9 * run["seconds"] < run["thread_s"] < 401 * 1.1 * run["seconds"]
    assert (run["hitting_threads"], run["hitting_s"], run["hitting_stopped_s"]) == (0, 0, 0)
    assert_untouched(target)
    target.end()
    target = victim("hot", 3)
    run = attach(target, "-d", "2s").finish(sig=None)["run"]
    assert 4 * 0.9 * run["seconds"] < run["thread_s"] < 4 * 1.1 * run["seconds"]
    assert run["hitting_threads"] == 3
    assert 3 * 0.7 * run["seconds"] < run["hitting_s"] < 3 * 1.1 * run["seconds"]
    assert 0.2 * run["hitting_s"] < run["hitting_stopped_s"] <= run["stopped_s"] < run["thread_s"]
    target.end()


def test_crowd_too_large_is_not_stopped(victim, pauser):
    target = victim("crowd", 3000)
    for _ in range(3):
        p = pauser(target)
        had = p.ask("pause 50000000")
        assert (had["r"], had["had_ns"], had["tries"]) == (-62, 0, 0), had  # ETIME
        assert had["expected_ns"] > 50_000_000
        p.end()
    assert_untouched(target)
    target.end()


@pytest.mark.alone
@pytest.mark.parametrize("crowd", everyday([(10, 30, 32), (0, 1, 16)], [(10, 30, 32), (50, 50, 50), (0, 1, 16)]))
def test_expected_under_load(victim, pauser, crowd):
    """Running threads make a pause long: sleeping threads must run to stop, and wait behind them."""
    target = victim("crowd", *crowd)
    ratios = []
    for _ in range(rounds(1, 10)):
        p = pauser(target)
        ratios += [had["expected_ns"] / had["had_ns"] for had in (p.pause() for _ in range(4))]
        p.end()
    assert sorted(ratios)[len(ratios) // 4] > 0.5, ratios
    assert_untouched(target)
    assert target.end() == {"eintr": 0, "short": 0}


# --- the target does not notice ---

@pytest.mark.parametrize("args", WAYS, ids=ids)
def test_storm(victim, pauser, args):
    """Sleepers of every kind see no EINTR, signals come once, memory and masks are intact."""
    target = victim("storm", 64)
    target.say("signals")
    p = pauser(target, *args)
    for _ in range(rounds(25, 300)):
        p.pause()
        random_moment(0.02)
    p.end()
    assert_untouched(target)
    told = target.end()
    assert_unharmed(told)
    assert told["sent"] > 0


def test_time_outs_come(victim, pauser):
    """Calls that would start their wait anew after each pause still end when their timeout is over, although
    pauses come faster than that."""
    target = victim("storm", 40)
    p = pauser(target)
    end = time.monotonic() + 4
    while time.monotonic() < end:
        p.pause()
        random_moment(0.01)
    p.end()
    told = target.end()
    assert (told["eintr"], told["odd"], told["damaged"]) == (0, 0, 0), told
    for kind in "epoll_wait", "semtimedop", "sigtimedwait":
        assert told["idle_kinds"][kind] >= 20, told


@pytest.mark.alone
@pytest.mark.parametrize("args", WAYS, ids=ids)
def test_transfers_are_whole(victim, pauser, args):
    """A thread in the middle of moving bytes is not interrupted: its call would return a smaller number. It
    is reported as running."""
    target = victim("transfers")
    p = pauser(target, *args)
    left, placed, pauses = 0, 0, rounds(40, 200)
    for _ in range(pauses):
        had = p.pause()
        left += had["not_stopped"]
        told = p.ask("threads")
        unknown = [t for t in told if not t["known"]]
        # no sp: the thread woke up while it was looked at
        assert len(unknown) == had["not_stopped"] and all(t["running"] for t in unknown), told
        placed += sum(t["sp"] != 0 for t in unknown)
        assert len(told) == len(threads(target.pid))
        random_moment(0.02)
    p.end()
    assert_untouched(target)
    told = target.end()
    # a thread that waits for a processor all the time while it is checked looks like a running one; before,
    # each pause cut all five
    assert sum(told["short"].values()) <= at_most(pauses / 20), told
    assert all(told["full"].values()) and placed > left / 2, (told, left, placed)


@pytest.mark.alone
@pytest.mark.parametrize("args", WAYS, ids=ids)
def test_transfers_are_whole_at_both_ends(victim, pauser, args):
    """When attaching and detaching, a running thread has a while to fall asleep. When it was interrupted at
    once, twelve times cut 5 to 19 calls."""
    cut = 0
    for _ in range(rounds(10, 50)):
        target = victim("transfers")
        random_moment(0.1)
        p = pauser(target, *args)
        random_moment(0.1)
        p.end()
        assert_untouched(target)
        cut += sum(target.end()["short"].values())
    assert cut <= at_most(rounds(10, 50) / 5)


@pytest.mark.parametrize("mode", ["fork", "big", "vfork", "spawn", "system", "exec", "shared", "thread"])
@pytest.mark.parametrize("args", WAYS, ids=ids)
def test_makers(victim, pauser, mode, args):
    """Children and threads are made meanwhile: each ends as it should, none runs in the pause."""
    target = victim("forker", mode)
    p = pauser(target, *args)
    for _ in range(rounds(12, 300)):
        p.pause()
        random_moment(0.01)
    p.end()
    assert_untouched(target)
    told = target.end()
    assert (told["killed"], told["wrong"], told["damaged"]) == (0, 0, 0), told
    assert told["made"] > 5


def test_every_hit_once(victim, pauser):
    """Hits that happen during a pause are reported after it, once."""
    target = victim("still")
    target.ask("quiet")
    p = pauser(target, "watch")
    p.ask("hits")
    pauses = 0
    for _ in range(rounds(5, 50)):
        answer = {}
        order = threading.Thread(target=lambda: answer.update(target.ask("pairs 5000", 120)))
        order.start()
        while order.is_alive():
            p.pause()
            pauses += 1
            random_moment(0.005)
        order.join()
        hits = p.ask("hits")
        assert (hits["malloc"], hits["free"], hits["dropped"]) == (answer["pairs"], answer["pairs"], 0), hits
    assert pauses > 5
    p.end()
    assert_untouched(target)
    assert target.end() == {"damaged": 0, "eintr": 0}


def test_in_vfork(victim, pauser):
    """A thread that waits for its vfork child cannot be stopped, and does not run; the child, in the same
    memory, is stopped."""
    target = victim("still")
    p = pauser(target)
    child = target.ask("vfork")["child"]
    for _ in range(rounds(5, 50)):
        had = p.pause()
        assert had["not_stopped"] == 1, had
        told = p.ask("threads")
        unknown = [t for t in told if not t["known"]]
        assert len(unknown) == 1 and not unknown[0]["running"] and unknown[0]["sp"], told
        assert child in [t["tid"] for t in told if t["known"]]
    p.end()
    assert_untouched(target)
    # it is already in vfork when it is seized
    p = pauser(target)
    assert p.pause()["not_stopped"] == 1
    assert target.ask("endvfork") == {"status": 7}
    assert p.pause()["not_stopped"] == 0
    p.end()
    assert_untouched(target)
    assert target.end() == {"damaged": 0, "eintr": 0}


def test_steps(victim, pauser):
    """A pause in the middle of an instruction that is stepped elsewhere: executed once, reported once."""
    target = victim("indirect")
    p = pauser(target, "watch", "free step_free ptr=arg1", "free sse_free ptr=arg1")
    for _ in range(rounds(2, 20)):
        p.ask("hits")
        target.say("go 2000")
        while not target.out.all[target.out.taken:]:
            p.pause()
        told = json.loads(target.out.take())
        hits = p.ask("hits")
        assert (hits["others"], hits["dropped"]) == (told["calls"]["step_free"] + told["calls"]["sse_free"], 0), (hits, told)
    p.end()
    assert_untouched(target)
    assert target.end() == {"ended": True}


def test_stopped_stays_stopped(victim, pauser):
    target = victim("hot", 3, 5)
    os.kill(target.pid, signal.SIGSTOP)
    wait_for(lambda: stopped(target.pid), "it is stopped")
    p = pauser(target)
    for _ in range(rounds(10, 100)):
        had = p.pause()
        assert (had["threads"], had["not_stopped"]) == (9, 0)
        assert all(t["known"] for t in p.ask("threads"))
    p.end()
    assert_untouched(target, stopped_before=True)
    os.kill(target.pid, signal.SIGCONT)
    target.wait_working()
    assert target.end()["damaged"] == 0


def test_stopped_and_continued_meanwhile(victim, pauser):
    """SIGSTOP and SIGCONT at any moment of a pause: the last of them decides whether it runs."""
    target = victim("hot", 3, 5)
    p = pauser(target)
    going = threading.Event()

    def stop_and_go():
        while not going.is_set():
            os.kill(target.pid, random.choice([signal.SIGSTOP, signal.SIGCONT]))
            random_moment(0.003)

    other = threading.Thread(target=stop_and_go)
    other.start()
    try:
        for _ in range(rounds(40, 500)):
            p.pause()
    finally:
        going.set()
        other.join()
    os.kill(target.pid, signal.SIGSTOP)
    wait_for(lambda: stopped(target.pid), "it is stopped")
    p.pause()
    p.end()
    assert_untouched(target, stopped_before=True)
    os.kill(target.pid, signal.SIGCONT)
    target.wait_working()
    assert target.end()["damaged"] == 0


# --- sudden ends, in the middle of a pause ---

def paused(p):
    assert p.ask("stop 30000000000")["r"] >= 0
    assert state_letters(p.target) <= {"t", "T"}, "not everybody stands"


def at_any_moment(p):
    """While pauses begin, copy and end."""
    p.say("pause\n" * 50)
    random_moment(0.05)


@pytest.mark.parametrize("when", [paused, at_any_moment])
@pytest.mark.parametrize("args", WAYS, ids=ids)
def test_mmattach_killed(victim, pauser, args, when):
    target = victim("storm", 32)
    target.say("signals")
    for _ in range(rounds(6, 50)):
        p = pauser(target, *args)
        when(p)
        p.process.kill()
        p.wait()
        wait_untraced(target.pid, SOON)
        assert_untouched(target)
    assert_unharmed(target.end())


@pytest.mark.parametrize("args", WAYS, ids=ids)
def test_keeper_asked_to_leave(victim, pauser, args):
    target = victim("storm", 32)
    target.say("signals")
    for _ in range(rounds(5, 50)):
        p = pauser(target, *args)
        paused(p)
        os.kill(p.keeper, signal.SIGTERM)
        wait_untraced(target.pid, SOON)
        assert_untouched(target)
        assert p.ask("resume")["r"] < 0
        assert p.ask("pause")["r"] < 0
        p.process.stdin.close()
        p.wait()
    assert_unharmed(target.end())


@pytest.mark.parametrize("sig", [signal.SIGSEGV, signal.SIGABRT])
def test_keeper_crashes(victim, pauser, sig):
    target = victim("storm", 32)
    for _ in range(rounds(5, 50)):
        p = pauser(target, "watch")
        paused(p)
        os.kill(p.keeper, sig)
        wait_untraced(target.pid, SOON)
        assert_untouched(target)
        p.process.stdin.close()
        p.wait()
    told = target.end()
    assert (told["eintr"], told["odd"], told["damaged"]) == (0, 0, 0), told


def test_keeper_killed(victim, pauser):
    """After SIGKILL the effect of an interrupt on a sleeping call cannot be undone; but all threads
    continue."""
    target = victim("hot", 3, 5)
    for _ in range(rounds(6, 50)):
        p = pauser(target)
        paused(p)
        os.kill(p.keeper, signal.SIGKILL)
        wait_untraced(target.pid, SOON)
        assert_untouched(target)
        assert p.ask("pause")["r"] < 0
        p.process.stdin.close()
        p.wait()
    target.wait_working()
    assert target.end()["damaged"] == 0


@pytest.mark.parametrize("why", ["it was stopped", "it takes too long"])
def test_the_limit(victim, pauser, why):
    """mmattach does not finish in time: the keeper ends the pause, and its result is discarded."""
    target = victim("storm", 32)
    p = pauser(target)
    limit = 20 * SOON if why == "it was stopped" else 0.2
    for _ in range(rounds(3, 20)):
        assert p.ask(f"stop {int(limit * 1e9)}")["r"] >= 0
        if why == "it was stopped":
            os.kill(p.pid, signal.SIGSTOP)
        wait_for(lambda: not state_letters(target.pid) & {"t", "T"}, "it runs again", SOON)
        os.kill(p.pid, signal.SIGCONT)
        assert p.ask("resume")["r"] == -110  # ETIMEDOUT
        p.pause()
    p.end()
    assert_untouched(target)
    told = target.end()
    assert (told["eintr"], told["odd"], told["damaged"]) == (0, 0, 0), told


def test_limit_while_it_copies(victim, pauser):
    """A complete pause with a limit that is too short: -ETIMEDOUT or -ETIME, and the next one succeeds."""
    target = victim("still")
    target.ask("grow 120")
    p = pauser(target)
    for _ in range(everyday(3, 5)):
        assert p.ask("pause 0 3000000")["r"] in (-110, -62)
    p.pause()
    p.end()
    assert_untouched(target)
    assert target.end() == {"damaged": 0, "eintr": 0}


def test_keeper_stopped(victim, pauser):
    """The keeper is stopped by a signal in the middle: mmattach continues it, and the target runs again; the
    pause fails or succeeds."""
    target = victim("still")
    target.ask("grow 150")
    p = pauser(target)
    caught = 0
    for _ in range(20):
        p.say("pause 0 1000000000")
        taken = p.out.taken
        while len(p.out.all) == taken and not state_letters(target.pid) <= {"t", "T"}:
            pass
        os.kill(p.keeper, signal.SIGSTOP)
        wait_for(lambda: stopped(p.keeper) or len(p.out.all) > taken, "the keeper is stopped, or was continued already")
        in_time = len(p.out.all) == taken and state_letters(target.pid) <= {"t", "T"}
        assert json.loads(p.out.take())["r"] in (0, -110)  # ETIMEDOUT
        if in_time:
            wait_for(lambda: not state_letters(target.pid) & {"t", "T"}, "the target runs again", SOON)
            caught += 1
        os.kill(p.keeper, signal.SIGCONT)  # the signal may have come when all was over
        if caught == everyday(1, 2):
            break
    assert caught, "no stop has come in the middle of a pause"
    assert p.pause()["not_stopped"] == 0
    p.end()
    assert_untouched(target)
    assert target.end()["damaged"] == 0


# --- ends of the target ---

def test_target_killed(victim, pauser):
    for _ in range(rounds(3, 20)):
        target = victim("hot", 3, 5)
        p = pauser(target)
        paused(p)
        target.process.kill()
        target.wait()
        assert p.ask("pause")["r"] < 0
        p.process.stdin.close()
        p.wait()


def seized_before_exec(pauser, target, args):
    """An exec while the threads are being seized makes that fail, and the next program is left alone."""
    for _ in range(5):
        try:
            return pauser(target, *args)
        except AssertionError as refused:
            assert "No such process" in str(refused)
            wait_untraced(target.pid, SOON)
            assert target.alive()
    assert False, "five times in a row"


@pytest.mark.parametrize("args", WAYS, ids=ids)
def test_target_execs(victim, pauser, args):
    """exec during pauses: a pause is of one program, or fails; the next program runs untouched."""
    target = victim("reexec")
    results = set()
    for _ in range(rounds(10, 50)):
        p = seized_before_exec(pauser, target, args)
        for _ in range(10):
            results.add(p.ask("pause")["r"])
        p.end()
        assert target.alive()
        assert not tracers(target.pid)
    assert 0 in results
    assert results <= {0, -3, -11, -110}, results  # ESRCH, EAGAIN, ETIMEDOUT
    target.process.stdin.close()
    told = json.loads(target.out.take())
    assert target.wait() == 0, target.said()
    assert told["execs"] > 5 and told["bad"] == 0, told
