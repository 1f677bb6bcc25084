# SPDX-License-Identifier: MIT
"""The target never hangs because of us: if mmattach is stopped, or writes to a pipe without a reader.

Within two seconds the target runs at full speed again, however long our side hangs; and afterwards the report
has the gap.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from harness import FULL, LIMIT, last_for, lost, wait_for
from fullpipe import full_pipe
from untouched import assert_code_whole, assert_untouched, code_differences, wait_untraced

TOP = pathlib.Path(__file__).resolve().parents[2]
HANG = 60 if FULL else 5  # seconds for which our side hangs
BACK = 2.0  # seconds after which the target must be at full speed
LOOK = 0.8  # and the time to see that on a busy machine
# of the speed before: traps slow it down by a factor of fifty and more, another program on two processors
# takes one of two
ENOUGH = 0.25


def wait_full_speed(target, before, since):
    wait_for(lambda: target.pace() > before * ENOUGH, "the target is at full speed again",
             BACK + LOOK - (time.monotonic() - since))


def assert_speed_stays(target, before, until):
    while time.monotonic() < until:
        assert target.pace() > before * ENOUGH


def assert_gap_named(report):
    assert report["run"]["gaps"], report["run"]
    assert all(gap["seconds"] > 0 for gap in report["run"]["gaps"])


@pytest.mark.parametrize("sig", [signal.SIGSTOP, signal.SIGTSTP])
def test_mmattach_stopped(victim, attach, sig):
    target = victim("hot", 4)
    before = target.pace()
    watch = attach(target)
    assert target.pace() < before * ENOUGH, "the watch costs nothing: the test cannot see it end"
    os.kill(watch.pid, sig)
    since = time.monotonic()
    wait_full_speed(target, before, since)
    assert_code_whole(target.pid)
    assert_speed_stays(target, before, since + HANG)
    os.kill(watch.pid, signal.SIGCONT)
    watch.interrupt()
    assert watch.wait() == 0, watch.said()
    assert_gap_named(json.loads(watch.out.text()))
    assert_untouched(target)
    assert target.end()["damaged"] == 0


def test_stopped_over_an_idle_target(victim, attach):
    """No hits come, so none is unread: mmattach stays attached, and the command in doc/limits.md frees the
    target."""
    target = victim("sites")
    watch = attach(target)
    os.kill(watch.pid, signal.SIGSTOP)
    last_for(HANG)
    assert code_differences(target.pid), "it has left"
    command = re.search(r"`(kill \$\(awk .*?)`\.", (TOP / "doc/limits.md").read_text())[1]
    subprocess.run(command.replace("/proc/PID/", f"/proc/{target.pid}/"), shell=True, check=True)
    wait_untraced(target.pid, BACK)
    assert_untouched(target)
    target.ask("run 2 1")
    os.kill(watch.pid, signal.SIGCONT)
    assert watch.wait() == 0, watch.said()
    assert any("lifted all traps and left" in line for line in watch.err.all)
    target.end()


def test_stopped_with_a_budget(victim, attach):
    """A watch of hours does not end because it gets no processor for seconds: no trap is planted meanwhile,
    and that is reported."""
    target = victim("sampled", "-r", "20000")
    watch = attach(target, "--budget", "5%", "--verdicts", "no")  # a pause is paid for, and nothing is planted until then
    wait_for(lambda: len(code_differences(target.pid)) > 1, "traps stand")
    os.kill(watch.pid, signal.SIGSTOP)
    # except for the one where the dynamic linker reports modules
    wait_for(lambda: len(code_differences(target.pid)) <= 1, "all are lifted", BACK + LOOK)
    for _ in range(20):
        assert len(code_differences(target.pid)) <= 1, "one was planted while nobody reads"
        last_for(0.1)
    os.kill(watch.pid, signal.SIGCONT)
    wait_for(lambda: len(code_differences(target.pid)) > 1, "they stand again")
    report = watch.finish()
    assert report["run"]["budget"]["closed_s"] > 2, report["run"]
    assert_untouched(target)
    target.end()


def test_stopped_for_a_moment_loses_nothing(victim, attach):
    """Half of --max-stall: the ring and the stall timer bridge it."""
    target = victim("hot", 2)
    watch = attach(target, "--max-stall", "1s")
    for _ in range(3):
        os.kill(watch.pid, signal.SIGSTOP)
        wait_for(lambda: open(f"/proc/{watch.pid}/stat").read().rpartition(")")[2].split()[0] == "T", "stopped")
        target.rate()
        os.kill(watch.pid, signal.SIGCONT)
        target.wait_working()
    report = watch.finish()
    assert lost(report) == {} and report["totals"]["allocs"] > 0
    assert_untouched(target)
    target.end()


def read_to_line(fd, beginning):
    """Read @fd to the end of the line that begins with @beginning, and no further."""
    line = b""
    while not (line.startswith(beginning) and line.endswith(b"\n")):
        byte = os.read(fd, 1)
        assert byte, f"no line {beginning!r}"
        line = byte if line.endswith(b"\n") else line + byte


def test_messages_that_nobody_reads(victim, watch):
    """--debug=event into a full pipe blocks mmattach in the middle of a write."""
    target = victim("hot", 4)
    before = target.pace()
    read_end, write_end = os.pipe()
    run = watch("-p", target.pid, "--debug=event", stderr=write_end)
    os.close(write_end)
    read_to_line(read_end, b"watching ")
    since = time.monotonic()
    wait_full_speed(target, before, since)
    assert_speed_stays(target, before, since + HANG)
    drain = subprocess.Popen(["cat"], stdin=read_end, stdout=subprocess.DEVNULL)
    os.close(read_end)
    run.interrupt()
    assert run.wait() == 0
    drain.wait(LIMIT)
    assert_gap_named(json.loads(run.out.text()))
    assert_untouched(target)
    assert target.end()["damaged"] == 0


def test_report_that_nobody_reads(victim, watch):
    """The keeper leaves the target before the report is written, not after."""
    target = victim("hot", 4)
    read_end, write_end = full_pipe()
    run = watch("-p", target.pid, stdout=write_end)
    os.close(write_end)
    run.wait_watching()
    run.interrupt()
    wait_untraced(target.pid, BACK)
    assert_untouched(target)
    assert run.alive(), "the report went somewhere"
    os.close(read_end)
    run.wait()
    assert target.end()["damaged"] == 0


def test_keeper_stopped(victim, attach):
    """The keeper is stopped by a signal, and so is the target: it is continued, and the time is reported."""
    target = victim("hot", 2)
    watch = attach(target)
    os.kill(watch.keeper(), signal.SIGSTOP)
    since = time.monotonic()
    wait_for(lambda: watch.alive() and any("was stopped for" in line for line in watch.err.all), "said that it stood still", 5)
    target.wait_working()
    assert time.monotonic() - since < 5
    assert_gap_named(watch.finish())
    assert_untouched(target)
    assert target.end()["damaged"] == 0
