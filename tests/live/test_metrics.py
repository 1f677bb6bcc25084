# SPDX-License-Identifier: MIT
"""--metrics FILE: gauges for a collector, while the watch goes on (what is in them: tests/test_exports.py)."""
import os
import re
import stat
import subprocess

import pytest

from harness import wait_for
from untouched import assert_untouched

pytestmark = pytest.mark.waiting

EVERY = 15  # seconds


def metrics(path):
    text = path.read_text()
    assert text.endswith("\n# EOF\n")
    return {name: float(value) for name, value in re.findall(r"^mmattach_(\w+)\{[^}]*\} (\S+)$", text, re.M)}


@pytest.mark.parametrize("options", [[], ["--budget", "5%"]], ids=["exact", "budget"])
def test_anew_and_at_the_end(victim, watch, tmp_path, options):
    """Whole at any time, for all to read; other files of the folder are not touched."""
    target, path = victim("leaky_service", "calm"), tmp_path / "svc.prom"
    path.write_text("of the last watch\n")
    path.chmod(0o600)
    w = watch("-p", target.pid, "--metrics", path, *options)
    w.wait_watching()
    assert path.read_text() == "of the last watch\n"
    wait_for(lambda: path.read_text() != "of the last watch\n", "the first metrics", EVERY + 10)
    first = metrics(path)
    assert EVERY - 1 < first["watch_seconds"] < EVERY + 5
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    report = w.finish()
    last = metrics(path)
    assert last["watch_seconds"] > first["watch_seconds"]
    assert last["events"] == report["run"]["events"] >= first["events"] > 0
    assert os.listdir(tmp_path) == ["svc.prom"]
    assert_untouched(target)


@pytest.mark.parametrize("place, why", [
    ("link", "it is not a regular file"), ("folder", "it is not a regular file"), ("missing/svc.prom", "No such file or directory"),
])
def test_a_place_that_cannot_be(victim, watch, tmp_path, place, why):
    """It is known before the process is touched; what a link points to is not emptied."""
    (tmp_path / "precious").write_text("kept\n")
    (tmp_path / "link").symlink_to("precious")
    (tmp_path / "folder").mkdir()
    target = victim("leaky_service", "calm")
    w = watch("-p", target.pid, "-d", "1s", "--metrics", tmp_path / place, json_report=False)
    assert w.wait() != 0
    assert why in w.said() and "watching" not in w.said()
    assert (tmp_path / "precious").read_text() == "kept\n"
    assert_untouched(target)


def test_of_a_short_watch(victim, watch, tmp_path):
    """They are written at the end, also of one that was over before it was time."""
    target, path = victim("leaky_service", "calm"), tmp_path / "svc.prom"
    report = watch("-p", target.pid, "-d", "1s", "--metrics", path)
    assert report.wait() == 0, report.said()
    assert metrics(path)["live_bytes"] > 0
    done = subprocess.run(["promtool", "check", "metrics"], stdin=path.open(), capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert_untouched(target)
