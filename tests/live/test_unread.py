# SPDX-License-Identifier: MIT
"""Modules whose file cannot be opened: the report names them. And mmattach may open as many files as its hard
limit allows, but a program that it starts keeps its own limit."""
import os
import pathlib
import re
import resource
import shutil
import subprocess
import tempfile

import pytest

from harness import MMATTACH, VICTIMS, Victim, Watch, wait_for
from untouched import assert_untouched

PLUG = ["--probe", "alloc plug_malloc size=arg1", "--probe", "alloc malloc", "--probe", "free free"]


def files_limit(pid):
    """The soft and the hard limit."""
    line = next(s for s in pathlib.Path(f"/proc/{pid}/limits").read_text().splitlines() if s.startswith("Max open files"))
    return tuple(int(n) for n in line.split()[3:5])


def assert_named(notes, module, why):
    assert [note for note in notes if re.search(rf"1 module could not be read \({why}\).*: \S*/{module}$", note)], notes


def leave_free(pid, n):
    """@pid may open @n more files from now on."""
    taken = {int(fd) for fd in os.listdir(f"/proc/{pid}/fd")}
    most = [fd for fd in range(len(taken) + n + 1) if fd not in taken][n]
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]))


def watch_a_plugin_come(victim, attach, free):
    """The limit is reached just before the plugin is loaded. Returns the report's notes."""
    target = victim("dl")
    watch = attach(target, *PLUG)
    leave_free(watch.pid, free)
    target.ask("open")
    target.ask("call 3")
    # so that the report has names
    leave_free(watch.pid, 100)
    report = watch.finish()
    assert_untouched(target)
    target.end()
    return report["notes"]


def test_no_more_files(victim, attach):
    assert_named(watch_a_plugin_come(victim, attach, 1), "libplug.so", "Too many open files")


def test_not_even_the_list_of_modules(victim, attach):
    notes = watch_a_plugin_come(victim, attach, 0)
    assert [note for note in notes if re.search(r"^\d+ times? the list of modules could not be read \(Too many open files\)", note)], notes


@pytest.fixture
def ordinary():
    """A folder with what user "nobody" needs, all of it that user's, and the command that runs a program as
    that user."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root, and setpriv")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mmattach-test-"))
    for path in MMATTACH, VICTIMS / "dl", VICTIMS / "libplug.so":
        shutil.copy(path, folder)
    folder.chmod(0o755)
    yield folder, ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    shutil.rmtree(folder)


@pytest.mark.parametrize("form", ["text", "json"])
def test_deleted_and_not_root(ordinary, form):
    folder, words = ordinary
    target = Victim("setpriv", *words[1:], folder / "dl", executable=shutil.which("setpriv"))
    try:
        target.ask("open")
        (folder / "libplug.so").unlink()
        done = subprocess.run([*words, folder / "mmattach", "-p", str(target.pid), "-d", "300ms", "--format", form, *PLUG[2:]],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert re.search(r"1 module could not be read \(deleted or replaced; only root can read the mapped file\), so no function of it was found: \S*/libplug.so",
                         re.sub(r"\s+", " ", done.stdout)), done.stdout
        assert_untouched(target)
        target.end()
    finally:
        target.kill()


def test_scan_says_it_too(ordinary):
    folder, words = ordinary
    target = Victim("setpriv", *words[1:], folder / "dl", executable=shutil.which("setpriv"))
    try:
        target.ask("open")
        (folder / "libplug.so").unlink()
        done = subprocess.run([*words, folder / "mmattach", "scan", "-p", str(target.pid)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert "libplug.so" in done.stdout and "1 module could not be read" in done.stdout, done.stdout
        target.end()
    finally:
        target.kill()


def low():
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 4096))


def test_as_many_files_as_may_be(victim):
    target = victim("hot", 1)
    watch = Watch("-p", target.pid, preexec_fn=low).wait_watching()
    assert files_limit(watch.pid) == (4096, 4096)
    assert not [note for note in watch.finish()["notes"] if "could not be read" in note]
    assert_untouched(target)
    target.end()


def test_what_we_launch_has_its_own_limit():
    """select() and loops over all descriptors depend on it."""
    watch = Watch("--", "/bin/sh", "-c", "ulimit -Sn >&2; ulimit -Hn >&2", preexec_fn=low)
    wait_for(lambda: not watch.alive(), "its end")
    assert re.search(r"^256\n4096$", watch.said(), re.M), watch.said()
