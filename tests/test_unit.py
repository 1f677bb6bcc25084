# SPDX-License-Identifier: MIT
"""Each unit test program (tests/unit, cmocka) is one test here.

MM_BUILD names the variant's folder, build/release if it is not set.
"""
import os
import pathlib
import subprocess

import pytest

TOP = pathlib.Path(__file__).parent.parent
BUILD = TOP / os.environ.get("MM_BUILD", "build/release")
NAMES = sorted(source.stem for source in (TOP / "tests/unit").rglob("test_*.c"))

SKIP = 77


@pytest.mark.parametrize("name", NAMES)
def test_unit(name):
    program = BUILD / "unit" / name
    assert program.exists(), f"{program} is not built: make units"
    # In a sanitized variant leaks count here; otherwise the environment decides (Makefile).
    env = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=1")
    result = subprocess.run([program], cwd=TOP, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, timeout=300)
    output = result.stdout.decode(errors="replace")
    if result.returncode == SKIP:
        pytest.skip(output)
    assert result.returncode == 0, output
