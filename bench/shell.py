# SPDX-License-Identifier: MIT
"""How many processes a shell starts in a second while mmattach watches it with --follow, and that all end well."""
import subprocess
import tempfile
import time

from engines import SETTLED_S, WATCHES, in_turn
from sides import PROGRAMS, Failed, Mmattach

LOOP = 'n=0; while [ ! -e stop ]; do "$0" || echo failed >> failed; n=$((n+1)); case $n in *0) echo $n > count; esac; done'
UNWATCHED = "unwatched"
SIDES = [UNWATCHED, "uprobe", "ptrace"]


class Shell:
    """A shell that starts the shortest program, one after the other, without pause."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()

    def path(self, name):
        return f"{self.folder.name}/{name}"

    def __enter__(self):
        self.process = subprocess.Popen(["dash", "-c", LOOP, PROGRAMS / "nothing"], cwd=self.folder.name)
        self.pid = self.process.pid
        return self

    def count(self):
        for _ in range(1000):
            try:
                with open(self.path("count"), encoding="ascii") as f:
                    return int(f.read())
            except (OSError, ValueError):  # between its truncation and its number
                time.sleep(0.001)
        raise Failed("the shell has no number")

    def rate(self, seconds):
        first, began = self.count(), time.monotonic()
        time.sleep(seconds)
        return (self.count() - first) / (time.monotonic() - began)

    def __exit__(self, *exc):
        with open(self.path("stop"), "w", encoding="ascii"):
            pass
        status = self.process.wait()
        try:
            if status or subprocess.run(["test", "-e", self.path("failed")], check=False).returncode == 0:
                raise Failed(f"a process has failed, or the shell: status {status}")
        finally:
            self.folder.cleanup()


class Watch(Mmattach):
    def __init__(self, name, shell):
        self.options = [*WATCHES[name], "--follow", "--verdicts", "no"]
        super().__init__(shell)

    def find_keeper(self):
        return self.process.pid


def measure(side, seconds):
    with Shell() as shell:
        if side == UNWATCHED:
            return shell.rate(seconds)
        with Watch(side, shell):
            time.sleep(SETTLED_S)
            return shell.rate(seconds)


def rows(plan):
    """The rows of the table, as keyword arguments of run.py's Row."""
    had = {side: [] for side in SIDES}
    for turn in range(plan.rounds):
        for side in in_turn(SIDES, turn):
            had[side].append(measure(side, plan.slice_ms / 1000))
    for side in SIDES:
        yield {"name": f"shell/{side}", "unit": "/s", "values": had[side],
               "what": "processes that a shell starts, with --follow"}
