# SPDX-License-Identifier: MIT
"""Targets in containers: in another mount, pid, user, network, host name, IPC and cgroup namespace, with a root
directory and a libc of their own; mmattach on the host, and beside them as a sidecar. What it needs, with exactly these
privileges; and what the filters of containers forbid is named."""
import json
import subprocess
import sys

import pytest

from engines import has_uprobe
from harness import MMATTACH, TOP, Program, Victim, Watch, children, wait_for
from images import assert_found, make
from untouched import assert_untouched, wait_untraced

NAMESPACES = ["--user", "--map-root-user", "--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup"]
PTRACE, PROCESS_VM_READV, BPF = 101, 310, 321
DENIED = [sys.executable, TOP / "tests/tools/denied.py"]


class Contained(Victim):
    """The container's first process."""

    def expect_ready(self):
        line = self.out.take()
        assert line == "ready 1", f"{self.argv}: {line!r} {self.err.text(1)}"
        self.pid = wait_for(lambda: children(self.process.pid), "the container's process")[0]


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    return make(tmp_path_factory.mktemp("image"))


ROOTS = {
    "container": [sys.executable, TOP / "tests/tools/contained.py"],
    "chroot": ["sh", "-c", 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'],
}


@pytest.fixture
def container(image):
    started = []

    def start(root="container"):
        started.append(Contained("/usr/bin/unshare", *NAMESPACES, "--fork", "--kill-child", *ROOTS[root], image, "/program"))
        return started[-1]

    yield start
    for target in started:
        target.kill()


def engines():
    return ["ptrace", *(["uprobe"] if has_uprobe() else [])]


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("engine", engines())
def test_from_the_host(container, engine, root):
    target = container(root)
    watch = Watch("-p", str(target.pid), "--engine", engine).wait_watching()
    target.ask("nested 50")
    report = watch.finish()
    assert_found(report)
    assert report["run"]["frontend"] == engine
    wait_untraced(target.pid, 5)
    assert_untouched(target)
    target.ask("nested 1")


def test_scan_from_the_host(container):
    target = container()
    target.ask("nested 50")
    scan = subprocess.run([MMATTACH, "scan", "--format", "json", "-p", str(target.pid)], capture_output=True, text=True,
                          timeout=60)
    assert scan.returncode == 0, scan.stderr
    assert json.loads(scan.stdout)["groups"]
    assert_untouched(target)


def sidecar(target, *args):
    """In the container's pid and user namespace, as with shareProcessNamespace; its own files are those of the host."""
    inside = 'mount -t proc proc /proc && exec "$0" "$@"'
    return Program(["nsenter", "-t", target.pid, "--user", "--pid", "unshare", "--mount", "sh", "-c", inside, MMATTACH,
                    "--format", "json", "-p", "1", *args])


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("engine", ["ptrace", "auto"])
def test_as_a_sidecar(container, engine, root):
    target = container(root)
    watch = sidecar(target, "-d", "2", "--engine", engine)
    assert watch.err.find("^watching 1 "), watch.said()
    target.ask("nested 50")
    assert watch.wait() == 0, watch.said()
    report = json.loads(watch.out.text())
    assert_found(report)
    assert report["run"]["frontend"] == "ptrace"
    wait_untraced(target.pid, 5)
    assert_untouched(target)


def test_probes_from_a_sidecar(container):
    """The kernel's programs know processes by the numbers of the first namespace."""
    target = container()
    watch = sidecar(target, "-d", "1", "--engine", "uprobe")
    assert watch.wait() == 1
    assert "--engine ptrace" in watch.said()
    assert_untouched(target)


# --- with exactly these privileges ---

NEEDED = {"ptrace": "+sys_ptrace", "uprobe": "+sys_ptrace,+bpf,+perfmon"}


def with_only(capabilities):
    """As root, as the target is."""
    return ["setpriv", "--bounding-set", f"-all,{capabilities}", "--inh-caps", f"-all,{capabilities}"]


@pytest.mark.parametrize("engine", engines())
def test_least_privileges(container, engine):
    """As doc/production.md has them."""
    target = container()
    watch = Program([*with_only(NEEDED[engine]), MMATTACH, "--format", "json", "--engine", engine, "-p", target.pid, "-d", "2"])
    assert watch.err.find(r"^watching \d+"), watch.said()
    target.ask("nested 50")
    assert watch.wait() == 0, watch.said()
    assert_found(json.loads(watch.out.text()))
    wait_untraced(target.pid, 5)
    assert_untouched(target)


def test_without_bpf(container):
    target = container()
    watch = Program([*with_only("+sys_ptrace"), MMATTACH, "--engine", "uprobe", "-p", target.pid, "-d", "1"])
    assert watch.wait() == 1
    assert "CAP_BPF" in watch.said() and "--engine ptrace" in watch.said()
    assert_untouched(target)


def as_another_user(capabilities):
    return [*with_only(capabilities), "--reuid", "4321", "--regid", "4321", "--clear-groups",
            "--ambient-caps", f"-all,{capabilities}"]


@pytest.mark.parametrize("engine", engines())
def test_least_privileges_of_another_user(container, engine):
    """As doc/fleet.md has them."""
    target = container()
    watch = Program([*as_another_user(NEEDED[engine] + ",+dac_override"), MMATTACH, "--format", "json", "--engine", engine,
                     "-p", target.pid, "-d", "2"])
    assert watch.err.find(r"^watching \d+"), watch.said()
    target.ask("nested 50")
    assert watch.wait() == 0, watch.said()
    assert_found(json.loads(watch.out.text()))
    assert_untouched(target)


def test_another_user(container):
    """With the right to trace, but not that to open another user's files."""
    target = container()
    watch = Program([*as_another_user("+sys_ptrace"), MMATTACH, "-p", target.pid, "-d", "1"])
    assert watch.wait() == 1
    assert f"/proc/{target.pid}/mem is only for user root" in watch.said() and "CAP_DAC_OVERRIDE" in watch.said()
    assert_untouched(target)


@pytest.mark.parametrize("engine,numbers", [("ptrace", [PTRACE]), ("ptrace", [PROCESS_VM_READV]), ("uprobe", [BPF])])
def test_filters(container, engine, numbers):
    """A container's seccomp profile forbids what mmattach needs; another engine may need less."""
    target = container()
    words = [*DENIED, ",".join(map(str, numbers)), MMATTACH, "--engine", engine, "-p", target.pid, "-d", "1"]
    watch = Program(words)
    assert watch.wait() == 1
    assert "seccomp" in watch.said(), watch.said()
    assert_untouched(target)
