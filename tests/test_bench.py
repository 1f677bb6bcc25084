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


def test_watches_that_are_not_known_yet():
    """bench/engines.py compares option lists; one with an option that this mmattach lacks is left out."""
    code = ("import sys; sys.path.insert(0, 'bench'); import engines; "
            "engines.WATCHES['new'] = ['--engine', 'uprobe', '--no-such-option', '1']; print(*engines.known())")
    done = subprocess.run([sys.executable, "-c", code], cwd=TOP, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {"uprobe", "ptrace"} <= set(done.stdout.split()) and "new" not in done.stdout.split()
