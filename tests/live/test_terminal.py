# SPDX-License-Identifier: MIT
"""What a user sees on a terminal during a watch: a line of progress that is gone at the end and holds nothing
up; and the report in a pager, which starts when the process has been left."""
import fcntl
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

from harness import LIMIT, MMATTACH, last_for, wait_for
from terminal import Terminal
from untouched import assert_untouched, tracers, wait_untraced

pytestmark = pytest.mark.waiting

LINE = re.compile(rb"\r(\d+s/[^\r\n\x1b]*)\x1b\[K")


@pytest.fixture
def terminal():
    started = []

    def start(*args, pager="cat", **kwargs):
        env = {"MMATTACH_PAGER": pager, "PAGER": None, "LESS": None, **kwargs.pop("env", {})}
        started.append(Terminal(MMATTACH, *args, env=env, **kwargs))
        return started[-1]

    yield start
    for t in started:
        t.close()


def screen(text, columns):
    """The rows as they are in the end; a row that was too long has wrapped into the next."""
    rows, at = [""], 0
    for piece in re.findall(r"\x1b\[K|\x1b\[[0-9;]*m|[\s\S]", text.decode()):
        if piece == "\n":
            rows.append("")
        elif piece == "\r":
            at = 0
        elif piece == "\x1b[K":
            rows[-1] = rows[-1][:at]
        elif not piece.startswith("\x1b"):
            if at == columns:
                rows.append("")
                at = 0
            rows[-1] = rows[-1][:at].ljust(at) + piece + rows[-1][at + 1:]
            at += 1
    return rows


def assert_agrees(line, report):
    """The last line of progress and the report have the same share, as both have it from the same figures."""
    shown = float(re.search(r"stopped <?([\d.]+)%", line)[1])
    said = re.search(r"<?([\d.]+)% \(\S+ of \S+\) of the \d+ threads that hit traps, together", report)
    assert said and shown == pytest.approx(float(said[1]), rel=0.3), (line, report)


@pytest.mark.parametrize("columns", [80, 40, 200])
def test_the_line(victim, terminal, tmp_path, columns):
    target = victim("leaky_service", "calm")
    t = terminal("-p", target.pid, "-d", "8s", "--report", tmp_path / "r", columns=columns)
    assert t.end() == 0
    lines = [line.decode() for line in LINE.findall(t.text)]
    # each second; on a busy machine some are late
    assert 3 <= len(lines) <= 8, lines
    assert all(len(line) < columns and re.match(r"\d+s/8s  ", line) for line in lines), lines
    assert all("live" in line for line in lines)
    assert all(("Ctrl-C ends" in line) == (columns >= 80) for line in lines), lines
    assert bool(re.search(r"k events  .*  \+[\d.]+ [KM]?i?B/min", lines[-1])) == (columns >= 80), lines
    assert columns < 200 or all(re.search(r"  stopped [\d.<]+% of the time$", line) for line in lines), lines
    if columns == 200:
        assert_agrees(lines[-1], (tmp_path / "r").read_text())
    rows = screen(t.text, columns)
    assert not [row for row in rows if "s/8s" in row], "it is erased"
    assert rows[0].startswith(f"watching {target.pid} ")
    assert_untouched(target)


def test_with_a_budget(victim, terminal, tmp_path):
    """Few blocks are known then: they are called tracked, and have no bytes."""
    target = victim("hot", 1)
    t = terminal("-p", target.pid, "-d", "4s", "--budget", "1%", "--report", tmp_path / "r")
    assert t.end() == 0
    lines = LINE.findall(t.text)
    assert lines and all(b"tracked" in line and b"live" not in line for line in lines), lines
    target.end()


def test_where_there_is_none(victim, terminal, tmp_path):
    target = victim("leaky_service", "calm")
    for args, env in ((("-q",), {}), ((), {"TERM": "dumb"})):
        t = terminal("-p", target.pid, "-d", "2s", "--report", tmp_path / "r", *args, env=env)
        assert t.end() == 0 and b"\r" not in t.text.replace(b"\r\n", b""), t.text
    with open(tmp_path / "stderr", "wb") as file:
        t = terminal("-p", target.pid, "-d", "2s", "--report", tmp_path / "r", stderr=file)
        assert t.end() == 0 and t.text == b""
    assert re.fullmatch(r"watching .*\n", (tmp_path / "stderr").read_text())
    t = terminal("-d", "3s", "--report", tmp_path / "r", "--", "/bin/sh", "-c", "printf prompt; sleep 3; echo")
    assert t.end() == 0 and b"/3s" not in t.text and b"prompt" in t.text, "the program's own line is left alone"
    assert_untouched(target)


def test_makes_way(victim, terminal):
    """For messages, and for an interim report that is asked for."""
    target = victim("leaky_service", "calm")
    t = terminal("-p", target.pid, "-d", "6s", "-v")
    t.wait_for(b"Ctrl-C ends")
    t.process.send_signal(signal.SIGUSR1)
    t.wait_for(b"interim report 1: the watch goes on\r\n")
    assert t.end() == 0
    rows = screen(t.text, 80)
    assert not [row for row in rows if "Ctrl-C ends" in row and "hint:" not in row], rows
    assert any(row.startswith("mmattach: ") for row in rows)
    assert_untouched(target)


def stop_reading(t):
    """Nothing is read any more, and the terminal is full."""
    fd = os.open(t.name, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
    for n in (4096, 256, 16, 1):
        try:
            while True:
                os.write(fd, b"x" * n)
        except BlockingIOError:
            pass
    os.close(fd)


def press_ctrl_s(t):
    t.press(b"\x13")
    fd = os.open(t.name, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
    wait_for(lambda: stopped(fd), "the terminal is stopped")
    os.close(fd)


def stopped(fd):
    try:
        os.write(fd, b".")
        return False
    except BlockingIOError:
        return True


@pytest.mark.alone
@pytest.mark.parametrize("how", [stop_reading, press_ctrl_s], ids=lambda how: how.__name__)
def test_a_stopped_terminal_holds_nothing_up(victim, terminal, tmp_path, how):
    """The target works as it did with a terminal that is read, and is left on time."""
    target = victim("hot", 1)
    t = terminal("-p", target.pid, "-d", "8s", "--report", tmp_path / "r")
    t.wait_for(b"Ctrl-C ends")
    began = time.monotonic()
    free = target.pace()
    how(t)
    last_for(2)
    assert target.pace() > free / 4
    last_for(2)
    assert target.pace() > free / 4 and tracers(target.pid) != {0}
    wait_untraced(target.pid, LIMIT)
    assert time.monotonic() - began < 12
    assert fcntl.fcntl(t.ours, fcntl.F_GETFL) & os.O_NONBLOCK == 0
    t.press(b"\x11")
    assert t.end() == 0
    assert "gaps" not in (tmp_path / "r").read_text()
    assert_untouched(target)


# --- the pager ---

def test_the_pager_starts_when_the_target_is_left(victim, terminal, tmp_path):
    """Nothing traces it any more, and no keeper is there: an hour in the pager costs the target nothing."""
    target = victim("leaky_service", "calm")
    record = tmp_path / "record"
    pager = f"cat > {record}; grep TracerPid /proc/{target.pid}/status; echo ready; exec sleep 100"
    t = terminal("-p", target.pid, "-d", "1s", pager=pager)
    t.wait_for(b"ready")
    assert re.search(rb"TracerPid:\s+0\r\n", t.text)
    assert_untouched(target)
    assert not [p for p in os.listdir("/proc") if p.isdigit() and is_keeper_of(p, t.process.pid)]
    t.press(b"\x03")
    assert t.end() == 0
    assert "still allocated" in " ".join(record.read_text().split()) and "\x1b[" in record.read_text()


def is_keeper_of(pid, parent):
    try:
        name, rest = re.match(r"\d+ \((.*)\) (.*)", pathlib.Path(f"/proc/{pid}/stat").read_text()).groups()
    except OSError:
        return False
    return name == "mm-keeper" and int(rest.split()[1]) == parent and rest[0] != "Z"


def test_interim_reports_are_printed(victim, terminal):
    target = victim("leaky_service", "calm")
    t = terminal("-p", target.pid, "-d", "3500ms", "--interval", "1s", pager="echo paged; cat >/dev/null")
    assert t.end() == 0
    assert t.text.count(b"paged") == 1 and t.text.count(b"interim report 1") == 1
    assert (b"interim report 1: the watch goes on, and there are no verdicts yet: the last report has them; kill -USR1 %d "
            b"makes one with verdicts now" % t.process.pid) in b" ".join(t.text.split())
    assert [line for line in LINE.findall(t.text) if re.match(rb"[123]s/3.5s  ", line)], "the line is there between reports"
    assert not [row for row in screen(t.text, 80) if "s/3.5s" in row], "it is erased"
    assert t.text.rindex(b"paged") > t.text.rindex(b"interim report")


def test_a_program_that_still_runs_has_the_terminal(terminal, tmp_path):
    pager = "echo paged; cat >/dev/null"
    t = terminal("-q", "-d", "1s", "--", "/bin/sh", "-c", f"while ! [ -e {tmp_path / 'end'} ]; do sleep 0.1; done; exit 5", pager=pager)
    t.wait_for(b"sh (")
    (tmp_path / "end").touch()
    assert t.end() == 5 and b"paged" not in t.text
    t = terminal("-q", "--", "/bin/sh", "-c", "exit 5", pager=pager)
    assert t.end() == 5 and b"paged" in t.text


def test_scan(victim, terminal, tmp_path):
    """Its copy of the process is gone when the pager starts."""
    target = victim("leaky_service", "calm")
    t = terminal("scan", "-p", target.pid, pager=f"cat > {tmp_path / 'record'}")
    assert t.end() == 0
    assert "leaky_service" in (tmp_path / "record").read_text()
    assert_untouched(target)


def test_a_scan_of_much_memory(terminal, tmp_path):
    """Its long steps are shown, and nothing of them is left in the end."""
    fill = "import sys; b = b'x' * 1200000000; print('ready', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", fill], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as target:
        assert target.stdout.readline() == b"ready\n"
        t = terminal("scan", "-p", target.pid, "--max-pause", "60s", "--report", tmp_path / "r")
        assert t.end() == 0
        assert b"\rlisting the blocks: 1.1 GiB\x1b[K" in t.text and b"following pointers: 1.1 GiB" in t.text
        assert not "".join(screen(t.text, 80)).strip()
        quiet = terminal("scan", "-q", "-p", target.pid, "--max-pause", "60s", "--report", tmp_path / "r")
        assert quiet.end() == 0 and quiet.text == b""
        target.stdin.close()
        assert target.wait(LIMIT) == 0


def test_in_the_background_nothing_is_asked_of_the_terminal(victim, terminal):
    """A background job neither starts a pager nor draws; with tostop it would be stopped."""
    target = victim("leaky_service", "calm")
    job = f"set -m; {MMATTACH} -p {target.pid} -d 3s & wait"
    t = Terminal("/bin/bash", "-c", job, env={"MMATTACH_PAGER": "echo paged"})
    try:
        assert t.end() == 0
        assert b"paged" not in t.text and b"Ctrl-C" not in t.text and re.search(rb"still\s+allocated", t.text)
    finally:
        t.close()
    assert_untouched(target)


def test_tostop_stops_no_watch_of_several(victim):
    """Each is in a process group of its own, which is in the background, and prints its messages."""
    targets = [victim("pool") for _ in range(2)]
    t = Terminal("/bin/sh", "-c", f"stty tostop; exec {MMATTACH} -v -p {targets[0].pid},{targets[1].pid} -d 1s",
                 env={"MMATTACH_PAGER": "cat"})
    try:
        assert t.end() == 0
        assert f"mmattach: pool {targets[0].pid}: ".encode() in t.text, t.text
    finally:
        t.close()
    for target in targets:
        assert_untouched(target)
