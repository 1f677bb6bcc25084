# SPDX-License-Identifier: MIT
"""tests/victims/sampled itself: what it prints about its allocation sites is true, they keep their rates, and
its clock distinguishes being stopped from waiting.

The tests of sampling compare their results with this output, so it has to be right first.
"""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

TOP = pathlib.Path(__file__).parent.parent
BUILD = TOP / os.environ.get("MM_BUILD", "build/release")
VICTIM = TOP / "build/victims/sampled"
LIMIT = 60  # seconds for a rate to settle; other processes on the machine may delay it
LEAKS = {"site_leak_fast": (100, 48), "site_leak_middle": (10, 160), "site_leak_slow": (1, 1000)}


class Victim:
    def __init__(self, *options, before=()):
        # malloc counts the blocks in the tcache as in use
        env = dict(os.environ, GLIBC_TUNABLES="glibc.malloc.tcache_count=0")
        self.process = subprocess.Popen([*before, VICTIM, *map(str, options)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=env)
        self.pid = int(self.process.stdout.readline().split()[1])

    def ask(self, order):
        self.process.stdin.write(order + "\n")
        return json.loads(self.process.stdout.readline())

    def end(self):
        with self.process:
            out, _ = self.process.communicate("end\n", timeout=LIMIT)
        assert self.process.returncode == 0
        return json.loads(out)


@contextlib.contextmanager
def victim(*options, before=()):
    v = Victim(*options, before=before)
    try:
        yield v
    finally:
        if v.process.poll() is None:
            v.process.kill()
            v.process.communicate()


def until(condition, what):
    end = time.monotonic() + LIMIT
    while not (value := condition()):
        assert time.monotonic() < end, what
        time.sleep(0.1)
    return value


def sites(truth):
    return {site["name"]: site for site in truth["sites"]}


def seconds(truth):
    return (truth["now_ns"] - truth["start_ns"]) / 1e9


def near(value, wanted, share=0.05):
    return abs(value - wanted) <= share * wanted


@pytest.mark.parametrize("threads", [1, 3])
def test_truth_adds_up(threads):
    """What malloc has in use grows by exactly what the sites have allocated and not freed."""
    with victim("-t", threads) as v:
        truths = [until(lambda: (t := v.ask("truth"))["pairs"] > 20_000 * n and t, "pairs are made") for n in (1, 3, 9)]
        truths.append(v.end())
    between = {t["grown"] - t["chunks"] for t in truths[:3]}
    assert len(between) == 1 and between.pop() < 65536  # threads and their arenas
    assert truths[0]["chunks"] != truths[2]["chunks"]
    for truth in truths:
        assert len(truth["sites"]) == 53
        assert sum(s["allocs"] for s in truth["sites"]) == truth["pairs"]
        for site in truth["sites"]:
            assert site["live"] == site["allocs"] - site["frees"] >= 0
            assert site["live_bytes"] >= site["live"] * site["size"]


@pytest.mark.quiet
@pytest.mark.parametrize("options", [(), ("-t", 2, "-s", 7), ("-b", 0.25)], ids=["even", "two threads", "bursts"])
def test_rates(options):
    def as_wanted():
        truth = v.ask("truth")
        at = sites(truth)
        return (seconds(truth) > 5 and near(truth["pairs"], 200_000 * seconds(truth)) and near(at["site_leak_fast"]["allocs"], 100 * seconds(truth)) and
                near(at["site_leak_middle"]["allocs"], 10 * seconds(truth), 0.1) and truth)
    with victim(*options) as v:
        truth = until(as_wanted, "rates as wanted")
        assert abs(sites(truth)["site_leak_slow"]["allocs"] - seconds(truth)) <= 3


def test_kinds():
    """Leaks are never freed; caches and requests hold the blocks of their period, the table all, the others
    hardly any."""
    with victim() as v:
        truth = until(lambda: seconds(t := v.ask("truth")) > 8 and t, "eight seconds")
    for name, site in sites(truth).items():
        if site["kind"] == "leak":
            assert site["frees"] == 0 and (site["live"], site["live_bytes"]) == (site["allocs"], site["allocs"] * LEAKS[name][1])
        elif site["kind"] == "table":
            assert site["frees"] == 0 and 1900 < site["live"] <= 2000
        elif site["kind"] in ("cache", "request"):
            assert 0 < site["live"] < 1500
        else:
            assert site["frees"] > 0 and site["live"] <= 256
    assert near(sites(truth)["site_cache_session"]["live"], 500, 0.5)
    assert sites(truth)["site_cache_token"]["frees"] == 0  # the twenty seconds are not over


def test_wrapper():
    with victim("-w") as v:
        at = sites(until(lambda: (t := v.ask("truth")) and sites(t)["site_leak_wrapped"]["live"] > 3 and t, "it leaks"))
    assert at["site_leak_wrapped"]["call"] == "victim_alloc" and at["site_leak_wrapped"]["size"] == 160
    assert "site_leak_middle" not in at


def test_each_place_has_its_call():
    """One call of an allocator in each function, and one in the wrapper."""
    tool = BUILD / "tools/callsites"
    if not tool.exists() or not shutil.which("nm"):
        pytest.skip("no tools, or no nm")
    symbols = {line.split()[2]: line.split()[0] for line in subprocess.check_output(["nm", VICTIM], text=True).splitlines() if len(line.split()) == 3}
    targets = ["malloc", "calloc", "realloc", *(f"{name}={symbols[name]}" for name in ("victim_alloc", "victim_alloc_jump"))]
    found = subprocess.check_output([tool, VICTIM, *targets], text=True)
    calls = {int(line.split()[2], 16): int(line.split()[3]) for line in found.splitlines() if line.startswith("call")}
    names = {name: calls.get(int(at, 16)) for name, at in symbols.items() if name.startswith("site_")}
    with victim() as v:
        told = {site["name"]: ["malloc", "calloc", "realloc", "victim_alloc"].index(site["call"]) for site in v.ask("truth")["sites"]}
    told["site_leak_wrapped"] = 4
    assert names == told
    assert calls[int(symbols["victim_alloc"], 16)] == 0


def test_idle_then_hot():
    with victim("-i", 2) as v:
        truth = v.ask("truth")
        if seconds(truth) < 1.5:  # otherwise asking took too long
            assert truth["pairs"] == 0
        truth = until(lambda: (t := v.ask("truth"))["pairs"] and t, "pairs are made")
    assert min(s["first_ns"] for s in truth["sites"] if s["first_ns"]) >= truth["start_ns"] + 2_000_000_000


def letters(pid):
    """The states of its threads: one that waits for a processor can stop only when it gets one."""
    return {(task / "stat").read_text().rpartition(")")[2].split()[0] for task in pathlib.Path(f"/proc/{pid}/task").iterdir()}


def clocks(v):
    return v.ask("pairs")


@pytest.mark.alone
def test_standing_is_told():
    """After a stop of half a second the victim reports it as stopped time, and as a gap, not as waiting."""
    with victim("-f") as v:
        until(lambda: clocks(v)["pairs"], "pairs are made")
        before = clocks(v)
        os.kill(v.pid, signal.SIGSTOP)
        until(lambda: letters(v.pid) == {"T"}, "stopped")
        time.sleep(0.5)
        os.kill(v.pid, signal.SIGCONT)
        after = until(lambda: (c := clocks(v))["stood_ns"] - before["stood_ns"] > 0.49e9 and c, "it goes on, and has noticed")
        thread = v.ask("gaps")["threads"][0]
    assert after["stood_ns"] - before["stood_ns"] <= after["now_ns"] - before["now_ns"]
    assert max(second["longest_ns"] for second in thread["seconds"]) >= 0.49e9


@pytest.mark.alone
def test_no_time_is_told_twice():
    """The kernel's work to stop and continue a thread counts as the thread's own processor time, and the
    thread is stopped meanwhile: for short stops that is a considerable part."""
    with victim("-f") as v:
        until(lambda: clocks(v)["pairs"], "pairs are made")
        before = clocks(v)

        def stopped_often():
            for _ in range(50):
                os.kill(v.pid, signal.SIGSTOP)
                time.sleep(0.0002)
                os.kill(v.pid, signal.SIGCONT)
                time.sleep(0.0005)
            return (c := clocks(v))["stops"] >= before["stops"] + 300 and c

        after = until(stopped_often, "three hundred stops")
    did = {key: after[key] - before[key] for key in before}
    assert did["stood_cpu_ns"] > 1000 * did["stops"]
    assert did["cpu_ns"] + did["stood_ns"] - did["stood_cpu_ns"] + did["waited_ns"] < 1.005 * did["wall_ns"]


@pytest.mark.alone
def test_waiting_is_not_standing():
    """Two threads that want one processor wait for half of the time, and are stopped for none of it."""
    with victim("-f", "-t", 2, before=["taskset", "-c", min(map(str, os.sched_getaffinity(0)))]) as v:
        c = until(lambda: (c := clocks(v))["wall_ns"] > 4e9 and c, "two seconds of two threads")
    assert c["waited_ns"] > 0.4 * c["wall_ns"]
    assert c["stood_ns"] < 0.001 * c["wall_ns"]
    # the rest belongs to no thread here: interrupts, the host of the virtual machine
    assert near(c["wall_ns"], c["cpu_ns"] + c["waited_ns"], 0.1)
