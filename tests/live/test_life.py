# SPDX-License-Identifier: MIT
"""What live processes do: load and unload modules, exec other programs, end, trap themselves, jump."""
import json
import os
import re
import signal
import time

import pytest

from harness import VICTIMS, Watch, hits, lost, rounds, wait_for
from soak import MORE_KB, resident_kb
from untouched import assert_untouched

PLUG = ["--probe", "alloc plug_malloc size=arg1", "--probe", "free plug_free",
        "--probe", "alloc malloc", "--probe", "free free"]
INDIRECT = [arg for rule in ("alloc tail_alloc size=arg1", "free tail_free", "alloc sse_alloc size=arg1",
                             "free sse_free", "free step_free", "alloc wild_alloc size=arg1")
            for arg in ("--probe", rule)]


# --- modules that are loaded and unloaded ---

def open_files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def test_dlopen(victim, attach):
    """A module that is loaded during the watch is watched from its constructor on, each time again."""
    target = victim("dl")
    watch = attach(target, *PLUG)
    for _ in range(3):
        target.ask("open")
        target.ask("call 25")
        target.ask("close")
    report = watch.finish()
    assert_untouched(target)
    told = target.end()
    assert hits(report, "alloc plug_malloc") == told["allocs"]
    assert hits(report, "free plug_free") == told["frees"]
    assert lost(report) == {}


def test_opened_a_thousand_times(victim, attach):
    """Each time its instructions are stepped in the same padding as before: every call is seen, and no memory
    or file count grows."""
    target = victim("dl")
    watch = attach(target, "--probe", "alloc plug_malloc size=arg1", "--probe", "free plug_step_free", *PLUG[4:])
    target.ask("cycles 200 3", limit=60)
    before = resident_kb(watch.pid), resident_kb(watch.keeper()), open_files(watch.pid)
    target.ask("cycles 1000 3", limit=120)
    after = resident_kb(watch.pid), resident_kb(watch.keeper()), open_files(watch.pid)
    report = watch.finish()
    assert_untouched(target)
    told = target.end()
    assert told["opens"] == 1200 and lost(report) == {}, report["run"]
    assert hits(report, "alloc plug_malloc") == told["allocs"]
    assert hits(report, "free plug_step_free") == told["frees"]
    assert after[0] < before[0] + MORE_KB and after[1] < before[1] + MORE_KB and after[2] == before[2], (before, after)


def test_detached_while_a_module_is_open(victim, attach):
    target = victim("dl")
    watch = attach(target, *PLUG)
    target.ask("open")
    target.ask("call 5")
    watch.finish()
    assert_untouched(target)
    target.ask("call 5")
    target.ask("close")
    assert_untouched(target)
    target.end()


def test_module_closed_that_was_there_before(victim, attach):
    """Its traps disappeared with its memory; detaching must cope with that."""
    target = victim("dl")
    target.ask("open")
    watch = attach(target, *PLUG)
    target.ask("call 9")
    target.ask("close")
    report = watch.finish()
    assert hits(report, "alloc plug_malloc") == 9
    assert_untouched(target)
    target.end()


# --- ends ---

def wait_pairs(target):
    """Wait until its threads have called malloc and free from now on."""
    before = target.ask("rate")["pairs"]
    wait_for(lambda: target.ask("rate")["pairs"] > before, "its threads are hot")


@pytest.mark.parametrize("order, status", [
    ("exit", 7), ("_exit", 8), ("thread_exit", 9), ("abort", -signal.SIGABRT), ("crash", -signal.SIGSEGV),
])
def test_ends_by_itself(victim, attach, order, status):
    """It ends as it would have without us, and there is a report."""
    for _ in range(rounds(3, 50)):
        target = victim("exits")
        watch = attach(target)
        wait_pairs(target)
        target.say(order)
        assert target.wait() == status
        assert watch.finish(sig=None)["totals"]["allocs"] > 0


def test_killed(victim, attach):
    for _ in range(rounds(3, 50)):
        target = victim("exits")
        watch = attach(target)
        wait_pairs(target)
        target.process.kill()
        assert target.wait() == -signal.SIGKILL
        assert watch.finish(sig=None)["totals"]["allocs"] > 0


def test_leader_ends_alone(victim, attach):
    """A process whose leader has ended is a live process."""
    target = victim("exits")
    watch = attach(target)
    target.say("leader")
    wait_for(lambda: "Z" in open(f"/proc/{target.pid}/task/{target.pid}/stat").read().rpartition(")")[2].split()[0],
             "the leader has ended")
    wait_pairs(target)
    report = watch.finish()
    assert report["totals"]["allocs"] > 0
    assert_untouched(target)
    wait_pairs(target)
    target.end()


@pytest.mark.parametrize("unwinder", ["dwfl", "check"])
def test_leader_ended_before(victim, attach, unwinder):
    """Its memory is read through a thread that is alive."""
    target = victim("exits")
    target.say("leader")
    wait_for(lambda: "Z" in open(f"/proc/{target.pid}/task/{target.pid}/stat").read().rpartition(")")[2].split()[0],
             "the leader has ended")
    wait_pairs(target)
    watch = attach(target, "--unwinder", unwinder)
    wait_pairs(target)
    report = watch.finish()
    assert report["totals"]["allocs"] > 0
    assert (report["run"]["stacks_cut"], report["run"]["stacks_lost"]) == (0, 0)
    assert_untouched(target)
    target.end()


EXEC_LIMIT = 0.7  # seconds; a thread held at its end would be released after one


@pytest.mark.alone
@pytest.mark.parametrize("order", ["exec", "thread_exec"])
def test_exec(victim, attach, order):
    """The new program runs unwatched, at once, and there are no traps in it."""
    for _ in range(rounds(3, 50)):
        target = victim("exits")
        watch = attach(target)
        wait_pairs(target)
        began = time.monotonic()
        target.say(order)
        target.expect_ready()
        assert time.monotonic() - began < EXEC_LIMIT
        assert watch.finish(sig=None)["totals"]["allocs"] > 0
        assert target.ask("rate")["pairs"] >= 0
        assert_untouched(target)
        target.end()


@pytest.mark.alone
def test_thread_killed_alone(victim, attach):
    """By seccomp, which looks like the death of all threads: the thread that joins it must not have to wait
    for us."""
    target = victim("exits")
    watch = attach(target)
    for _ in range(3):
        assert target.ask("kill_thread")["joined_ms"] < EXEC_LIMIT * 1000
    watch.finish()
    assert_untouched(target)
    target.end()


@pytest.mark.alone
def test_duration(victim, attach):
    target = victim("hot", 1)
    report = attach(target, "-d", "1s").finish(sig=None)
    assert 0.9 < report["run"]["seconds"] < 3
    assert_untouched(target)
    target.end()


# --- traps and signals of its own ---

def test_own_int3(victim, attach):
    """Each SIGTRAP of its own arrives, once, with the right origin; none of ours does."""
    target = victim("own_int3")
    for _ in range(rounds(4, 50)):
        watch = attach(target, "--lose-sigtrap", "-d", "300ms")
        watch.finish(sig=None)
        assert_untouched(target)
    assert_sigtraps_arrived(target.end())


def assert_sigtraps_arrived(told):
    for kind in ("int3", "raised", "killed"):
        done, seen = told[kind]
        assert done == seen and done > 0, told
    assert (told["strange"], told["damaged"]) == (0, 0), told
    assert told["handler_kept"] and told["mask_kept"], told


def test_own_handler_would_be_lost(victim, watch):
    """It handles SIGTRAP, and the kernel may reset the handler at a trap. Refused, unless the user says that
    this does not matter (or names no engine: test_uprobe.py)."""
    target = victim("own_int3", "masked")
    refused = watch("-p", target.pid, "-d", "1s", "--engine", "ptrace")
    assert refused.wait() == 1
    said = refused.err.text()
    assert "handles SIGTRAP" in said and "--lose-sigtrap" in said, said
    assert_untouched(target)
    assert_sigtraps_arrived(target.end())


# --- functions that are difficult to trap ---

def test_indirect(victim, attach):
    target = victim("indirect")
    watch = attach(target, *INDIRECT)
    told = target.ask("go 400", limit=120)
    report = watch.finish()
    assert told["left"] > 0
    for function, calls in told["calls"].items():
        assert sum(hits(report, f"{op} {function}") for op in ("alloc", "free")) == calls, function
    totals = report["totals"]
    assert (totals["allocs"], totals["frees"]) == (told["allocs"], told["frees"])
    assert (totals["live_blocks"], totals["live_bytes"]) == (told["live_blocks"], told["live_bytes"])
    assert lost(report) == {}
    assert_untouched(target)
    target.ask("go 50")
    target.end()


RETURNS = ["--probe", "alloc tail_alloc size=arg1", "--probe", "free free"]


def test_returns_to_made_code(victim, attach):
    """No trap can be where its calls end: it is held there for an answer once, all are counted, and what is called
    after one that has ended unseen is seen."""
    target = victim("jit")
    watch = attach(target, "--debug=event", *RETURNS)
    target.ask("returns 500")
    target.ask("inside 100")
    report = watch.finish()
    assert lost(report) == {"end of a call not seen": 600}
    assert hits(report, "alloc tail_alloc") == 100
    # what they allocate is mostly at the address that was freed last
    assert report["totals"]["double_frees"] == 0
    # one of each place in the made code, and of that in the program
    held = [line for line in watch.err.all if re.search(r"event: \d+ tail_alloc .*held", line)]
    assert len(held) == 3, held
    assert_untouched(target)
    target.end()


def test_returns_to_what_is_loaded_where_code_was_made(victim, attach):
    """That no trap could be there is forgotten when a module comes."""
    target = victim("jit")
    watch = attach(target, *RETURNS)
    assert target.ask(f"moved {VICTIMS / 'libplug.so'} 50") == {"same": True}
    report = watch.finish()
    assert lost(report) == {"end of a call not seen": 50}
    assert hits(report, "alloc tail_alloc") == 50
    assert_untouched(target)
    target.end()


def test_indirect_detached_in_the_middle(victim, attach):
    """Detach while functions that need a return trap are being called, deep in their recursion."""
    target = victim("indirect")
    for _ in range(rounds(5, 100)):
        watch = attach(target, *INDIRECT)
        target.say("go 3000")
        watch.finish()
        assert_untouched(target)
        assert target.out.take(120)
    assert target.end() == {"ended": True}


# --- other ways to be linked ---

@pytest.mark.parametrize("name", ["hot_static", "hot_static_pie"])
def test_static(victim, attach, name):
    target = victim(name, 2)
    watch = attach(target)
    target.wait_working()
    report = watch.finish()
    assert hits(report, "alloc malloc") > 0 and hits(report, "free free") > 0
    assert_untouched(target)
    assert target.end()["damaged"] == 0


def test_probes_are_shown(victim):
    """`probes -p PID` shows for each function where the trap would go, and does not change the process."""
    target = victim("hot", 1)
    shown = Watch("probes", "-p", target.pid, json_report=False)
    assert shown.wait() == 0, shown.said()
    for function in ("malloc", "calloc", "realloc", "free", "posix_memalign"):
        assert function in shown.out.text()
    assert_untouched(target)
    target.end()


def probes(target, *options, status=0):
    shown = Watch("probes", "-p", target.pid, *options, json_report=False)
    assert shown.wait() == status, shown.said()
    return shown.out.text()


def test_probes_as_json(victim):
    """The same as in the text, site by site; and why a function is not watched."""
    target = victim("hot", 1)
    got = json.loads(probes(target, "--json"))
    assert got["target"]["pid"] == target.pid and {"name": "libc"}.items() <= got["families"][0].items()
    plans = {plan["function"]: plan for plan in got["plans"]}
    assert (plans["malloc"]["plan"], plans["malloc"]["family"], plans["malloc"]["rule"]) == ("exits", "libc", "alloc malloc size=arg1")
    assert plans["realloc"]["plan"] == "entry-exits" and {s["kind"] for s in plans["realloc"]["sites"]} == {"entry", "exit"}
    biases = {int(s["address"], 16) - int(s["offset"], 16) for s in (*plans["malloc"]["sites"], plans["malloc"]["entry"])}
    assert len(biases) == 1 and biases.pop() % 4096 == 0 and plans["malloc"]["build_id"]
    text = probes(target)
    for plan in got["plans"]:
        assert f"{plan['op']} {plan['function']}: {plan['stops']:g} stop" in text
        for site in plan["sites"]:
            assert re.search(rf"^ +{site['address']}  {re.escape(site['instruction'])} +{site['kind']}.*, {site['how']}$", text, re.M)
    assert sum(len(plan["sites"]) for plan in got["plans"]) == len(re.findall("^    0x", text, re.M))
    # of two rules for one function the second is refused; a scope belongs to no family
    two = json.loads(probes(target, "--json", "--in", "calloc", "--probe", "free free", "--probe", "ref free"))["plans"]
    (none,) = [plan for plan in two if plan["plan"] == "none"]
    assert none["function"] == "free" and none["reason"] and none["sites"] == [] and none["stops"] == 0
    assert [plan["family"] for plan in two if plan["op"] == "in"] == [None]
    assert json.loads(probes(target, "--json", "--probe", "alloc no_such_function", status=1))["plans"] == []
    assert_untouched(target)
    target.end()
