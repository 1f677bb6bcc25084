# SPDX-License-Identifier: MIT
"""--color: on a terminal that has colors, and nowhere else unless it is asked for; never in a file."""
import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import termios

import pytest

from test_unit import BUILD

INPUTS = pathlib.Path(__file__).parent / "golden/inputs"
REPORT = ("report", INPUTS / "medley.mmt")
DIFF = ("diff", INPUTS / "service.mmt", INPUTS / "service_later.mmt")
SEQUENCE = re.compile(rb"\x1b\[[0-9;]*m")


def environment(**more):
    return {name: value for name, value in {**os.environ, "TERM": "xterm", "NO_COLOR": None, **more}.items() if value is not None}


def printed(*args, **env):
    """Into a pipe."""
    return subprocess.run([BUILD / "mmattach", *args], stdout=subprocess.PIPE, env=environment(**env), check=True, timeout=60).stdout


def shown(*args, **env):
    """On a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 140, 0, 0))
    with os.fdopen(ours, "rb", buffering=0) as screen:
        process = subprocess.Popen([BUILD / "mmattach", *args], stdout=theirs, env=environment(**env))
        os.close(theirs)
        said = b""
        while True:
            try:
                piece = screen.read(65536)
            except OSError:     # the last who had it open has ended
                break
            if not piece:
                break
            said += piece
    assert process.wait(60) == 0
    return said.replace(b"\r\n", b"\n")


@pytest.mark.parametrize("args", [REPORT, DIFF], ids=lambda args: args[0])
def test_where(args):
    plain = printed(*args)
    assert not SEQUENCE.search(plain) and shown(*args, "--color=never") == plain
    assert printed(*args, "--color", "auto") == plain
    colored = printed(*args, "--color=always")
    assert SEQUENCE.search(colored) and SEQUENCE.sub(b"", colored) == plain
    assert shown(*args) == colored
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": None}):
        assert shown(*args, **env) == plain, env
        assert printed(*args, "--color=always", **env) == colored, env
    assert shown(*args, NO_COLOR="") == colored, "an empty one says nothing"


def test_never_in_a_file_nor_for_programs(tmp_path):
    printed(*REPORT, "--color=always", "-o", tmp_path / "r")
    assert (tmp_path / "r").read_bytes() == printed(*REPORT)
    for form in ("json", "csv", "folded"):
        assert printed(*REPORT, "--color=always", "--format", form) == printed(*REPORT, "--format", form)


def test_what():
    colored = printed(*REPORT, "--color=always").decode()
    assert {words for words in re.findall(r"\x1b\[0;31m(.*?)\x1b\[0m", colored)} == {"3 DOUBLE FREEs", "DOUBLE FREE", "definitely lost"}
    bold = re.findall(r"\x1b\[0;1m(.*?)\x1b\[0m", colored)
    assert {"lost", "live, perhaps growing", "[1]", "give_twice medley.cc:56"} <= set(bold)
    assert "\x1b[0m" in printed("report", INPUTS / "medley.mmt", "--block-list", "1", "--color=always").decode()
