# SPDX-License-Identifier: MIT
"""What of a watch with a budget does not depend on time: its trace, what it refuses, a keeper that is killed.
What it finds, and that it keeps its budget: test_sampled.py, whose victim this is, too."""
import json
import os
import pathlib
import re
import signal
import subprocess

import pytest

from harness import MMATTACH, Watch, wait_for
from untouched import assert_untouched, code_differences

pytestmark = pytest.mark.waiting


def watch_for(target, seconds, *args, budget):
    watch = Watch("-p", str(target.pid), "--budget", budget, "-d", f"{seconds}s", "--top", "0", *args)
    return watch.finish(sig=None, limit=seconds + 60)


def test_stacks_too_short_for_callers(victim):
    """The callers of the wrapper cannot be seen: the report says so."""
    target = victim("sampled", "-r", "3000", "-w")
    report = watch_for(target, 6, "--stack-bytes", "1", budget="20%")
    assert_untouched(target)
    [note] = [note for note in report["notes"] if "too little of the stack was copied (--stack-bytes)" in note]
    assert re.search(r"at \d+ allocation sites the caller", note)
    target.end()


def test_pieces_of_a_trace_are_one_run(victim, tmp_path):
    target = victim("sampled")
    last = tmp_path / "report.json"
    watch = Watch("-p", str(target.pid), "--budget", "30%", "-d", "30s", "--top", "0", "--report", last, "-o", tmp_path / "t.mmt", "--rotate", "64K",
                  "--raw", "--interval", "1s")  # each interim report contains all numbers
    assert watch.wait(120) == 0, watch.said()
    report = json.loads(last.read_text())
    pieces = sorted(tmp_path.glob("t*.mmt"))
    assert len(pieces) > 1
    again = subprocess.run([MMATTACH, "report", "--format", "json", "--top", "0", *pieces], capture_output=True, check=True)
    got = json.loads(again.stdout)
    assert got["run"]["budget"] == report["run"]["budget"]
    assert [(g["seen"], g["turnover"], g["blocks"]) for g in got["groups"]] == [(g["seen"], g["turnover"], g["blocks"]) for g in report["groups"]]
    assert_untouched(target)
    target.end()


def test_keeper_killed(victim):
    """No thread has stepped over a trap, so nothing was written into padding: the code under all planted
    traps is restored."""
    target = victim("sampled", "-r", "20000", "-i", "30")
    watch = Watch("-p", str(target.pid), "--budget", "20%").wait_watching()
    wait_for(lambda: len(code_differences(target.pid)) > 20, "traps stand")
    os.kill(watch.keeper(), signal.SIGKILL)
    assert watch.wait() == 1
    assert_untouched(target)
    target.kill()


# jemalloc: if the huge page allocator is on, or no cache is found, it cannot be asked; tcmalloc's debugging version
# has heads of its own in its blocks
@pytest.mark.parametrize("library, options, why", [
    ("libtcmalloc_minimal_debug.so.4", "", "here malloc is that of libtcmalloc_minimal_debug"), ("libjemalloc.so.2", "hpa:true", "opt.hpa"),
    ("libjemalloc.so.2", "tcache:false", "no thread's cache")])
def test_another_allocator_is_refused(victim, library, options, why):
    library = pathlib.Path("/usr/lib/x86_64-linux-gnu", library)
    if not library.exists():
        pytest.skip(f"optional: {library} is not installed")
    target = victim("sampled", "-r", "1000", env=dict(os.environ, LD_PRELOAD=str(library), MALLOC_CONF=options))
    run = subprocess.run([MMATTACH, "-p", str(target.pid), "--budget", "1%", "-d", "5s"], capture_output=True, text=True)
    assert run.returncode == 1 and why in run.stderr, run.stderr
    assert_untouched(target)
    target.end()
