# SPDX-License-Identifier: MIT
"""The kernel's figures for the process's memory, beside the watched blocks: growth that no watched block
explains, children that grow, runtimes with a heap of their own."""
import glob
import json
import os
import re
import shutil
import subprocess

import pytest

from harness import MMATTACH, VICTIMS, Program, children, wait_for
from untouched import assert_untouched
from unwrapped import unwrapped

pytestmark = pytest.mark.waiting

MIB = 1 << 20


def text_of(*options):
    """(text report, JSON of the same watch by its trace)"""
    trace, *args = options
    text = subprocess.run([MMATTACH, *map(str, args), "-o", trace], stdout=subprocess.PIPE, text=True, check=True, timeout=60).stdout
    again = subprocess.run([MMATTACH, "report", trace], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert text == again, "the report of the trace is that of the watch"
    done = subprocess.run([MMATTACH, "report", "--format", "json", trace], stdout=subprocess.PIPE, text=True, check=True)
    return unwrapped(text), json.loads(done.stdout)


def of(size, unit):
    return float(size) * {"B": 1, "KiB": 1024, "MiB": MIB}[unit]


def test_growth_that_no_block_explains(victim, tmp_path):
    """6 MiB a second by mmap, 10 kB by malloc."""
    target = victim("beside", "maps")
    text, report = text_of(tmp_path / "t.mmt", "-p", target.pid, "-d", "3s")
    assert "resident memory grew by" in text.splitlines()[2]
    assert f"mmattach --growth -p {target.pid}" in text
    memory = report["memory"]
    assert 10 * MIB < memory["growth"] < 30 * MIB
    assert memory["explained"] == report["totals"]["live_bytes"] < memory["growth"] / 100
    assert memory["last"]["anonymous"] - memory["first"]["anonymous"] > 0.9 * memory["growth"]
    # over time: a point a second, and it grows from each to the next
    sizes = [size for _, size in memory["series"]]
    assert 4 <= len(sizes) <= 6 and sizes == sorted(sizes) and sizes[2] - sizes[1] > MIB
    # and the advice in the report leads to the code
    growth = subprocess.run([MMATTACH, "--growth", "-p", str(target.pid), "-d", "2s", "--format", "json"], stdout=subprocess.PIPE, check=True)
    largest = json.loads(growth.stdout)["groups"][0]
    assert any(frame["function"] == "map_for_ever" for frame in largest["stack"])
    assert_untouched(target)
    target.kill()


def test_pages_that_were_there_before(victim, tmp_path):
    """A large block from before the watch is written to: nothing is allocated, and memory grows."""
    target = victim("beside", "old")
    text, report = text_of(tmp_path / "t.mmt", "-p", target.pid, "-d", "2s")
    assert "resident memory grew by" in text and "pages used for the first time" in text
    assert report["memory"]["explained"] == 0 and report["memory"]["growth"] > 5 * MIB
    target.kill()


def test_what_malloc_keeps_for_a_thread(victim, tmp_path):
    """A thread's peak stays in the heap that malloc has mapped for it: that memory is malloc's, and free."""
    target = victim("beside", "peaks")
    text, report = text_of(tmp_path / "t.mmt", "-p", target.pid, "-d", "4s")
    first, last = report["memory"]["first"], report["memory"]["last"]
    assert last["heap"] - first["heap"] > 0.8 * report["memory"]["growth"] > MIB
    assert "malloc's heap grew" in text or "the rest," not in text, text
    assert "mappings that are not malloc's" not in text
    target.kill()


def test_growth_that_is_explained(victim, tmp_path):
    """A leak of blocks: the kernel's figures fit the live blocks, and nothing is added to the report's
    answer."""
    target = victim("leaky_service")
    text, report = text_of(tmp_path / "t.mmt", "-p", target.pid, "-d", "4s")
    assert "resident memory grew" not in text and "the rest," not in text
    memory = report["memory"]
    assert 0.5 * report["totals"]["live_bytes"] < memory["growth"] < 3 * report["totals"]["live_bytes"], memory
    target.kill()


def test_still(victim, tmp_path):
    target = victim("beside", "still")
    text, report = text_of(tmp_path / "t.mmt", "-p", target.pid, "-d", "1s")
    assert re.search(r"^  memory    RSS [\d.]+ [KM]iB: anonymous \+0 B, files \+0 B$", text, re.MULTILINE), text
    assert report["children"] == [] and report["runtime"] is None
    assert_untouched(target)
    target.end()


def test_code_that_was_copied(victim, tmp_path):
    """Pages of code in which there was a trap are the process's own from then on: that is counted, it is no
    growth, and of a second watch, which finds them copied, hardly anything."""
    target = victim("sampled", "-r", 2000)
    text, report = text_of(tmp_path / "t.mmt", "-p", target.pid, "-d", "6s", "--budget", "5%")
    copied = report["memory"]["code_copied"]
    assert copied % 4096 == 0 and 1 << 16 <= copied < 4 * MIB
    assert copied <= report["memory"]["last"]["anonymous"] - report["memory"]["first"]["anonymous"]
    said = re.search(r": anonymous \+[\d.]+ [KM]iB \(([\d.]+) (B|KiB|MiB) of it pages of code, copied for the traps\), files", text)
    assert said and of(*said.groups()) == pytest.approx(copied, rel=0.1), text
    _, again = text_of(tmp_path / "u.mmt", "-p", target.pid, "-d", "3s", "--budget", "5%")
    assert again["memory"]["code_copied"] < copied / 2
    assert_untouched(target)
    target.kill()


@pytest.mark.alone
def test_children_come_first(victim, tmp_path):
    """A master that does nothing, and 12 workers that grow: the one that grows most comes first, with the
    command to type."""
    target = victim("beside", "children", 12)
    text, report = text_of(tmp_path / "t.mmt", "-p", target.pid, "-d", "3s")
    lines = text.splitlines()
    assert lines[2] == "It has 12 child processes, which were not watched:", text
    rows = [re.match(r" +(\d+) +([\d.]+) (B|[KM]iB) +\+([\d.]+) (B|[KM]iB)  \S+beside children 12$", line) for line in lines[5:15]]
    assert all(rows), lines[5:15]
    grew = [of(row[4], row[5]) for row in rows]
    assert grew == sorted(grew, reverse=True) and grew[0] > 10 * grew[-1] / 4
    most = max(report["children"], key=lambda child: child["growth"])
    assert f"mmattach -p {most['pid']} -d 10s" in text and str(most["pid"]) == rows[0][1]
    assert len(report["children"]) == 12
    # and that command finds the leak
    run = subprocess.run([MMATTACH, "-p", str(most["pid"]), "-d", "1s", "--format", "json"], stdout=subprocess.PIPE, check=True)
    group = json.loads(run.stdout)["groups"][0]
    assert any(frame["function"] == "child" for frame in group["stack"])
    assert_untouched(target)
    target.end()


@pytest.mark.parametrize("others", [3, 2000])
def test_child_of_a_thread(victim, tmp_path, others):
    """Found in the thread's list, or if threads are more than processes, in that of all processes."""
    target = victim("beside", "crowd", others)
    wait_for(lambda: children(target.pid), "a child")
    assert others < 100 or os.stat("/proc").st_nlink < others
    _, report = text_of(tmp_path / "t.mmt", "-p", target.pid, "-d", "1s")
    assert [child["pid"] for child in report["children"]] == children(target.pid)
    assert_untouched(target)
    target.end()


def test_children_of_a_busy_parent(victim, tmp_path):
    """A parent that leaks more than its child: the child is only a line of the head."""
    target = victim("beside", "both", 1)
    text, report = text_of(tmp_path / "t.mmt", "-p", target.pid, "-d", "2s")
    assert "It has a child" not in text and len(report["children"]) == 1
    child = report["children"][0]
    assert re.search(rf"^  children  1, not watched; {child['pid']} grew by [\d.]+ [KM]iB \(mmattach -p {child['pid']}\)$", text, re.MULTILINE), text
    target.kill()


def test_children_that_end(victim, tmp_path):
    """Only children that still exist can be watched: two of them exist all the time, 30 at any time end soon.
    The pid of a child must not be reported for another process."""
    target = victim("beside", "churn", 2)
    text, report = text_of(tmp_path / "t.mmt", "-p", target.pid, "-d", "4s")
    said = re.search(r"^It has (\d+) child processes, which were not watched \((\d+) more ended meanwhile\):$", text, re.MULTILINE)
    assert said, text
    there, ended = map(int, said.groups())
    assert 10 <= there <= 64 and ended >= 5 and there + ended == len(report["children"])
    last = report["memory"]["last"]["at_s"]
    assert sum(child["last"]["at_s"] == last for child in report["children"]) == there
    assert_untouched(target)
    target.kill()


def test_children_of_a_moment(victim, tmp_path):
    """80 children in the watch, none of which lives for two looks: only those of the first and of the last
    look are recorded."""
    target = victim("beside", "flashes", 1)
    text, report = text_of(tmp_path / "t.mmt", "-p", target.pid, "-d", "4s")
    assert 2 <= len(report["children"]) <= 14, text
    first, last = (report["memory"][end]["at_s"] for end in ("first", "last"))
    assert all(child["first"]["at_s"] in (first, last) for child in report["children"])
    target.kill()


PYTHON = """
import sys, time
print("ready", flush=True)
kept = []
while True:
    kept.append([str(len(kept)) * 5])
    time.sleep(0.0005)
"""


@pytest.mark.parametrize("program, name, advice", [
    (["/usr/bin/python3", "-c", PYTHON], "CPython", "PYTHONMALLOC=malloc"),
    (["node", "-e", "console.log('ready'); setInterval(() => {}, 10)"], "V8", "heap snapshot"),
])
def test_runtimes(program, name, advice, tmp_path):
    if not shutil.which(program[0]):
        pytest.skip(f"optional: {program[0]} is not there")
    target = Program(program)
    assert target.out.find("^ready")
    text, report = text_of(tmp_path / "t.mmt", "-p", target.pid, "-d", "1s")
    assert report["runtime"] == name
    assert re.search(rf"^  runtime   {name}: .*{advice}", unwrapped(text), re.MULTILINE), text
    target.kill()


@pytest.mark.parametrize("library, note", [
    ("/usr/lib/x86_64-linux-gnu/libpython3*.so.1.0", None),
    ("/usr/lib/jvm/*/lib/server/libjvm.so", r"JVM is linked \(libjvm.so\); it is not known whether it runs"),
])
def test_a_runtime_that_is_only_linked(victim, tmp_path, library, note):
    """As in unbound, which has CPython's library for modules that nobody wrote: no advice for what does not run."""
    found = sorted(glob.glob(library))
    if not found:
        pytest.skip(f"optional: {library} is not there")
    target = victim("leaky_service", env={"LD_PRELOAD": found[0]})
    text, report = text_of(tmp_path / "t.mmt", "-p", target.pid, "-d", "500ms")
    assert report["runtime"] is None and not re.search("^  runtime ", text, re.MULTILINE), text
    linked = [line for line in report["notes"] if " is linked (" in line]
    assert not linked if note is None else [line for line in linked if re.match(note, line)], report["notes"]
    target.kill()


def test_a_program_of_go(tmp_path):
    """Recognised by its function table, which the runtime needs: also if it is stripped."""
    program = tmp_path / "go"
    shutil.copy(VICTIMS / "beside", program)
    table = tmp_path / "table"
    table.write_bytes(bytes(64))
    subprocess.run(["objcopy", "--add-section", f".gopclntab={table}", program], check=True)
    target = Program([program, "still"])
    assert target.out.find("^ready")
    _, report = text_of(tmp_path / "t.mmt", "-p", target.pid, "-d", "1s")
    assert report["runtime"] == "Go"
    target.kill()


def test_a_started_program(tmp_path):
    """From its beginning: the first look comes when it runs already, and the last before it has ended."""
    trace = tmp_path / "t.mmt"
    python = "b = []\nimport time\nfor i in range(20):\n    b.append(bytearray(1 << 20)); time.sleep(0.05)\nimport os; os._exit(0)"
    subprocess.run([MMATTACH, "-o", trace, "--", "/usr/bin/python3", "-c", python], stdout=subprocess.DEVNULL, check=True, timeout=60)
    report = json.loads(subprocess.run([MMATTACH, "report", "--format", "json", trace], stdout=subprocess.PIPE, check=True).stdout)
    assert 5 * MIB < report["memory"]["growth"] < 30 * MIB


@pytest.mark.parametrize("name, family, label", [("threads_unjoined", "thread", "addresses"), ("fds", "fd", "files")])
def test_what_else_a_process_leaks(victim, watch, name, family, label):
    """Threads that are not joined, and descriptors: no block, but the report says that they grow, and how to see whose
    they are. The report of that command does not name itself."""
    target = victim(name)
    for options in [], ["--growth"], ["--family", family]:
        run = watch("-p", target.pid, *options, json_report=False).wait_watching()
        target.ask("go 4")
        run.interrupt()
        assert run.wait() == 0
        text = unwrapped(run.out.text())
        [line] = re.findall(rf"^  {label} .*$", text, re.M)
        assert (f"mmattach --family {family} -p {target.pid}" in line) == (options != ["--family", family])
        assert f"--growth -p {target.pid}" not in text or options != ["--growth"]
    assert_untouched(target)
