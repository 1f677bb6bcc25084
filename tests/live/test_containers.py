# SPDX-License-Identifier: MIT
"""Targets in containers: in another mount, pid, user, network, host name, IPC and cgroup namespace, with a root
directory and a libc of their own; mmattach on the host, and beside them as a sidecar. What it needs, with exactly these
privileges; and what the filters of containers forbid is named."""
import json
import subprocess
import sys

import pytest

from engines import has_uprobe
from harness import MMATTACH, TOP, Contained, Program, Victim, Watch
from images import assert_found, make
from untouched import assert_untouched, wait_untraced

pytestmark = pytest.mark.waiting

USER = ["--user", "--map-root-user"]
NAMESPACES = ["--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup"]
PTRACE, PROCESS_VM_READV, BPF = 101, 310, 321
# What an engine needs, and nothing else; the ways of the second one, too.
KERNEL = "+sys_ptrace,+bpf,+perfmon"
NEEDED = {"ptrace": "+sys_ptrace", "uprobe": KERNEL, "uprobe-session": KERNEL, "uprobe-multi": KERNEL,
          "uprobe-perf": KERNEL + ",+sys_admin"}
DENIED = [sys.executable, TOP / "tests/tools/denied.py"]


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

    def start(root="container", user=USER):
        started.append(Contained("/usr/bin/unshare", *user, *NAMESPACES, "--fork", "--kill-child", *ROOTS[root], image, "/program"))
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
    assert report["run"]["engine"] == engine
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


def sidecar(target, *args, enter=("--user", "--pid"), before=()):
    """In the container's pid and user namespace, as with shareProcessNamespace; its own files are those of the host."""
    inside = 'mount -t proc proc /proc && exec "$0" "$@"'
    return Program(["nsenter", "-t", target.pid, *enter, "unshare", "--mount", "sh", "-c", inside, *before, MMATTACH,
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
    assert report["run"]["engine"] == "ptrace"
    wait_untraced(target.pid, 5)
    assert_untouched(target)


def test_probes_from_a_sidecar_with_users_of_its_own(container):
    """There root has no right to load programs into the kernel."""
    target = container()
    watch = sidecar(target, "-d", "1", "--engine", "uprobe")
    assert watch.wait() == 1
    assert "CAP_BPF" in watch.said() and "--engine ptrace" in watch.said()
    assert_untouched(target)


@pytest.mark.skipif(not has_uprobe(), reason="clang or libbpf-dev is not installed")
@pytest.mark.parametrize("way", ["uprobe-session", "uprobe-multi", "uprobe-perf"])
def test_probes_from_a_sidecar(container, way):
    """With the host's users, as most containers have: the programs take the container's numbers of processes."""
    target = container(user=[])
    watch = sidecar(target, "-d", "2", "--engine", way, enter=["--pid"], before=with_only(NEEDED[way]))
    assert watch.err.find("^watching 1 "), watch.said()
    target.ask("nested 50")
    assert watch.wait() == 0, watch.said()
    report = json.loads(watch.out.text())
    assert_found(report)
    assert report["run"]["engine"] == "uprobe" and not report["run"]["lost"]
    wait_untraced(target.pid, 5)
    assert_untouched(target)


# In a PID namespace: start a program in another one below it, and then mmattach with what follows, -p the program.
BETWEEN = """
import pathlib, subprocess, sys
below = subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", "sleep", "100"])
children = pathlib.Path(f"/proc/{below.pid}/task/{below.pid}/children")
while not (pid := children.read_text().strip()) or pathlib.Path(f"/proc/{pid}/comm").read_text() != "sleep\\n":
    pass
status = subprocess.run([*sys.argv[1:], "-p", pid]).returncode
below.kill()
sys.exit(status)
"""


@pytest.mark.skipif(not has_uprobe(), reason="clang or libbpf-dev is not installed")
def test_probes_from_between():
    """The programs know the numbers of the first namespace and of the target's, and mmattach is in neither."""
    watch = Program(["unshare", "--pid", "--fork", "--mount", "--kill-child", "sh", "-c", 'mount -t proc proc /proc && exec "$@"',
                     "sh", sys.executable, "-c", BETWEEN, MMATTACH, "-d", "1", "--engine", "uprobe"])
    assert watch.wait() == 1, watch.said()
    assert "it is in a PID namespace of its own below that of mmattach" in watch.said()


# --- with exactly these privileges ---

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


def test_perf_events_without_sys_admin(container):
    target = container()
    watch = Program([*with_only(KERNEL), MMATTACH, "--engine", "uprobe-perf", "-p", target.pid, "-d", "1"])
    assert watch.wait() == 1
    assert "a program may not be probed by perf events: that needs root, or CAP_SYS_ADMIN" in watch.said()
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


@pytest.mark.skipif(not has_uprobe(), reason="clang or libbpf-dev is not installed")
def test_without_any_right():
    """Not even its namespaces may be looked at."""
    target = Victim("hot", 1, 1)
    watch = Program([*as_another_user("+kill"), MMATTACH, "--engine", "uprobe", "-p", target.pid, "-d", "1"])
    assert watch.wait() == 1
    assert "CAP_BPF" in watch.said()
    assert_untouched(target)
    target.end()


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
