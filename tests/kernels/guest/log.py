# SPDX-License-Identifier: MIT
"""What the kernel itself says: nothing that taints it, no warning of its own code, and no process that died."""
import pathlib
import re
import subprocess

BAD = re.compile(r"WARNING|BUG|Oops|general protection|Call Trace|traps:|segfault|blocked for more than|stall")
MOST = 5


class Kernel:
    """What had been said before the checks does not count."""

    def __init__(self):
        self.taint = taint()
        self.lines = len(messages())

    def assert_clean(self):
        bad = [line for line in messages()[self.lines:] if BAD.search(line)]
        assert not bad and taint() == self.taint, f"taint {taint()}, {len(bad)} lines: {' / '.join(bad[:MOST])}"
        return {"said": f"taint {self.taint}"}


def messages():
    return subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout.splitlines()


def taint():
    return int(pathlib.Path("/proc/sys/kernel/tainted").read_text())
