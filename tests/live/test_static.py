# SPDX-License-Identifier: MIT
"""The static program, alone in a chroot with /proc: it watches, reports and scans as the other does."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

from harness import LIMIT, MMATTACH, Victim

STATIC = MMATTACH.with_name("mmattach-static")
# a mount namespace of its own: no mount is left behind
ALONE = 'mount -t proc proc "$0/proc" && exec chroot "$0" /mmattach "$@"'


@pytest.fixture(scope="module")
def jail(tmp_path_factory):
    if os.geteuid():
        pytest.skip("chroot needs root")
    if "-" in MMATTACH.parent.name:
        pytest.skip("optional: not made with sanitizers")
    folder = tmp_path_factory.mktemp("jail")
    (folder / "proc").mkdir()
    shutil.copy(STATIC, folder / "mmattach")
    return folder


def alone(jail, *words, **env):
    return subprocess.run(["unshare", "--mount", "sh", "-c", ALONE, jail, *words], capture_output=True,
                          text=True, timeout=LIMIT, env={**os.environ, **env})


def functions(report):
    return {frame.get("function") for group in report["groups"] for frame in group["stack"]}


def test_it_needs_nothing(jail):
    ldd = subprocess.run(["ldd", STATIC], capture_output=True, text=True)
    assert (ldd.returncode, ldd.stderr.strip()) == (1, "not a dynamic executable")
    assert alone(jail, "--version").stdout == subprocess.check_output([MMATTACH, "--version"], text=True)


def test_watch_report_scan(jail):
    victim = Victim("leaky_service")
    watch = alone(jail, "-p", str(victim.pid), "-d", "2s", "--verdicts", "yes", "--format", "json",
                  "-o", "/a.mmt")
    assert watch.returncode == 0, watch.stderr
    seen = json.loads(watch.stdout)
    # with the rules that are part of it, and names from the target's files, which only /proc leads to
    assert {"cache_insert", "session_open", "handle_request", "start_thread"} <= functions(seen)
    assert any(group["verdict"] == "definite" for group in seen["groups"])
    again = alone(jail, "report", "/a.mmt", "--format", "json")
    assert (again.returncode, again.stdout) == (0, watch.stdout), again.stderr
    scan = alone(jail, "scan", "-p", str(victim.pid))
    assert scan.returncode == 0 and "definitely lost" in scan.stdout, scan.stderr
    assert pathlib.Path(f"/proc/{victim.pid}/status").read_text().split("TracerPid:\t")[1].split()[0] == "0"
    victim.process.kill()
    victim.process.wait()


@pytest.mark.parametrize("unwinder", ["dwfl", "libunwind"])
def test_the_other_unwinders_are_in_it(jail, unwinder):
    victim = Victim("leaky_service")
    watch = alone(jail, "-p", str(victim.pid), "-d", "1s", "--unwinder", unwinder, "--format", "json")
    assert watch.returncode == 0, watch.stderr
    assert {"cache_insert", "worker", "start_thread"} <= functions(json.loads(watch.stdout))
    victim.process.kill()
    victim.process.wait()


def test_what_it_lacks_is_reported(jail):
    """libdw would load a library for this; a server is asked by a program, which is not there."""
    victim = Victim("leaky_service")
    watch = alone(jail, "-p", str(victim.pid), "-d", "1s", "--debuginfod", "--unwinder", "dwfl",
                  DEBUGINFOD_URLS="http://127.0.0.1:9/")
    assert watch.returncode == 0
    assert "--debuginfod: there is no program debuginfod-find here" in watch.stderr
    victim.process.kill()
    victim.process.wait()
