# SPDX-License-Identifier: MIT
"""A budget is kept, by the target's own clock; what is counted under it is right; and the target is not
harmed.

tests/tools/meterer keeps traps planted at malloc's ends as far as a budget allows.
"""
import ctypes
import itertools
import json
import os
import pathlib
import signal
import time

import pytest

from copies import allow_files, copy_at_a_trap
from harness import TOP, Program, Watch, everyday, last_for, random_moment, rounds, wait_for
from untouched import assert_untouched, code_differences, state_letters, stopped, wait_untraced

METERER = TOP / os.environ.get("MM_BUILD", "build/release") / "tools/meterer"
MALLOC = "alloc malloc size=arg1"
SCHED_GETATTR = 315
LEFT_ASKED, LEFT_TERM, LEFT_BUDGET = 1, 5, 11


TOO_DEAR = "staying attached cost more than the budget"


class Meterer(Program):
    """ppm and wishes in the form the tool takes them."""

    def __init__(self, pid, ppm, quota, period_ms, *rules):
        super().__init__([METERER, pid, ppm, quota, period_ms, *(rules or [MALLOC])])
        line = self.out.take()
        assert line, self.said()
        self.keeper = json.loads(line)["keeper"]

    def ask(self, line):
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pytest.fail(f"it has ended: {self.said()} {self.last_words()}")
        answer = self.out.take()
        assert answer, self.said()
        return json.loads(answer)

    def told(self):
        return self.ask("told")

    def end(self):
        """Its last output: the sums, and how the keeper has left."""
        self.process.stdin.close()
        assert self.wait() == 0, self.said()
        return self.last_words()

    def last_words(self):
        self.wait()
        return [json.loads(line) for line in self.out.text().splitlines()][-2:]


@pytest.fixture
def meterer():
    """meterer(VICTIM, PPM, QUOTA, PERIOD_MS): seized, its traps planted in rounds."""
    started = []

    def start(target, *args):
        started.append(Meterer(target.pid, *args))
        return started[-1]

    yield start
    for m in started:
        if m.alive():
            m.process.stdin.close()
            try:
                m.process.wait(10)
            except Exception:  # whatever the error, it must not stay
                m.kill()


def stood_ns(pid):
    """How long its threads except the first neither ran nor waited for a processor, since they began. They
    never sleep: so they were stopped then, or the machine itself was."""
    sum_ns = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        if int(tid) != pid:
            ran, waited, _ = pathlib.Path(f"/proc/{pid}/task/{tid}/schedstat").read_text().split()
            sum_ns += time.monotonic_ns() - int(ran) - int(waited)
    return sum_ns


def stolen_ns():
    """The processor time that the host has taken from this machine."""
    return int(pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[8]) * 1000000000 // os.sysconf("SC_CLK_TCK")


class Share:
    """The largest share of ten seconds in which threads were stopped."""

    def __init__(self, pid):
        self.pid = pid
        self.seen = []

    def watch(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.seen.append((time.monotonic(), stood_ns(self.pid)))
            time.sleep(0.05)
        return self

    def worst(self):
        return max(later - before for at, before in self.seen for then, later in self.seen if at < then <= at + 10) / 10e9


class Turns(ctypes.Structure):
    """struct sched_attr, as far as it is used here."""
    _fields_ = [("size", ctypes.c_uint32), ("policy", ctypes.c_uint32), ("flags", ctypes.c_uint64), ("nice", ctypes.c_int32), ("priority", ctypes.c_uint32),
                ("runtime", ctypes.c_uint64), ("deadline", ctypes.c_uint64), ("period", ctypes.c_uint64)]


def turns_of(pid):
    attr = Turns()
    assert ctypes.CDLL(None, use_errno=True).syscall(SCHED_GETATTR, pid, ctypes.byref(attr), ctypes.sizeof(attr), 0) == 0, os.strerror(ctypes.get_errno())
    return attr


def test_turns_of_the_keeper_are_short(victim, meterer):
    """A stopped thread waits for the keeper: from Linux 6.12 on the keeper need not wait until the running
    thread's slice is over. The target's slices do not change."""
    target = victim("paced", 1, 1000)
    before = turns_of(target.pid).runtime
    keeper = turns_of(meterer(target, 10000, 0, 1000).keeper)
    assert turns_of(target.pid).runtime == before
    if not before:
        pytest.skip("optional: a kernel that grants nobody a turn of his own")
    assert keeper.runtime == 100000


@pytest.mark.alone
@pytest.mark.parametrize("policy", [os.SCHED_OTHER, os.SCHED_BATCH, os.SCHED_IDLE])
def test_nobody_goes_before_the_keeper(victim, policy):
    """A stopped thread waits for the keeper, so its policy is normal, however mmattach was started."""
    target = victim("paced", 1, 1000)
    watch = Watch("-p", target.pid, preexec_fn=lambda: os.sched_setscheduler(0, policy, os.sched_param(0))).wait_watching()
    assert os.sched_getscheduler(watch.pid) == policy
    assert os.sched_getscheduler(watch.keeper()) == os.SCHED_OTHER
    watch.finish()
    assert_untouched(target)


@pytest.mark.alone
@pytest.mark.parametrize("rate, ppm", everyday([(1000000, 10000)], itertools.product([200000, 1000000], [1000, 10000, 50000])))
def test_promise_of_one_thread(victim, meterer, rate, ppm):
    """As many hits as the budget allows: by the keeper's account the promise is kept, and the kernel's
    account agrees with it."""
    target = victim("paced", 1, rate)
    # what other processes and the host take, in two seconds
    alone = Share(target.pid).watch(2).worst() * 5
    before = stolen_ns()
    m = meterer(target, ppm, 0, 1000)
    share = Share(target.pid).watch(everyday(12, 60)).worst()
    told, left = m.end()
    # without a processor the keeper cannot continue a thread
    stolen = (stolen_ns() - before) / 10e9
    assert left["left"] == LEFT_ASKED and left["unlifted"] == 0
    assert told["worst_ten_ppm"] <= ppm + 1e6 * stolen, (stolen, told)
    assert told["closed"] > 0 and told["hits"] > 0, told
    assert share <= ppm / 1e6 + 2 * alone + stolen + 0.001, (share, alone, stolen, told)
    assert_untouched(target)
    assert target.end()["damaged"] == 0


@pytest.mark.alone
@pytest.mark.parametrize("ppm", everyday([1000], [1000, 10000, 50000]))
def test_promise_of_many_threads(victim, meterer, ppm):
    """All of them run into a trap at once. (The kernel's figures for threads that wait for two processors are
    too coarse here.)"""
    target = victim("paced", 32, 200000)
    before = stolen_ns()
    m = meterer(target, ppm, 0, 1000)
    # attaching stops each thread once, which cannot be spread over time: that is requested and paid before
    # anything is promised
    attaching = m.told()["spent_ns"] / 10e9 * 1e6
    last_for(everyday(12, 60))
    told, left = m.end()
    stolen = (stolen_ns() - before) / 10e9
    assert left["left"] == LEFT_ASKED
    # a host that takes the processor away while all threads are stopped causes a burst that cannot be
    # foreseen
    assert told["worst_ten_ppm"] <= 1.1 * ppm + attaching + 32e6 * stolen, (stolen, attaching, told)
    assert_untouched(target)
    assert target.end()["damaged"] == 0


@pytest.mark.alone
def test_quota_is_kept(victim, meterer):
    """A hot site: so many stops in a round, and the trap is lifted for the rest of it."""
    target = victim("paced", 1, 200000)
    m = meterer(target, 50000, 4, 200)
    wait_for(lambda: m.told()["rounds"] >= 20, "twenty rounds")
    told, _ = m.end()
    assert told["full"] >= told["rounds"] - 2, told
    assert told["records"] <= 4 * (told["rounds"] + 2) * 2, told  # from two of malloc's ends at most
    assert_untouched(target)
    target.end()


def test_rate_is_told(victim, meterer):
    """Hits divided by exposure give the target's undisturbed rate."""
    target = victim("paced", 1, 500)
    m = meterer(target, 100000, 0, 500)
    first = target.ask("pairs")
    wait_for(lambda: m.told()["hits"] >= 2000, "enough hits", 60)
    last = target.ask("pairs")
    told, _ = m.end()
    rate = (last["pairs"] - first["pairs"]) / (last["ns"] - first["ns"]) * 1e9
    estimate = told["hits"] / (told["exposed_us"] / 1e6)
    # the target reads the clock, so its hits do not scatter; but it may not run for a while
    assert 0.7 * rate < estimate < 1.4 * rate, (rate, estimate, told)
    assert told["hits2"] > 0 and told["hits_exposed"] > 0 and told["exposed2"] > 0
    target.end()


def test_a_rare_site_misses_nothing(victim, meterer):
    """As long as the budget allows it: on a busy machine one stop may take all of it."""
    target = victim("paced", 1, 20)
    m = meterer(target, 50000, 0, 500)
    wait_for(lambda: m.told()["rounds"] > 2, "it stands")

    def pairs_and_hits():
        """Pairs before, hits, and pairs after: when the hits were counted there were at least so many, and at most."""
        before, told = target.ask("pairs")["pairs"], m.told()
        return before, told, target.ask("pairs")["pairs"]

    def seen():
        """(pairs at least, hits, pairs at most) of two seconds; None: the budget was spent meanwhile."""
        first_least, before, first_most = pairs_and_hits()
        wait_for(lambda: target.ask("pairs")["pairs"] > first_most + 40, "forty pairs")
        last_least, after, last_most = pairs_and_hits()
        within = (after["closed"], after["open"]) == (before["closed"], 1)
        return (last_least - first_most, after["records"] - before["records"], last_most - first_least) if within else None

    least, hits, most = wait_for(seen, "two seconds within the budget", 120)
    assert least - 1 <= hits <= most + 1
    target.end()


def test_wishes_change(victim, meterer):
    """At any time; planting again does no harm. Without a period a trap stays planted, with one it has rounds
    again."""
    target = victim("paced", 1, 300)
    m = meterer(target, 200000, 4, 60000)
    for quota, period in (0, 200), (2, 100), (0, 0), (1, 60000), (0, 100):
        assert m.ask(f"wish {quota} {period}") == {"r": 0}
        if (quota, period) != (1, 60000):
            before = m.told()["records"]
            wait_for(lambda: m.told()["records"] > before + 5, f"hits, quota {quota}, period {period}")
    m.end()
    assert_untouched(target)
    assert target.end()["damaged"] == 0


def test_too_dear_to_stay(victim, meterer):
    """Signals alone cost more than the budget: the keeper leaves, and reports why."""
    target = victim("storm", 16)
    m = meterer(target, 20000, 4, 1000)
    target.say("signals")
    assert m.wait(60) == 0, m.said()
    assert m.last_words()[-1]["left"] == LEFT_BUDGET
    assert_untouched(target)
    told = target.end()
    assert (told["eintr"], told["damaged"], told["lost"], told["doubled"]) == (0, 0, 0, 0)


# --- a copy that cannot be cleaned

def cpu_s(pid):
    """Processor time of a process."""
    user, system = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def test_copy_that_waits_costs_nothing(victim, meterer):
    """It is stopped at a trap: the keeper does not spin because of it; and its waiting does not count as the
    target's stopped time, for which we would have to leave."""
    target = victim("indirect")
    m = meterer(target, 10000, 0, 50, "alloc sse_alloc size=arg1", "free sse_free")
    wait_for(lambda: len(code_differences(target.pid)) > 1, "they stand")
    copy_at_a_trap(target, m.keeper)
    before, spent = cpu_s(m.keeper), m.told()["spent_ns"]
    last_for(1)
    assert cpu_s(m.keeper) - before < 0.3
    allow_files(m.keeper)
    assert json.loads(target.out.take()) == {"status": 0}
    assert m.told()["spent_ns"] - spent < 500_000_000
    told, left = m.end()
    assert left["left"] == LEFT_ASKED and left["unlifted"] == 0
    assert_untouched(target)
    target.end()


@pytest.mark.parametrize("leaving", [False, True])
def test_copy_whose_trap_is_forgotten(victim, meterer, leaving):
    """While it is stopped there: its trap's number is given to another trap, and the other traps get new
    numbers. It continues when it can be cleaned."""
    target = victim("indirect")
    m = meterer(target, 200000, 0, 50, "alloc sse_alloc size=arg1", "free sse_free", "free step_free")
    wait_for(lambda: len(code_differences(target.pid)) > 1, "they stand")
    child = copy_at_a_trap(target, m.keeper)
    assert m.ask("swap 1") == {"r": 0}
    wait_for(lambda: state_letters(child) == {"t"}, "it is stopped there", 5)  # where it is stepped it runs for a moment
    if leaving:
        os.kill(m.keeper, signal.SIGSTOP)
    allow_files(m.keeper)
    if leaving:
        os.kill(m.keeper, signal.SIGTERM)
        os.kill(m.keeper, signal.SIGCONT)
        left = m.last_words()[1]
    assert json.loads(target.out.take()) == {"status": 0}
    if not leaving:
        left = m.end()[1]
    assert (left["left"], left["unlifted"], left["uncleaned"]) == (LEFT_TERM if leaving else LEFT_ASKED, 0, 0)
    assert_untouched(target)
    target.end()


# --- threads that are to wait for an answer that does not come


@pytest.mark.alone
def test_holds_are_within_the_budget(victim, meterer):
    """Every hit is requested to wait, and there is never an answer: each continues by itself, and few of them
    wait at all."""
    target = victim("paced", 1, 200000)
    before = stolen_ns()
    m = meterer(target, 10000, 0, 1000)
    m.ask("hold")
    last_for(everyday(12, 60))
    told, left = m.end()
    stolen = (stolen_ns() - before) / 10e9
    assert left["left"] == LEFT_ASKED
    assert told["unanswered"] > 5, told
    assert told["worst_ten_ppm"] <= 10000 + 1e6 * stolen, (stolen, told)
    assert told["held_ns"] <= 100e6 * everyday(12, 60) / 10, told
    assert_untouched(target)
    assert target.end()["damaged"] == 0


def held(pid):
    """Is any of its threads stopped by the tracer?"""
    return any(pathlib.Path(f"/proc/{pid}/task/{tid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "t" for tid in os.listdir(f"/proc/{pid}/task"))


@pytest.mark.parametrize("how", [signal.SIGSTOP, signal.SIGKILL])
def test_held_and_nobody_there_to_answer(victim, meterer, how):
    """The only thread that works waits for mmattach, which is stopped, or dead: it continues before that is
    noticed."""
    target = victim("paced", 1, 20000)
    for _ in range(rounds(4, 60)):
        m = meterer(target, 100000, 1, 50)
        m.ask("hold")
        wait_for(lambda: m.told()["unanswered"], "one waits")
        random_moment(0.02)
        os.kill(m.process.pid, how)
        looks = [held(target.pid) for _ in range(200) if not time.sleep(0.001)]
        assert looks.count(True) < 100, looks
        if how == signal.SIGSTOP:
            os.kill(m.process.pid, signal.SIGCONT)
            assert m.end()[1]["left"] == LEFT_ASKED
        m.wait()
        wait_untraced(target.pid, 1)
        assert_untouched(target)
    assert target.end()["damaged"] == 0


QUICK = 500000, 3, 4  # ppm, quota, period: traps are planted and lifted all the time


def attached_to(target, meterer):
    """On a busy machine the budget may be used up by the children that are made while it attaches: then it has
    left, and tries again."""
    for attempt in range(1, 11):
        try:
            return meterer(target, *QUICK)
        except AssertionError as e:
            if TOO_DEAR not in str(e) or attempt == 10:
                raise
            assert_untouched(target)


@pytest.mark.parametrize("mode", ["fork", "vfork", "spawn", "exec", "shared", "thread"])
def test_children(victim, meterer, mode):
    """Copies are made while traps are planted and lifted: no copy has one."""
    target = victim("forker", mode)
    m = attached_to(target, meterer)
    made = target.ask("made")["made"]
    wait_for(lambda: target.ask("made")["made"] >= made + (1000 if mode == "thread" else 100) or not m.alive(), "children", 120)
    if m.alive():
        m.end()
    else:
        assert m.last_words()[-1]["left"] == LEFT_BUDGET  # a busy machine
    assert_untouched(target)
    told = target.end()
    assert (told["killed"], told["wrong"], told["damaged"]) == (0, 0, 0), told


def test_storm(victim, meterer):
    """Signals, sleepers, threads that block all signals."""
    target = victim("storm", 32)
    m = meterer(target, *QUICK)
    wait_for(lambda: m.told()["rounds"] > 30, "thirty rounds", 90)
    target.say("signals")
    random_moment(1.5)
    m.end()  # unless signals have cost too much before that
    assert_untouched(target)
    told = target.end()
    assert (told["eintr"], told["odd"], told["damaged"], told["lost"], told["doubled"]) == (0, 0, 0, 0, 0), told


@pytest.mark.alone
def test_stopped_and_continued(victim, meterer):
    """Time for which its user has stopped it is not counted."""
    target = victim("hot", 3, 3)
    m = meterer(target, *QUICK)
    for _ in range(5):
        os.kill(target.pid, signal.SIGSTOP)
        wait_for(lambda: stopped(target.pid), "it is stopped")
        spent = m.told()["spent_ns"]
        random_moment(0.5)
        assert m.told()["spent_ns"] - spent < 20e6
        os.kill(target.pid, signal.SIGCONT)
        target.wait_working()
    m.end()
    assert_untouched(target)
    assert target.end()["damaged"] == 0


@pytest.mark.parametrize("order", ["exec", "thread_exec"])
def test_exec(victim, meterer, order):
    target = victim("exits")
    m = meterer(target, *QUICK)
    wait_for(lambda: m.told()["records"] > 10, "hits")
    target.say(order)
    target.expect_ready()
    assert target.ask("rate")["pairs"] >= 0
    m.end()
    assert_untouched(target)
    target.end()


AWKWARD = ["free sse_free", "free step_free"]


def test_stepped_over(victim, meterer):
    """Instructions that are stepped, in padding or in place, while their traps are planted and lifted. Threads come and go,
    too, which would cost more than the budget if they did so all the time."""
    target = victim("indirect")
    m = meterer(target, *QUICK, *AWKWARD)

    def hits():
        assert target.ask("go 100", limit=120)["left"] > 0
        last_for(0.05)
        return m.told()["records"] > 100

    wait_for(hits, "hits", 120)
    m.end()
    assert_untouched(target)
    assert target.ask("go 50")["left"] > 0
    target.end()


def test_forgotten_while_somebody_ran_into_it(victim, meterer):
    """A mapping that is wrongly taken for gone: its traps are lifted and forgotten, and their numbers are
    reused at once. A thread that had run into one continues."""
    target = victim("hot", 4)
    m = meterer(target, 500000, 3, 2, MALLOC, "free free", "alloc calloc size=arg1*arg2", "realloc realloc size=arg2")
    assert m.told()["sites"] >= 4
    for _ in range(rounds(5, 100)):
        assert m.ask("swap 100") == {"r": 0}
        target.wait_working()
    m.end()
    assert_untouched(target)
    assert target.end()["damaged"] == 0


@pytest.mark.parametrize("who", ["mmattach killed", "keeper stopped by name"])
def test_killed_while_traps_come_and_go(victim, meterer, who):
    target = victim("hot", 4)
    for _ in range(rounds(10, 200)):
        m = meterer(target, 500000, 2, 5)
        random_moment(0.1)
        if who == "keeper stopped by name":
            os.kill(m.keeper, signal.SIGTERM)
            assert m.last_words()[-1]["left"] == LEFT_TERM
        else:
            m.process.kill()
            m.wait()
        wait_untraced(target.pid, 1)
        assert_untouched(target)
    target.wait_working()
    assert target.end()["damaged"] == 0


def test_keeper_killed(victim, meterer):
    """Code under traps that are planted at that moment is restored; a trap that is being lifted just then
    needs nothing. No thread ran into a trap meanwhile."""
    target = victim("hot", 0, 4)
    for _ in range(rounds(10, 200)):
        m = meterer(target, 10000, 2, 5, "alloc malloc size=arg1", "free free", "alloc calloc size=arg1*arg2")
        random_moment(0.05)
        os.kill(m.keeper, signal.SIGKILL)
        words = m.last_words()
        assert words[-1]["left"] == 0, words
        assert_untouched(target)
    target.end()
