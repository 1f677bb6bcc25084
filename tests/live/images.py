# SPDX-License-Identifier: MIT
"""The files of a container: the victim paths.c as /program, with a libc that is not the host's; and what a watch of
it has to report."""
import os
import pathlib
import shutil

import pytest

import libcs
from harness import VICTIMS

LIBC = "2.41"


def make(root):
    """Fill the folder @root."""
    if os.geteuid():
        pytest.skip("needs root")
    if not libcs.there(LIBC):
        pytest.skip(f"glibc {LIBC} is not there: make libcs (it needs the network)")
    for folder in ("proc", "lib64", "lib"):
        (root / folder).mkdir()
    libraries = pathlib.Path(libcs.libraries(LIBC))
    shutil.copytree(libraries, root / "lib/x86_64-linux-gnu", symlinks=False, ignore_dangling_symlinks=True)
    shutil.copy(root / "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", root / "lib64")
    shutil.copy(VICTIMS / "paths", root / "program")
    return root


def functions(group):
    return [frame["function"] for frame in group["stack"]]


def assert_found(report):
    """The 50 blocks of "nested 50", with files, lines and modules."""
    group = next(g for g in report["groups"] if g["blocks"] == 50)
    assert "main" in functions(group) and group["stack"][0]["file"].endswith("paths.c"), functions(group)
    assert group["stack_end"] == "whole"
    modules = {frame["module"] for frame in group["stack"]}
    assert any(module.endswith("/program") for module in modules), modules
