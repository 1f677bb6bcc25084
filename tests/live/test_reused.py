# SPDX-License-Identifier: MIT
"""The process ends while mmattach attaches, and another one gets its number: that one is left alone."""
import json
import subprocess
import sys

import pytest

from harness import MMATTACH, TOP, VICTIMS


@pytest.mark.parametrize("where", ["modules_new", "attached_seize"])
def test_another_process_is_left_alone(where):
    """It is gone when its modules are read, or when it is about to be traced."""
    had = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", sys.executable, TOP / "tests/tools/reused.py", MMATTACH,
                          where, VICTIMS / "paths", "-d", "1", "--engine", "ptrace"], capture_output=True, text=True, timeout=60)
    assert had.returncode == 0, had.stderr
    other = json.loads(had.stdout)
    assert other["alive"] and other["tracer"] == 0
    assert 'exit-code="01"' in other["end"] and "it ended while mmattach was attaching" in other["said"], other
