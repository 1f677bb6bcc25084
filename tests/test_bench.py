# SPDX-License-Identifier: MIT
"""make bench: what can be tested without measuring."""
import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).parent.parent


def test_needs_no_pytest():
    """bench also runs on machines without pytest."""
    code = "import sys; sys.modules['pytest'] = None; sys.path.insert(0, 'bench'); import run; print(*run.MEASUREMENTS)"
    done = subprocess.run([sys.executable, "-c", code], cwd=TOP, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "pair1cpu" in done.stdout.split()
