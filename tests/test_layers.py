# SPDX-License-Identifier: MIT
"""The layers hold, and the check that says so can say no."""
import pathlib
import subprocess
import sys

TESTS = pathlib.Path(__file__).parent


def layers(*args):
    return subprocess.run([sys.executable, TESTS / "layers.py", *args], capture_output=True, text=True)


def test_the_tree():
    result = layers()
    assert result.returncode == 0, result.stdout


def test_breaches_are_named(tmp_path):
    files = {
        "base/a.h": "",
        "trace/t.h": '#include "base/a.h"\n',
        "base/up.c": '\n#include "trace/t.h"\n',
        "report/r.c": '  #  include "attach/watch/session.h"\n',
        "attach/watch/session.h": '#include "attach/keeper/k.h"\n',
        "attach/keeper/k.h": '#include "base/a.h"\n',
        "attach/keeper/k.c": '#include "attach/keeper/k.h"\n#include "attach/probes/p.h"\n',
        "attach/probes/p.h": '#include "attach/keeper/k.h"\n#include "p.h"\n',
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    result = layers(str(tmp_path))
    assert result.returncode == 1
    named = [line.split(": ")[0] for line in result.stdout.splitlines()]
    assert named == ["base/up.c:2", "report/r.c:1", "attach/keeper/k.c:2", "attach/probes/p.h:2"]
