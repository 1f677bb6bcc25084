# SPDX-License-Identifier: MIT
"""LeakSanitizer and we agree on which patterns match a stack (except for "$" after text that occurs twice,
where we look further)."""
import os
import shutil
import subprocess

import pytest

from test_unit import BUILD

PROGRAM = BUILD / "unit/test_suppress"
LEAKED = 23
STACK = ["session_open", "serve", "main"]

SOURCE = r"""
#include <stdlib.h>
static void *volatile kept;
__attribute__((noipa)) static void session_open(int n) { kept = malloc(n); kept = NULL; }
__attribute__((noipa)) static void serve(int n) { session_open(n); kept = NULL; }
int main(void) { serve(100); return 0; }
"""

PATTERNS = ["session_open", "serve", "ession", "^session_open$", "^session", "^ession", "open$", "sess$", "s*n_o", "*serve*", "^s*rve$",
            "^s*x$", "sessio?", "main", "open*session", "nobody", "^*open$", "serve_", "^serve$", "Serve"]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lsan")
    if not shutil.which("gcc"):
        pytest.skip("optional: no gcc")
    (folder / "program.c").write_text(SOURCE)
    built = subprocess.run(["gcc", "-fsanitize=leak", "-g", "-O0", "-o", folder / "program", folder / "program.c"],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if built.returncode or run(folder / "program", "/dev/null") != LEAKED:
        pytest.skip("optional: no LeakSanitizer")
    return folder / "program"


def run(program, suppressions):
    env = dict(os.environ, LSAN_OPTIONS=f"suppressions={suppressions}:exitcode={LEAKED}:use_registers=0:use_stacks=0:fast_unwind_on_malloc=0")
    return subprocess.run([program], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          timeout=60).returncode


@pytest.mark.parametrize("pattern", PATTERNS)
def test_pattern(program, tmp_path, pattern):
    path = tmp_path / "lsan.supp"
    path.write_text(f"# one\n  leak:{pattern}  \n")
    theirs = run(program, path) == 0
    ours = subprocess.run([PROGRAM, "matches", "leak", path, *STACK], check=False).returncode == 0
    assert ours == theirs
