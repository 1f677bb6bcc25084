# SPDX-License-Identifier: MIT
"""Python reports an undefined name only when the code runs; here it is found in branches and lines that
seldom run, too."""
import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
FAULTS = "undefined name", "is assigned to but never used", "may be undefined", "syntax"


def faults(*paths):
    said = subprocess.run([sys.executable, "-m", "pyflakes", *paths], capture_output=True, text=True)
    assert "No module named" not in said.stderr, said.stderr
    return [line for line in (said.stdout + said.stderr).splitlines() if any(fault in line for fault in FAULTS)]


def test_names():
    files = [path for path in TOP.rglob("*.py") if not path.relative_to(TOP).parts[0].startswith((".", "build"))]
    assert len(files) > 50
    assert not faults(*files)


def test_a_fault_is_found(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text("def f():\n    unused = 1\n    return unknown\n")
    assert len(faults(wrong)) == 2
