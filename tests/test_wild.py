# SPDX-License-Identifier: MIT
"""bench/wild: each program is described as bench/wild/README.md says, and its script is one that a shell takes."""
import json
import pathlib
import re
import subprocess

import pytest

TOP = pathlib.Path(__file__).parent.parent
FOLDERS = sorted((TOP / "bench/wild").glob("*/"))
TYPES = {"program": str, "version": str, "packages": list, "language": str, "allocator": str, "server": bool, "kind": str, "reference": str,
         "what": str, "right": list, "also": list}
OPTIONAL = {"suite": str, "rate": (int, float), "bytes": (int, float), "options": list, "notes": str}


def about(folder):
    return json.loads((folder / "about.json").read_text())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_program(folder):
    its = about(folder)
    for key, kind in TYPES.items():
        assert isinstance(its[key], kind), key
    for key in set(its) - set(TYPES):
        assert isinstance(its[key], OPTIONAL[key]), key
    assert its["kind"] in ("leak", "growth", "none")
    assert bool(its["right"]) == (its["kind"] != "none")
    assert its["packages"] and its["what"].endswith(".")
    for pattern in its["right"] + its["also"]:
        re.compile(pattern)
    text = (folder / "start").read_text()
    assert "SPDX-License-Identifier: MIT" in text
    # or it begins another one's, with another malloc
    assert ("ready" in text and "$WRAP" in text) or "/start" in text
    subprocess.run(["sh", "-n", folder / "start"], check=True)


def test_there_are_all_kinds():
    """Leaks of servers and others, in all languages and allocators; and programs that grow without one."""
    leaks = [its for its in map(about, FOLDERS) if its["kind"] != "none"]
    assert len(leaks) >= 25 and sum(its["server"] for its in leaks) >= 15
    assert len(FOLDERS) - len(leaks) >= 10
    for language in ("C", "C++", "python", "ruby", "php", "node"):
        assert any(language in its["language"] or language in its["program"].lower() for its in leaks), language
    for allocator in ("glibc", "jemalloc", "tcmalloc"):
        assert any(allocator in its["allocator"] for its in leaks), allocator
