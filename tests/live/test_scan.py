# SPDX-License-Identifier: MIT
"""`mmattach scan` of a live process: what it lost before we attached is found, its live blocks are not taken
for lost, and it never notices."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading

import pytest

from harness import MMATTACH, VICTIMS, Program, rounds, wait_for
from scans import CART, ITEM, assert_adds_up, assert_schema, assert_truth, groups, scan, sums
from test_whole import assert_unharmed
from untouched import assert_untouched


def end(victim, undisturbed=True):
    """Its normal end: what it read is what it wrote, and nothing but us disturbed its sleepers."""
    told = victim.end()
    assert told["wrong"] == 0, told
    assert told["eintr"] == 0 or not undisturbed, told
    assert told["rounds"] > 0


@pytest.mark.parametrize("name", ["transfers", "held"])
def test_the_version_is_not_guessed(victim, name):
    """Before anything has been freed, plain links cannot be distinguished from mangled ones."""
    v = victim(name)
    layout = scan("-p", v.pid).json()["scan"]["heap"]["layout"]
    version = tuple(map(int, re.findall("[0-9]+", os.confstr("CS_GNU_LIBC_VERSION"))))
    low, *high = (tuple(map(int, n)) for n in re.findall(r"([0-9]+)\.([0-9]+)", layout))
    assert low <= version[:2] and version[:2] <= (high or [version[:2]])[0], (layout, version)
    assert_untouched(v)


def test_what_was_lost_before_we_came(victim):
    v = victim("held", 2, 2000, 50)
    truth = v.ask("truth")
    report = scan("-p", v.pid).json()
    assert_untouched(v)
    assert_truth(report, truth)
    assert_adds_up(report)
    middle = [g for g in groups(report, "possible") if g["size_low"] == 792]  # the usable size for 777
    assert len(middle) == 1 and truth["middle"] in middle[0]["examples"]
    # the loader's tables of the threads are not the program's
    assert report["run"]["verdicts"]["all"]["possible"]["blocks"] == 1
    assert report["target"]["pid"] == v.pid and report["target"]["comm"] == "held"
    assert report["scan"]["source"] == "process" and report["run"]["verdicts"]["threads"] == 5
    assert 0 < report["run"]["verdicts"]["pause_s"] < 1
    end(v)


def test_by_name_as_text_and_csv(victim, tmp_path):
    shutil.copy(VICTIMS / "held", tmp_path / "held_once")
    v = victim(tmp_path / "held_once", 1, 500, 7)
    v.ask("truth")
    text = scan("-n", "held_once", form="text")
    assert text.status == 0, text.err
    assert text.out.startswith(f"held_once ({v.pid}) has ")
    assert "definitely lost\n" in text.out and CART in text.out and "its own figures agree" in text.out
    csv = scan("-p", v.pid, "--report", tmp_path / "r.csv", form="csv")
    assert csv.status == 0 and csv.out == ""
    lines = (tmp_path / "r.csv").read_text().splitlines()
    assert lines[0].startswith("number,tag,blocks,bytes,verdict,") and ',"definite",' in lines[1] and f',"{CART}","{CART}",' in lines[1]
    assert_untouched(v)
    end(v)


@pytest.mark.parametrize("option", ["-o", "--output", "--report"])
def test_into_a_file(victim, tmp_path, option):
    """In each format that has a report of a scan; what is asked of single blocks goes there, too."""
    v = victim("held", 1, 500, 7)
    truth = v.ask("truth")
    for form, begins in (("text", f"held ({v.pid}) has "), ("csv", "number,tag,blocks,bytes,verdict,"), ("json", "{")):
        file = tmp_path / f"r.{form}"
        file.write_text("what was there before")
        told = scan("-p", v.pid, option, file, "--color", "always", "--error-exitcode", "7", form=form)
        assert told.status == 7 and told.out == "", told.err
        written = file.read_text()
        assert written.startswith(begins) and "\x1b" not in written and file.stat().st_mode & 0o777 == 0o600
    assert json.loads((tmp_path / "r.json").read_text())["target"]["pid"] == v.pid
    told = scan("-p", v.pid, option, tmp_path / "who", "--who-points-at", truth["middle"], form="text")
    assert (told.status, told.out) == (0, "") and truth["middle"] in (tmp_path / "who").read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.csv", "r.json", "r.text", "who"]
    assert_untouched(v)
    end(v)


def test_a_file_that_cannot_be_written(victim, tmp_path):
    """That is found before the process is stopped."""
    v = victim("held", 1, 100, 1)
    v.ask("truth")
    told = scan("-p", v.pid, "-o", tmp_path / "nowhere/r.txt", form="text")
    assert (told.status, told.out) == (1, "") and "cannot write the report to" in told.err and "was stopped" not in told.err
    assert_untouched(v)
    end(v)


def test_fifty_in_a_row_of_a_busy_one(victim):
    v = victim("held", 3, 2000, 20)
    truth = v.ask("truth")
    before = v.ask("rounds")["rounds"]
    for _ in range(rounds(20, 200)):
        report = scan("-p", v.pid).json()
        assert_truth(report, truth)
        assert_adds_up(report)
        assert report["scan"]["pauses"] <= 3
        now = v.ask("rounds")["rounds"]
        assert now > before
        before = now
    assert_untouched(v)
    end(v)


def test_nobody_is_disturbed(victim):
    """Threads in every kind of sleep, signals with serial numbers: nothing is lost, interrupted or changed by
    ten scans."""
    v = victim("storm", 24)
    v.say("signals")
    for _ in range(rounds(5, 100)):
        assert_adds_up(scan("-p", v.pid).json())
    assert_untouched(v)
    assert_unharmed(v.end())


@pytest.mark.parametrize("mode", ["fork", "vfork", "thread", "spawn"])
def test_children_and_threads_under_way(victim, mode):
    v = victim("forker", mode)
    for _ in range(rounds(5, 100)):
        assert_adds_up(scan("-p", v.pid).json())
    assert_untouched(v)
    told = v.end()
    assert (told["killed"], told["wrong"], told["damaged"]) == (0, 0, 0), told


TWO_ALLOCATORS = """
import ctypes, sys
malloc = ctypes.CDLL("libc.so.6").__libc_malloc
malloc.restype = ctypes.c_void_p
keep = [malloc(5000) for _ in range(10)]
print("ready", flush=True)
sys.stdin.read()
"""


# a malloc that no census knows; it has a function of tcmalloc's
UNKNOWN = VICTIMS / "libbump.so"


def test_another_allocator_besides():
    """Its blocks are not listed, and the report says so: also if glibc's malloc was used as well."""
    library = UNKNOWN
    program = subprocess.Popen(["/usr/bin/python3", "-c", TWO_ALLOCATORS], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=dict(os.environ, LD_PRELOAD=str(library)))
    try:
        assert program.stdout.readline() == b"ready\n"
        report = scan("-p", program.pid).json()
        assert report["totals"]["live_blocks"] >= 10
        other = report["scan"]["heap"]["other_allocator"]
        assert other.startswith("tcmalloc (libbump.so")
        assert any(f"{other} are not listed" in n for n in report["notes"])
        text = scan("-p", program.pid, form="text")
        assert text.status == 0
        assert f"only blocks of glibc's malloc are listed, none of {other}; a watch works with any allocator: mmattach -p {program.pid} -d 2m" in text.out
    finally:
        program.communicate(timeout=10)
    assert program.returncode == 0


def test_another_allocator_alone(victim):
    """Nothing can be listed: a failure, which names the allocator and what works with it."""
    name, library = "tcmalloc", UNKNOWN
    v = victim("families", env={**os.environ, "LD_PRELOAD": str(library)})
    text, report = scan("-p", v.pid, form="text"), scan("-p", v.pid)
    reason = f"its allocator is {name} ({library.name.partition('.so')[0]}"
    assert text.status == 1 and f"its blocks cannot be listed: {reason}" in text.out
    assert f"a watch works with any allocator: mmattach -p {v.pid} -d 2m\n" in text.out and "no block could be listed" in text.err
    heap = report.json(1)["scan"]["heap"]
    assert not heap["known"] and heap["other_allocator"].startswith(f"{name} (") and heap["layout"].startswith(reason)
    assert f"hint: a watch works with any allocator: mmattach -p {v.pid} -d 2m" in report.err
    assert_untouched(v)
    v.end()


JEMALLOC = pathlib.Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")


def test_jemalloc(victim):
    """All its blocks, with verdicts, as of glibc's; and of neither allocator is any block called unknown."""
    if not JEMALLOC.exists():
        pytest.skip("optional: jemalloc is not installed")
    v = victim("held", 1, 500, 7, env={**os.environ, "LD_PRELOAD": str(JEMALLOC)})
    report = scan("-p", v.pid).json()
    assert_schema(report)
    assert_adds_up(report)
    heap = report["scan"]["heap"]
    assert heap["layout"].endswith("jemalloc 5.3") and heap["other_allocator"] is None
    assert {a["allocator"] for a in heap["arenas"]} >= {"jemalloc"}
    assert report["run"]["verdicts"]["doubts"] == [] and report["run"]["verdicts"]["all"]["definite"]["blocks"] > 0
    text = scan("-p", v.pid, form="text")
    assert text.status == 0 and "jemalloc 5.3" in text.out and "its own figures agree\n" in text.out
    assert_untouched(v)
    v.end()


def settled_figures(redis):
    stats = subprocess.run([*redis, "info", "memory"], capture_output=True, text=True, check=True, timeout=60).stdout
    theirs = dict(line.split(":", 1) for line in stats.splitlines() if ":" in line)
    return theirs if int(theirs["allocator_allocated"]) >= int(theirs["used_memory"]) - 100000 else None


def test_redis(tmp_path):
    """Debian's redis has jemalloc: what is in use, and in caches, is what jemalloc itself has counted."""
    server, socket = shutil.which("redis-server"), tmp_path / "redis.sock"
    if not server or not JEMALLOC.exists():
        pytest.skip("optional: redis-server is not installed")
    program = subprocess.Popen([server, "--port", "0", "--unixsocket", str(socket), "--save", "", "--enable-debug-command", "yes"],
                               stdout=subprocess.DEVNULL, cwd=tmp_path)
    try:
        redis = ["redis-cli", "-s", str(socket)]
        wait_for(socket.exists, "redis listens")
        subprocess.run([*redis, "debug", "populate", "100000", "key", "100"], stdout=subprocess.DEVNULL, check=True, timeout=60)
        # it asks jemalloc ten times a second
        theirs = wait_for(lambda: settled_figures(redis), "redis has jemalloc's figures")
        heap = scan("-p", program.pid).json()["scan"]["heap"]
        ours = [a for a in heap["arenas"] if a["allocator"] == "jemalloc"]
        used = sum(a["used"]["bytes"] for a in ours)
        counted = used + sum(a["tcache"]["bytes"] for a in ours)
        assert heap["adds_up"] and heap["other_allocator"] is None
        assert used >= int(theirs["used_memory"]) - 100000 and used > 10000000
        # theirs has the caches' own memory, too, and was read a little earlier
        assert abs(int(theirs["allocator_allocated"]) - counted) < 200000
    finally:
        program.terminate()
        assert program.wait(timeout=20) == 0


def test_filters_and_exit_code(victim):
    v = victim("held", 1, 500, 7)
    v.ask("truth")
    lost = scan("-p", v.pid, "--show", "definite", "--error-exitcode", 9).json(9)
    assert {g["verdict"] for g in lost["groups"]} == {"definite"}
    assert lost["filtered"]["blocks"] + sum(g["blocks"] for g in lost["groups"]) == lost["totals"]["live_blocks"]
    kept = scan("-p", v.pid, "--show", "reachable", "--error-exitcode", 9).json(0)
    assert {g["verdict"] for g in kept["groups"]} == {"reachable"}
    large = scan("-p", v.pid, "--min-bytes", "4K").json()
    assert all(g["bytes"] >= 4096 for g in large["groups"])
    carts = scan("-p", v.pid, "--focus", "^shop::cart$").json()
    assert {g["label"] for g in carts["groups"]} == {CART}
    assert_untouched(v)
    end(v)


def test_without_verdicts(victim):
    v = victim("held", 1, 500, 7)
    truth = v.ask("truth")
    report = scan("-p", v.pid, "--verdicts", "no").json()
    assert_schema(report)
    assert not report["run"]["verdicts"]["known"]
    assert sums(report, "unknown", CART) == truth["lost_carts"] + truth["kept_carts"]
    assert scan("-p", v.pid, "--verdicts", "no", "--error-exitcode", 3).status == 2
    assert_untouched(v)
    end(v)


# --- what points there ---

def answers(v, *addresses, **kwargs):
    return scan("-p", v.pid, "--who-points-at", ",".join(addresses), **kwargs)


def test_who_points_at(victim):
    v = victim("held", 1, 500, 7)
    truth = v.ask("truth")
    cart, item, kept, table = answers(v, truth["a_cart"], truth["an_item"], truth["a_kept"], truth["table"]).json()["pointers"]
    assert cart["block"]["verdict"] == "definite" and cart["block"]["label"] == CART and cart["total"] == 0
    assert item["block"]["verdict"] == "indirect" and item["block"]["label"] == ITEM
    assert [(p["place"], p["block"]["address"], p["block"]["label"]) for p in item["pointers"]] == [("block", truth["a_cart"], CART)]
    assert item["pointers"][0]["offset"] == 0
    assert kept["block"]["verdict"] == "reachable"
    assert any(p["place"] == "block" and p["block"]["address"] == truth["table"] for p in kept["pointers"])
    assert kept["chain_has_root"] and kept["chain"][-1]["place"] != "block"
    data = [p for p in table["pointers"] if p["place"] == "data"]
    assert [p["symbol"] for p in data] == ["_ZL4kept"] and data[0]["module"].endswith("/held")
    assert_untouched(v)
    end(v)


def test_who_points_at_as_text(victim):
    v = victim("held", 1, 500, 7)
    truth = v.ask("truth")
    told = answers(v, truth["a_cart"], truth["an_item"], "10", form="text")
    assert told.status == 0, told.err
    assert f"{truth['a_cart']} is the beginning of a block of " in told.out
    assert f"block {truth['a_cart']} (" in told.out and "nothing points there" in told.out
    assert "0x10 is in no block that is in use, but in no mapping of the process" in told.out
    assert_untouched(v)
    end(v)


def test_a_ring_is_called_one(victim):
    v = victim("held", 1, 500, 7, 5)
    told = answers(v, v.ask("truth")["a_ring"], form="text")
    assert "is held by a ring of blocks, at which nothing else points:\n" in told.out, told.out
    ring = answers(v, v.ask("truth")["a_ring"]).json()["pointers"][0]
    assert ring["chain_is_ring"] and not ring["chain_has_root"] and len(ring["chain"]) == 4
    assert_untouched(v)
    end(v)


def symbol(program, name):
    """Address of @name in the file, as nm counts it."""
    lines = subprocess.run(["nm", program], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    return next(int(line.split()[0], 16) for line in lines if line.split()[-1] == name)


def loaded_at(v, program):
    """Where the file's address 0 is."""
    with open(f"/proc/{v.pid}/maps", encoding="utf-8") as maps:
        return min(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(f"/{program.name}"))


def a_route(report):
    """A block of the victim routecache that is in its table."""
    return next(g["examples"][0] for g in groups(report, "reachable") if g["size_low"] == 216)


def assert_in_table(pointer, program, bias, table):
    offset = int(pointer["module_offset"], 16)
    assert pointer["module"].endswith(program.name) and int(pointer["at"], 16) - bias == offset
    assert table + 4096 <= offset < table + 8 * 16384


def root_of(answer):
    return (answer["chain"] or answer["pointers"])[-1]


@pytest.mark.parametrize("strip", [False, True])
def test_a_table_behind_the_mappings_of_the_file(victim, tmp_path, strip):
    """The zero-initialised data of a module is named as what it is, in a process, and in a core with and
    without the file."""
    program, core = tmp_path / "routes", tmp_path / "core.routes"
    shutil.copy(VICTIMS / "routecache", program)
    table = symbol(program, "table")
    if strip:
        subprocess.run(["strip", program], check=True)
    v = victim(program)
    bias = loaded_at(v, program)
    found = []

    def holds_a_late_route():
        route = a_route(scan("-p", v.pid).json())
        found[:] = [route, answers(v, route).json()["pointers"][0]]
        root = root_of(found[1])
        return root["place"] == "data" and int(root["at"], 16) - bias >= table + 4096

    wait_for(holds_a_late_route, "there is a route far behind the first page of the table")
    route, answer = found
    pointer = root_of(answer)
    assert_in_table(pointer, program, bias, table)
    assert pointer["symbol"] == (None if strip else "table")
    place = f"data of routes+0x{int(pointer['module_offset'], 16):x}"
    text = answers(v, route, pointer["at"], form="text").out
    assert place in text and f"is in no block that is in use, but in {place}\n" in text, text
    assert_untouched(v)
    if shutil.which("gdb"):
        subprocess.run(["gdb", "-nx", "-batch", "-p", str(v.pid), "-ex", f"generate-core-file {core}"], stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
        in_core = lambda: root_of(scan("--core", core, "--who-points-at", route).json()["pointers"][0])
        assert_in_table(in_core(), program, bias, table)
        program.unlink()
        assert_in_table(in_core(), program, bias, table)


# --- with a trace ---

def test_stacks_of_a_watch(victim, tmp_path):
    v = victim("leaky_service")
    trace = tmp_path / "t.mmt"
    done = subprocess.run([MMATTACH, "-p", str(v.pid), "-d", "1s", "-o", trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 0, done.stderr
    report = scan("-p", v.pid, "--with-trace", trace).json()
    assert_schema(report)
    functions = {f["function"] for g in report["groups"] for f in g["stack"]}
    assert {"cache_insert", "session_open"} <= functions
    block = next(g for g in report["groups"] if g["stack"] and g["stack"][g["wrappers"]]["function"] == "session_open")["examples"][0]
    text = scan("-p", v.pid, "--with-trace", trace, "--who-points-at", block, form="text").out
    assert re.search(block + r" is the beginning of a block of \d+ bytes, session_open leaky_service.c:42, ", text), text
    other = victim("held", 1, 100, 1)
    wrong = scan("-p", other.pid, "--with-trace", trace)
    assert wrong.status == 1 and f"the trace is of process {v.pid}" in wrong.err
    assert_untouched(v)


REUSES = """
import ctypes, sys
libc = ctypes.CDLL("libc.so.6")
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
print("ready", flush=True)
sys.stdin.readline()
keep = [libc.malloc(30000) for _ in range(20)]
print("allocated", flush=True)
sys.stdin.readline()
for i in range(0, 20, 2):
    libc.free(keep[i])
    keep[i] = libc.malloc(25000)
print("reused", flush=True)
sys.stdin.read()
"""


def test_stacks_of_a_watch_that_ended_before(tmp_path):
    """A block of another size is another block, and has no stack; of one of the same size that is not certain."""
    trace = tmp_path / "t.mmt"
    program = subprocess.Popen(["/usr/bin/python3", "-c", REUSES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    tell = lambda: (program.stdin.write("\n"), program.stdin.flush(), program.stdout.readline())[2]
    try:
        assert program.stdout.readline() == "ready\n"
        watch = subprocess.Popen([MMATTACH, "-p", str(program.pid), "-o", trace, "--verdicts", "no"], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True)
        assert watch.stderr.readline().startswith("watching")
        assert tell() == "allocated\n"
        watch.terminate()
        watch.communicate(timeout=60)
        with_trace = lambda **kw: scan("-p", program.pid, "--with-trace", trace, **kw)
        before = with_trace().json()["scan"]["trace"]
        assert before["same"] >= 20 and before["same"] <= before["live"] and before["certain"] == 0
        assert 0 <= before["before_s"] < 60
        assert tell() == "reused\n"
        after = with_trace().json()["scan"]["trace"]
        assert after["live"] == before["live"] and after["resized"] >= before["resized"] + 5 and after["same"] <= before["same"] - 5
        text = " ".join(with_trace(form="text").out.split())
        assert re.search(r"stacks are those of the watch, which ended \S+ before this scan: \d+ of its \d+ live blocks", text), text
        assert "these may have been freed and allocated again since, by other code" in text
        assert "the address of one, but another size: shown without that stack" in text
    finally:
        program.communicate(timeout=10)


# --- what goes wrong ---

@pytest.mark.parametrize("what", ["size", "tcache", "bin", "top"])
def test_a_corrupt_heap(victim, what):
    """The position is reported, after the third pause; blocks that can be listed are. The victim would not
    survive its own end."""
    v = victim("census", "all", 3000, 2)
    whole = scan("-p", v.pid).json()
    assert_adds_up(whole)
    bad = v.ask(f"corrupt {what}")["bad"]
    told = scan("-p", v.pid)
    report = told.json()
    assert_schema(report)
    assert report["scan"]["pauses"] == 3 and not report["scan"]["heap"]["adds_up"]
    assert report["scan"]["problems"] and report["scan"]["problems"][0]["what"]
    if what in ("size", "top"):
        assert abs(int(report["scan"]["problems"][0]["address"], 16) - bad) <= 16
    assert report["totals"]["live_blocks"] > whole["totals"]["live_blocks"] // 4
    text = scan("-p", v.pid, form="text")
    assert text.status == 0 and "  CORRUPT   at 0x" in text.out
    assert_untouched(v)


def test_no_such_process():
    p = subprocess.Popen(["true"])
    p.wait()
    told = scan("-p", p.pid)
    assert told.status == 1 and str(p.pid) in told.err and told.out == ""


def test_ourselves_and_the_kernel():
    told = scan("-p", 2)
    kthread = pathlib.Path("/proc/2/comm")
    assert told.status == 1
    if kthread.exists() and kthread.read_text() == "kthreadd\n":
        assert "kernel thread" in told.err


def test_not_permitted(victim):
    if os.geteuid():
        pytest.skip("needs root, to be somebody else")
    v = victim("held", 1, 100, 1)
    told = scan("-p", v.pid, user=65534, group=65534, extra_groups=[], cwd="/")
    assert told.status == 1 and told.out == ""
    assert "root" in told.err, told.err
    assert_untouched(v)
    end(v)


def test_a_tracer_is_named(victim, attach):
    v = victim("held", 1, 100, 1)
    attach(v)
    told = scan("-p", v.pid)
    assert told.status == 1 and "mmattach" in told.err
    assert "already" in told.err or "traced" in told.err, told.err


def test_a_stopped_one_stays_stopped(victim):
    v = victim("held", 1, 100, 3)
    truth = v.ask("truth")
    os.kill(v.pid, signal.SIGSTOP)
    assert_truth(scan("-p", v.pid).json(), truth)
    assert_untouched(v, stopped_before=True)
    os.kill(v.pid, signal.SIGCONT)
    end(v, undisturbed=False)  # epoll_wait returns EINTR after a stop, traced or not


def test_the_target_is_killed_meanwhile(victim):
    """At any moment: a report, or a message that the target is gone."""
    for i in range(rounds(12, 100)):
        v = victim("held", 2, 4000, 5)
        killer = threading.Timer(i * 0.004, v.process.kill)
        killer.start()
        told = scan("-p", v.pid)
        killer.join()
        assert told.status in (0, 1), told.err
        if told.status:
            assert told.out == "" and str(v.pid) in told.err, told.err
        else:
            assert_schema(json.loads(told.out))
        v.kill()


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_we_are_killed_meanwhile(victim, sig):
    """At any moment: the target is left as it was."""
    v = victim("held", 2, 4000, 5)
    for i in range(rounds(12, 100)):
        p = subprocess.Popen([MMATTACH, "scan", "-p", str(v.pid)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        killer = threading.Timer(i * 0.004, p.send_signal, (sig,))
        killer.start()
        p.wait(30)
        killer.cancel()
        killer.join()
        wait_for(lambda: "0" == pathlib.Path(f"/proc/{v.pid}/status").read_text().split("TracerPid:")[1].split()[0], "nobody traces it")
    assert_untouched(v)
    end(v)


def test_too_long_a_pause(victim):
    v = victim("held", 1, 100, 1)
    told = scan("-p", v.pid, "--max-pause", "1ns")
    assert told.status == 1 and told.out == ""
    assert "would be stopped for about" in told.err and "--max-pause" in told.err
    assert_untouched(v)
    end(v)


@pytest.mark.parametrize("n, size", [(7, 1000), (500, 3000)])
def test_more_than_one_libc(victim, n, size):
    """The malloc of another namespace comes first in memory. The one with more allocations is listed, and the
    report says that the other one exists."""
    v = victim("decoys")
    v.ask(f"namespace {n}")
    report = scan("-p", v.pid).json()
    assert_untouched(v)
    assert_adds_up(report)
    found = [g for g in report["groups"] if g["size_low"] in (1000, 3000) and g["size_low"] == g["size_high"]]
    assert {g["size_low"] for g in found} == {size}, found
    assert sum(g["blocks"] for g in found) == (200 if size == 1000 else n)
    assert any("belong to 1 other malloc of the C library" in d for d in report["run"]["verdicts"]["doubts"]), report["run"]["verdicts"]["doubts"]
    assert any("more than once" in n for n in report["notes"])
    v.end()


@pytest.mark.parametrize("mode", ["child", "leader", "thread"])
def test_tcaches_that_are_left(mode):
    """The tcache of a thread that is not there any more, or not in this process, is the allocator's, also if it
    is empty; what is in it is free. That the stack of a main thread which has ended counts is said."""
    program = Program([VICTIMS / "left_tcaches", mode])
    try:
        report = scan("-p", int(program.out.take().split()[1])).json()
        sizes = {g["size_low"]: g["blocks"] for g in report["groups"] if g["size_high"] < 1024}
        assert sizes == {104: 1} and report["scan"]["heap"]["adds_up"], report["groups"]
        assert any("no main thread any more" in d for d in report["run"]["verdicts"]["doubts"]) is (mode == "leader")
        program.process.stdin.write(b"end\n")
        program.process.stdin.flush()
        assert program.wait() == 0, program.said()
    finally:
        program.kill()


def test_memory_that_looks_like_arenas_everywhere(victim):
    """Each place leads to the next, and none to an arena: they are looked at only briefly, and malloc is
    found all the same."""
    v = victim("decoys")
    v.ask("fill 8")
    report = scan("-p", v.pid).json()
    assert_untouched(v)
    assert_adds_up(report)
    assert sum(g["blocks"] for g in report["groups"] if g["size_low"] == 1000) == 200
    v.end()


def test_blocks_with_a_guard_page(victim):
    """The kernel has three mappings of it; for malloc it is one block."""
    v = victim("decoys")
    v.ask("guarded")
    report = scan("-p", v.pid).json()
    assert_untouched(v)
    assert_adds_up(report)
    assert [g["verdict"] for g in report["groups"] if g["size_high"] >= 1 << 20] == ["reachable"], report["groups"]
    assert [g["verdict"] for g in report["groups"] if 12288 <= g["size_low"] < 12400] == ["reachable"], report["groups"]
    v.end()


def test_memory_that_looks_like_a_chunk(victim):
    """Malloc's figures say that it has no such chunk: so the memory is the program's, and what it points to
    is reachable. If malloc has some, they cannot be distinguished: a doubt says so."""
    v = victim("decoys")
    held = v.ask("page")["held"]
    report = scan("-p", v.pid).json()
    assert_adds_up(report)
    assert report["run"]["verdicts"]["doubts"] == []
    assert sums(report, "reachable", "504 bytes") == held and sums(report, "possible", "504 bytes") == 0
    v.ask("large")
    report = scan("-p", v.pid).json()
    assert_untouched(v)
    assert not report["scan"]["heap"]["adds_up"] and report["scan"]["heap"]["mmapped"]["blocks"] == 2
    assert any("own figures and what was found differ" in d for d in report["run"]["verdicts"]["doubts"]), report["run"]["verdicts"]["doubts"]
    v.end()


def test_written_to_after_it_was_freed(victim):
    """The word at the position of a free chunk's key is the program's own here, and says nothing about other
    blocks with the same value there."""
    v = victim("decoys")
    v.ask("freed 300")
    report = scan("-p", v.pid).json()
    assert_untouched(v)
    assert "tcache" in report["scan"]["problems"][0]["what"], report["scan"]["problems"]
    assert sums(report, "reachable", "40 bytes") == 300
    v.end()
