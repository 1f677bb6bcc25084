# SPDX-License-Identifier: MIT
"""`mmattach scan --core`: it finds after the process' death what a scan of the process finds; and incomplete
cores give partial results."""
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess

import pytest

from harness import VICTIMS, rounds
from scans import assert_adds_up, assert_schema, groups, scan
from test_scan import CART, ITEM, assert_truth
from unwrapped import unwrapped

LIMIT = 60


@pytest.fixture
def cored(victim, tmp_path):
    """cored(ARG...): a victim's core by gcore, and the victim's own record of its blocks."""
    if not shutil.which("gdb"):
        pytest.skip("no gdb")

    def make(*args):
        v = victim("held", *args)
        truth = v.ask("truth")
        core = tmp_path / f"core.{v.pid}"
        done = subprocess.run(["gdb", "-nx", "-batch", "-p", str(v.pid), "-ex", f"generate-core-file {core}"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT)
        assert core.exists(), done.stdout.decode(errors="replace")
        return v, truth, core

    return make


def test_as_the_process_was(cored):
    v, truth, core = cored(0, 2000, 50)
    live = scan("-p", v.pid).json()
    v.kill()
    dead = scan("--core", core).json()
    assert_truth(dead, truth)
    assert_adds_up(dead)
    assert dead["run"]["engine"] == "core" and dead["scan"]["source"] == "core" and dead["scan"]["core"] == str(core)
    assert dead["target"]["pid"] == v.pid and dead["target"]["exe"].endswith("/held")
    assert dead["run"]["verdicts"]["all"]["definite"] == live["run"]["verdicts"]["all"]["definite"]
    assert dead["run"]["verdicts"]["all"]["indirect"] == live["run"]["verdicts"]["all"]["indirect"]
    assert dead["totals"] == live["totals"]


def test_into_a_file(cored, tmp_path):
    """It is what is printed otherwise, in each format."""
    v, truth, core = cored(1, 500, 7)
    v.kill()
    for more in ((), ("--who-points-at", truth["middle"])):
        for form in ("text", "json") if more else ("text", "json", "csv"):
            printed = scan("--core", core, *more, form=form)
            for option in ("-o", "--report"):
                file = tmp_path / f"r.{form}"
                told = scan("--core", core, *more, option, file, "--color", "always", form=form)
                assert (told.status, told.out) == (0, ""), told.err
                assert file.read_bytes().decode() == printed.out


def test_as_text_and_who_points_there(cored):
    v, truth, core = cored(1, 500, 7)
    v.kill()
    text = scan("--core", core, form="text")
    assert text.status == 0, text.err
    assert re.match(rf"held \({v.pid}\) had \d+ blocks in use", text.out) and f"  core      {core}, written " in unwrapped(text.out)
    item, table = scan("--core", core, "--who-points-at", truth["an_item"], "--who-points-at", truth["table"]).json()["pointers"]
    assert [p["block"]["address"] for p in item["pointers"]] == [truth["a_cart"]]
    data = [p for p in table["pointers"] if p["place"] == "data"]
    assert [p["symbol"] for p in data] == ["_ZL4kept"]


def test_the_kernels_core(victim, tmp_path):
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if not re.fullmatch(r"core[\w.%-]*", pattern):
        pytest.skip(f"optional: cores go elsewhere here (core_pattern is {pattern})")
    unlimited = lambda: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    v = victim("held", 2, 1000, 20, cwd=tmp_path, preexec_fn=unlimited)
    truth = v.ask("truth")
    os.kill(v.pid, signal.SIGSEGV)
    v.wait()
    cores = [f for f in tmp_path.iterdir() if f.name.startswith("core")]
    report = scan("--core", cores[0]).json()
    assert_truth(report, truth)
    assert_adds_up(report)
    assert any("signal 11" in n for n in report["notes"])


def test_the_program_has_moved(cored, tmp_path):
    """Another program is now at its path: that one names no classes; --exe names the right program, and a
    wrong one is refused."""
    moved = tmp_path / "moved"
    shutil.copy(VICTIMS / "held", moved)
    v = subprocess.Popen([moved, "1", "100", "4"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert v.stdout.readline().startswith(b"ready")
    v.stdin.write(b"truth\n")
    v.stdin.flush()
    truth = json.loads(v.stdout.readline())
    core = tmp_path / "core.moved"
    subprocess.run(["gdb", "-nx", "-batch", "-p", str(v.pid), "-ex", f"generate-core-file {core}"], stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LIMIT)
    v.kill()
    v.wait()
    moved.rename(tmp_path / "elsewhere")
    (tmp_path / "moved").write_bytes(pathlib.Path("/bin/true").read_bytes())
    other = scan("--core", core).json()
    assert_schema(other)
    assert other["run"]["verdicts"]["all"]["definite"]["blocks"] >= truth["lost_carts"]
    report = scan("--core", core, "--exe", tmp_path / "elsewhere").json()
    assert_schema(report)
    assert sum(g["blocks"] for g in groups(report, "definite", CART)) == truth["lost_carts"]
    assert sum(g["blocks"] for g in groups(report, "indirect", ITEM)) == truth["lost_items"]
    wrong = scan("--core", core, "--exe", "/bin/true")
    assert wrong.status == 1 and "/bin/true" in wrong.err, wrong.err


def test_truncated_at_many_lengths(cored, tmp_path):
    """A report that says what is missing, or a message: never a crash, never a block reported lost that is
    not."""
    v, truth, core = cored(1, 1000, 20)
    v.kill()
    whole = core.read_bytes()
    seed = random.Random(7)
    lengths = sorted({0, 1, 63, 64, 4095, len(whole) - 1, *(seed.randrange(len(whole)) for _ in range(rounds(25, 300)))})
    cut = tmp_path / "cut"
    answered = 0
    for n in lengths:
        cut.write_bytes(whole[:n])
        told = scan("--core", cut)
        assert told.status in (0, 1), (n, told.err)
        if told.status:
            assert told.err.startswith("mmattach: "), (n, told.err)
        if not told.out:
            continue
        answered += 1
        report = json.loads(told.out)
        assert_schema(report)
        # without the heap nothing can be listed: a failure, with a report that says why
        assert (told.status == 0) == report["scan"]["heap"]["known"], (n, told.err)
        # the last bytes are gcore's section headers, which are not needed
        assert report["run"]["verdicts"]["doubts"] or n == len(whole) - 1, n
        assert report["run"]["verdicts"]["all"]["definite"]["blocks"] <= truth["lost_carts"] + 2, n
    assert answered > len(lengths) // 4


@pytest.mark.parametrize("make", [
    lambda p: p.write_bytes(b""),
    lambda p: p.write_bytes(os.urandom(10000)),
    lambda p: p.write_bytes(pathlib.Path("/bin/true").read_bytes()),
    lambda p: p.mkdir(),
    lambda p: os.mkfifo(p),
    lambda p: None,
])
def test_not_a_core(tmp_path, make):
    path = tmp_path / "it"
    make(path)
    told = scan("--core", path)
    assert told.status == 1 and told.out == ""
    assert f"cannot scan {path}: " in told.err, told.err
