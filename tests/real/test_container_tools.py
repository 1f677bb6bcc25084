# SPDX-License-Identifier: MIT
"""Containers that podman and systemd-nspawn have made: watched from the host by their names, and, with podman, by an
mmattach in a container of its own beside them. (tests/live/test_containers.py makes its own ones.)"""
import json
import os
import shutil
import subprocess
import uuid

import pytest

from engines import has_uprobe
from harness import MMATTACH, Program, Victim, Watch, children, comm, wait_for
from images import assert_found, make
from untouched import assert_untouched, wait_untraced

# crun refuses machines with cgroups of both versions; the manager systemd is not there in a container
PODMAN = ["podman", "--runtime", "runc", "--cgroup-manager", "cgroupfs"]
RUN = ["run", "--rm", "-i", "--network", "none", "--ulimit", "nofile=1000:1000", "--ulimit", "nproc=4000:4000"]
STATIC = MMATTACH.parent / "mmattach-static"
# with a TMPDIR of its own, which podman would hand on
USUAL = {"PATH": os.environ["PATH"], "HOME": "/root"}


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    root = make(tmp_path_factory.mktemp("image"))
    for folder in ("etc", "sys", "dev", "tmp", "run", "usr"):
        (root / folder).mkdir()
    (root / "etc/os-release").touch()  # systemd-nspawn looks for it
    if STATIC.exists():
        shutil.copy(STATIC, root / "mmattach")
    return root


def need(*programs):
    missing = [program for program in programs if not shutil.which(program)]
    if missing:
        pytest.skip(f"optional: not installed: {' '.join(missing)}")


def podman(*words):
    return subprocess.run([*PODMAN, *words], env=USUAL, capture_output=True, text=True, timeout=60)


class Contained(Victim):
    """/program as the first process of a container; self.id is the container's."""

    def expect_ready(self):
        line = self.out.take(60)
        if line != "ready 1" and self.wait() in (125, 126, 1):
            pytest.skip(f"optional: no container can be started here: {self.said()}")
        assert line == "ready 1", self.said()


class Podman(Contained):
    def __init__(self, image):
        need("podman", "runc")
        self.name = f"mm-{uuid.uuid4().hex[:12]}"
        super().__init__(shutil.which("podman"), *PODMAN[1:], *RUN, "--name", self.name, "--rootfs", image, "/program", env=USUAL)
        pid, self.id = podman("inspect", "--format", "{{.State.Pid}} {{.Id}}", self.name).stdout.split()
        self.pid = int(pid)

    def kill(self):
        podman("kill", self.name)
        super().kill()


class Nspawn(Contained):
    def __init__(self, image):
        need("systemd-nspawn")
        super().__init__(shutil.which("systemd-nspawn"), "-q", "--register=no", "--keep-unit", "--private-network", "--pipe",
                         "-D", image, "/program", env=USUAL)
        self.pid = wait_for(lambda: self.inner(self.process.pid), "the container's process")

    def inner(self, pid):
        """The descendant of @pid that is /program; 0: there is none yet."""
        return next((found for child in children(pid) for found in [child if comm(child) == "program" else self.inner(child)]
                     if found), 0)


@pytest.fixture
def started():
    targets = []

    def start(kind, image):
        targets.append(kind(image))
        return targets[-1]

    yield start
    for target in targets:
        target.kill()


def engines():
    return ["ptrace", *(["uprobe"] if has_uprobe() else [])]


@pytest.mark.parametrize("engine", engines())
@pytest.mark.parametrize("kind", [Podman, Nspawn])
def test_from_the_host(started, image, kind, engine):
    target = started(kind, image)
    which = ["--container", target.id] if kind is Podman else ["-p", str(target.pid)]
    watch = Watch(*which, "--engine", engine).wait_watching()
    target.ask("nested 50")
    report = watch.finish()
    assert_found(report)
    wait_untraced(target.pid, 5)
    assert_untouched(target)
    target.ask("nested 1")


def test_as_a_sidecar(started, image):
    """With podman's own filters and one capability more; an mmattach that needs no libraries."""
    if not STATIC.exists():
        pytest.skip("optional: there is no static mmattach in a build with sanitizers")
    target = started(Podman, image)
    watch = Program([*PODMAN, *RUN, "--pid", f"container:{target.name}", "--cap-add", "SYS_PTRACE", "--rootfs", image,
                     "/mmattach", "--format", "json", "-p", "1", "-d", "3"], env=USUAL)
    assert watch.err.find(r"^watching \d+", 60), watch.said()
    target.ask("nested 50")
    assert watch.wait() == 0, watch.said()
    assert_found(json.loads(watch.out.text()))
    wait_untraced(target.pid, 5)
    assert_untouched(target)
    target.ask("nested 1")
