# SPDX-License-Identifier: MIT
"""A text report on a terminal goes through a pager, as git's output does; whatever becomes of the pager, the
report is not lost and the exit status is the same."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import termios
import time

import pytest

from terminal import LIMIT, Terminal
from test_unit import BUILD

MMATTACH = (BUILD / "mmattach").resolve()
INPUTS = pathlib.Path(__file__).parent / "golden/inputs"
REPORT = ("report", INPUTS / "medley.mmt")
DIFF = ("diff", INPUTS / "service.mmt", INPUTS / "service_later.mmt")
COLORS = ("--color=always",)
RECORDS = """\
#!/bin/sh
echo "LESS=$LESS" > "$RECORD.environment"
grep Sig /proc/self/status > "$RECORD.signals"
exec cat > "$RECORD"
"""


def printed(*args):
    return subprocess.run([MMATTACH, *args], stdout=subprocess.PIPE, check=True, timeout=LIMIT).stdout


@pytest.fixture
def terminal():
    started = []

    def start(*args, pager=None, columns=140, **kwargs):
        env = {"MMATTACH_PAGER": pager, "PAGER": None, "LESS": None, "NO_COLOR": None,
               **kwargs.pop("env", {})}
        started.append(Terminal(MMATTACH, *args, env=env, columns=columns, **kwargs))
        return started[-1]

    yield start
    for t in started:
        t.close()


@pytest.fixture
def recorder(tmp_path):
    """(command, the file it records into)"""
    script = tmp_path / "pager"
    script.write_text(RECORDS)
    script.chmod(0o755)
    return str(script), tmp_path / "record"


@pytest.mark.parametrize("args", [REPORT, DIFF, ("help",), ("--help",)], ids=lambda args: args[0])
def test_gets_the_text(terminal, recorder, args):
    """All of it, with the colors of a terminal, and nothing of it is printed by us."""
    script, record = recorder
    t = terminal(*args, pager=script, env={"RECORD": str(record)})
    assert t.end() == 0 and t.text == b""
    if "help" in args[0]:
        assert record.read_bytes() == printed(*args)
    else:
        assert record.read_bytes() == printed(*args, *COLORS) and b"\x1b[" in record.read_bytes()


def test_its_surroundings(terminal, recorder):
    """No signal ignored or blocked by us, LESS as git sets it, started by the shell."""
    script, record = recorder
    t = terminal(*REPORT, pager=f"X=1 {script} # told by sh", env={"RECORD": str(record)})
    assert t.end() == 0
    environment = pathlib.Path(f"{record}.environment").read_text()
    assert environment == "LESS=FRX\n"
    signals = dict(re.findall(r"Sig(\w+):\s+(\w+)", pathlib.Path(f"{record}.signals").read_text()))
    ordinary = 0x7fffffff       # signals 32 and 33 are those of the C library, and may be inherited as ignored
    assert int(signals["Blk"], 16) & ordinary == 0 and int(signals["Ign"], 16) & ordinary == 0
    t = terminal(*REPORT, pager=script, env={"RECORD": str(record), "LESS": "S"})
    assert t.end() == 0 and pathlib.Path(f"{record}.environment").read_text() == "LESS=S\n"


def test_no_descriptor_leaks(terminal):
    lists = 'import os; print(sorted(map(int, os.listdir("/proc/self/fd"))))'
    t = terminal(*REPORT, pager=f"exec {sys.executable} -c '{lists}'")
    assert t.end() == 0 and t.text == b"[0, 1, 2, 3]\r\n", "3 is the folder that it lists"


def test_which_one(terminal, recorder):
    script, record = recorder
    t = terminal(*REPORT, env={"PAGER": script, "RECORD": str(record)})
    assert t.end() == 0 and t.text == b"" and record.read_bytes()
    t = terminal(*REPORT, pager="cat >/dev/null", env={"PAGER": "false"})
    assert t.end() == 0 and t.text == b""


@pytest.mark.parametrize("how", [
    {"pager": "cat"}, {"pager": ""}, {"env": {"PAGER": "cat"}}, {"pager": None, "env": {"PATH": "/nowhere"}},
    {"pager": "echo shown", "env": {"TERM": "dumb"}}
], ids=["cat", "empty", "PAGER", "no less", "dumb"])
def test_none(terminal, how):
    """The report alone, and no message about a less that is not installed."""
    t = terminal(*REPORT, *COLORS, **how)
    assert t.end() == 0 and t.plain() == printed(*REPORT, *COLORS)


def test_only_text_to_the_terminal(terminal, recorder, tmp_path):
    script, record = recorder
    env = {"RECORD": str(record)}
    for args in (("--no-pager",), ("--format", "json"), ("--format", "csv"), ("-o", tmp_path / "out"),
                 ("--no-pager", "--block-list", "1")):
        assert terminal(*REPORT, *args, pager=script, env=env).end() == 0, args
    assert terminal(*DIFF, "--no-pager", pager=script, env=env).end() == 0
    with open(tmp_path / "stdout", "wb") as out:
        assert terminal(*REPORT, pager=script, env=env, stdout=out).end() == 0
    assert terminal("--no-pager", "--help", pager=script, env=env).end() == 0
    assert terminal("--version", pager=script, env=env).end() == 0
    assert not record.exists() and (tmp_path / "stdout").read_bytes()


@pytest.mark.parametrize("pager", ["no-such-pager-at-all", "exit 3", "head -c 100 >/dev/null; exit 1",
                                   "kill -9 $$", "kill -PIPE $$"])
def test_fails(terminal, pager):
    """The report is printed without it, and the terminal is as it was."""
    t = terminal(*REPORT, "--error-exitcode", "7", pager=pager)
    assert t.end() == 7
    assert t.plain().endswith(printed(*REPORT, *COLORS))


def test_a_killed_pager_leaves_no_raw_terminal(terminal):
    t = terminal(*REPORT, pager="stty raw -echo; echo ready; cat >/dev/null; kill -9 $$")
    t.wait_for(b"ready")
    assert t.end() == 0
    assert termios.tcgetattr(t.ours)[:4] == t.mode[:4]


def test_ends_early(terminal):
    """Its user has read enough: nothing more is printed."""
    t = terminal(*REPORT, "--error-exitcode", "7", pager="head -n 1")
    assert t.end() == 7 and t.text.count(b"\n") == 1


def test_large_text_and_an_early_end(terminal):
    """More than fits into a pipe: EPIPE, and no SIGPIPE."""
    t = terminal(*REPORT, "--error-exitcode", "7", "--gen-suppressions", pager="exec <&-; echo closed; exit 0")
    assert t.end() == 7 and t.text == b"closed\r\n"


def test_less(terminal):
    """The usual one: a screenful, q, and the status."""
    t = terminal(*REPORT, "--error-exitcode", "7")
    t.wait_for(b"\x1b[")
    t.read_for(0.5)
    assert t.process.poll() is None, "it waits for its user"
    t.press(b"\x03")    # Ctrl-C: less goes on
    t.read_for(0.5)
    assert t.process.poll() is None, "Ctrl-C is the pager's"
    t.press(b"q")
    assert t.end() == 7
    assert termios.tcgetattr(t.ours)[:4] == t.mode[:4]


@pytest.mark.parametrize("columns", [120, 80, 72])
@pytest.mark.parametrize("args", [REPORT, DIFF, ("report", "--block-list", "1", INPUTS / "medley.mmt")],
                         ids=["report", "diff", "blocks"])
def test_lines_fit_the_terminal(terminal, args, columns):
    """Broken at words: nothing is lost, and no line is longer but by a word that cannot be broken."""
    t = terminal(*args, pager="cat", columns=columns)
    assert t.end() == 0
    lines = t.text.decode().replace("\r\n", "\n").splitlines()
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]
    assert len(plain) > 5
    assert not [line for line in plain if len(line) > columns and len(line.split()) > 1 and
                len(line.split()[-1]) + 12 < columns]


@pytest.mark.parametrize("columns", [80, 72])
def test_rows_of_a_difference_fit(terminal, columns):
    """The name is cut to what is left of the line, as in a report: a row is one line."""
    t = terminal(*DIFF, pager="cat", columns=columns)
    assert t.end() == 0
    text = re.sub(r"\x1b\[[0-9;]*m", "", t.text.decode().replace("\r\n", "\n"))
    head, *rows = text.split("\n\n")[1].splitlines()
    assert head.split() == ["change", "before", "now"] and len(rows) == 4
    assert [row for row in rows if not re.match(r"  \[\d\]  +\+", row) or len(row) > columns] == []


def test_one_screen_is_just_printed(terminal):
    t = terminal("help", "repair", columns=200)
    assert t.end() == 0
    assert b"mmattach repair 1234" in t.text


def test_ctrl_c_ends_a_pager(terminal):
    """A pager that Ctrl-C kills: not the report again, and the status is that of the report."""
    t = terminal(*REPORT, "--error-exitcode", "7", pager="echo ready; exec sleep 100")
    t.wait_for(b"ready")
    t.press(b"\x03")
    assert t.end() == 7
    assert t.text.replace(b"^C", b"").strip() == b"ready"


def is_running(pid):
    """Not ended: a signal that has been sent acts when the process gets a processor."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_killed_itself(terminal):
    """SIGTERM ends mmattach as ever, and the pager with it."""
    t = terminal(*REPORT, pager="echo ready $$; exec sleep 100")
    t.wait_for(b"\n")
    pager = int(t.text.split()[1])
    t.process.terminate()
    assert t.end() == -signal.SIGTERM   # reads until the pager, too, has left the terminal
    deadline = time.monotonic() + LIMIT
    while is_running(pager) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_running(pager)
