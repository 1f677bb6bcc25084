# SPDX-License-Identifier: MIT
"""The tutorials (tutorial.py says how they are written): each command works, and prints what is there."""
import re
import subprocess

import pytest

import tutorial
from harness import MMATTACH, TOP
from service import missing
from tutorial import Session, ages_and_watches, differs, parts_of, plain, walk

pytestmark = pytest.mark.waiting

TUTORIALS = ["README.md", "doc/find-a-leak.md", "doc/references.md", "doc/production.md",
             "doc/post-mortem.md", "doc/gdb.md", "doc/python.md", "doc/ruby.md", "doc/limits.md",
             "doc/recipes.md"]
PARTS = [pytest.param(name, part, id=f"{name}:{part.commands[0].line}")
         for name in TUTORIALS for part in parts_of((TOP / name).read_text())]


def lacking(needs):
    return missing(*(str(TOP / need) if "/" in need else need for need in needs))


@pytest.mark.parametrize("name, part", PARTS)
def test_it_is_as_the_document_says(name, part, tmp_path):
    if lacking(part.needs):
        pytest.skip(f"optional: not installed, or not built: {' '.join(lacking(part.needs))}")
    session = Session(tmp_path)
    try:
        for _ in walk(part, session, name):
            pass
    finally:
        session.end()


@pytest.mark.parametrize("name, part", PARTS)
def test_no_block_is_older_than_its_watch(name, part):
    for command, age, lasted in ages_and_watches(part):
        assert age <= 1.1 * lasted + 0.1, f"{name}:{command.line}: {age} s, of a watch of {lasted} s"


# --- options ---

def known_options():
    told = subprocess.run([MMATTACH, "help", "all"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", told))


OTHERS = re.compile(r"setpriv|objdump -d|docker|kubectl|podman|valgrind|heaptrack|gdb -|bench/run.py|node --")


@pytest.mark.parametrize("name", TUTORIALS)
def test_its_options_exist(name):
    known = known_options()
    lines = [line for line in (TOP / name).read_text().splitlines() if not OTHERS.search(line)]
    unknown = {option for line in lines for option in re.findall(r"(?<![\w-])--[a-z][\w-]+", line)} - known
    assert not unknown


# --- the test of the test ---

DOCUMENT = """
Text.

    $ echo 7 blocks
    3 blocks
    $ printf '%s\\n' one 2 3 four
    one
    ...
    four

<!-- not run: it would
     take a day -->

    $ sleep 86400

    mmattach -p 1234            only an example

<!-- needs: no-such-program -->

    $ no-such-program
"""


def test_a_document_is_read():
    first, second = parts_of(DOCUMENT)
    assert [(c.line, c.text, c.expected) for c in first.commands] == \
        [(4, "echo 7 blocks", ["3 blocks"]), (6, "printf '%s\\n' one 2 3 four", ["one", "...", "four"])]
    assert [c.text for c in first.skipped] == ["sleep 86400"]
    assert second.needs == ["no-such-program"] == lacking(second.needs)


def test_what_differs_is_found(tmp_path, monkeypatch):
    session = Session(tmp_path)
    try:
        assert len(list(walk(parts_of(DOCUMENT)[0], session, "it"))) == 2
        monkeypatch.setattr(tutorial, "BEHIND", 0.1)
        with pytest.raises(AssertionError, match="it:3"):
            list(walk(parts_of("\n\n    $ echo other\n    word\n")[0], session, "it"))
    finally:
        session.end()


@pytest.mark.parametrize("expected, printed, same", [
    ("12 blocks, 1.5 MiB", "1 block, 3 B", False),
    ("12 blocks, 1.5 MiB", "700 blocks, 70 MiB", True),
    ("1.5 MiB in 12 blocks", "3 B in 1 block", False),
    ("[1]  1.5 MiB   8%   12  x", "[1]  36 B   8%   12  x", False),
    ("[1]  1.5 MiB   8%   12  x", "[1]  300 KiB   3.2%   4  x", True),
    ("[1]  1.5 MiB   8%   12  x", "[1]  1.5 MiB   88%   12  x", False),
    ("it took 4s", "it took 9.3s", True),
    ("it took 4s", "it took 2m", False),
    ("it took 4ms", "it took 0.9s", True),
    ("1.5 MiB in 12 blocks ...", "1.2 MiB in 12 blocks, 3m", True),
    ("1.5 MiB in 12 blocks ...", "1.2 KiB in 12 blocks, 3m", False),
    ("[1]  480 B   8%   12  x, ...", "[1]  480 B   8%   12  x, and 80 KiB in 4 blocks with them", True),
    ("lost none; at 0x7f12", "lost 17 KiB in 3 blocks; at 0x55aa01", True),
    ("a\n...\nb", "a\nb", True),
    ("a\n...\nb", "a\nc\nd\nb", True),
    ("a\n...\nb", "a\nb\nc", False),
    ("a\n...", "a", True),
    ("...\nb", "a\nc", False),
    ("a\n...\nb\n...\nc", "a\nc\nb\nc", True),
    ("a\n...\nb\n...\nb", "a\nb", False),
    ("[1] 5 B   x", "[2] 9 KiB x", True),
    ("grew ...\nb", "grew by 3\nb", True),
    ("grew ...", "shrank", False),
    ("  note      one\n            two", "  note      one two", True),
    ("            change\n            3 B", "            change 3 B", False),
    ("x | .:-=@|", "x |..::##|", True),
    ("grew", "", False),
    ("", "grew", False),
    ("a\nb", "a\nmmattach: warning: this watch slows the target much: 43% of it\nb", True),
    ("a\nmmattach: warning: this watch slows ...\nb", "a\nb", False),
])
def test_forms(expected, printed, same):
    assert (differs(expected.split("\n"), printed) is None) == same
    assert plain("4s old") == "TIME old"
