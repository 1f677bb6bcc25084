# SPDX-License-Identifier: MIT
"""Each file has its licence: a line of its own where it can have a comment, else by .reuse/dep5."""
import itertools
import pathlib
import subprocess

import pytest

TOP = pathlib.Path(__file__).parent.parent
KEY = "SPDX-License" + "-Identifier: "     # in two parts: this line is none itself
LINE = KEY + "MIT"
COMMENTS = {".c", ".h", ".cc", ".rs", ".S", ".py", ".sh", ".md", ".probes", ".fish", ".1", ".5", ".js", ".css"}
NAMED = {"Makefile", "report/html/page.html", "run", ".ci/run", ".gitignore", "completions/mmattach", "completions/_mmattach",
         "debian/rules", "debian/control", "debian/tests/control", "debian/tests/smoke"}
# Inputs and results of tests are as programs wrote them; README is a page for readers.
WITHOUT = ("tests/golden/", "tests/data/", "tests/fuzz/corpus/", "README.md")


def files():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, capture_output=True, text=True,
                            check=True).stdout
    return [name for name in listed.split("\0") if name]


def head(name):
    with open(TOP / name, errors="replace") as file:
        return "".join(itertools.islice(file, 3))


def can_say(name):
    code = pathlib.Path(name).suffix in (".py", ".c")
    return (name in NAMED or pathlib.Path(name).suffix in COMMENTS) and (code or not name.startswith(WITHOUT))


def test_each_says_its_licence():
    assert [name for name in files() if can_say(name) and LINE not in head(name)] == []
    assert NAMED <= set(files())


def test_no_other_licence():
    said = subprocess.run(["git", "grep", "-hIo", KEY + "[A-Za-z0-9.-]*"], cwd=TOP, capture_output=True,
                          text=True, check=True).stdout
    assert set(said.splitlines()) == {LINE}


def test_reuse_lint():
    """The whole tree, as the tool of the FSFE sees it; without the network."""
    try:
        lint = subprocess.run(["reuse", "lint"], cwd=TOP, capture_output=True, text=True, timeout=120)
    except FileNotFoundError:
        pytest.skip("reuse is not installed")
    assert lint.returncode == 0, lint.stdout
