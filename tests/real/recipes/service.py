# SPDX-License-Identifier: MIT
"""What the recipes share: a real service, started in its own folder, kept busy, and ended by pid.

Without a network: unix sockets, a FUSE mount, a network namespace. .pid is the process to watch;
.load(seconds) keeps it busy for so long. No started process remains, whatever a test did.
"""
import contextlib
import os
import pathlib
import shutil
import subprocess
import threading
import time

from harness import wait_for

QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def missing(*needs):
    """Which of @needs, programs or files by absolute path, are not installed."""
    return [need for need in needs if not (os.path.exists(need) if os.path.isabs(need) else shutil.which(need))]


def run(*command, check=True, timeout=120, **kwargs):
    """Run @command to its end; returns its output."""
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace", timeout=timeout, **kwargs)
    assert not check or done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


class Service:
    """A context manager: the service runs inside the block."""

    needs = []

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.processes = []
        self.process = None

    def start(self, *command, **kwargs):
        process = subprocess.Popen([str(word) for word in command], **{**QUIET, **kwargs})
        self.processes.append(process)
        return process

    def begin(self):
        """Start it; returns the process to watch, ready to serve."""
        raise NotImplementedError

    def finish(self):
        """Undo what must be undone before the processes end."""

    def __enter__(self):
        try:
            self.process = self.begin()
        except BaseException:
            self.__exit__()
            raise
        self.pid = self.process.pid
        return self

    def __exit__(self, *exc):
        try:
            self.finish()
        finally:
            for process in reversed(self.processes):
                self.end(process)

    def end(self, process):
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def alive(self):
        return self.process.poll() is None

    def said(self):
        """Its log, in folder/log."""
        log = self.folder / "log"
        return log.read_text(errors="replace")[-4000:] if log.is_file() else ""

    def work(self, turn):
        """One unit of load, which fails if it is not served."""
        raise NotImplementedError

    def load(self, seconds):
        """Keep it busy; returns how many units of load were served."""
        end = time.monotonic() + seconds
        turn = 0
        while time.monotonic() < end:
            self.work(turn)
            turn += 1
        return turn

    def work_through(self, units):
        """So many units of load, one after the other."""
        for turn in range(units):
            self.work(turn)

    @contextlib.contextmanager
    def busy(self, every=0):
        """Inside the block a thread of ours keeps it busy. Yields a list that grows by one for each unit
        served. With @every, a unit begins that many seconds after the last one began, if possible.
        """
        over, served, failed = threading.Event(), [], []

        def go():
            try:
                begin = time.monotonic()
                while not over.wait(begin + every * len(served) - time.monotonic()):
                    self.work(len(served))
                    served.append(time.monotonic())
            # reported at the end of the block: an exception in a thread is not caught
            except Exception as err:
                failed.append(err)

        worker = threading.Thread(target=go, daemon=True)
        worker.start()
        try:
            yield served
        finally:
            over.set()
            worker.join(60)
        assert not failed, f"was not served: {failed[0]!r}"
        assert not worker.is_alive(), "waits for an answer"

    def wait_ready(self, condition, what, **kwargs):
        """As wait_for, but it fails at once if the service has ended."""
        def ready_or_over():
            process = self.processes[-1]
            assert process.poll() is None, f"{process.args[0]} ended with {process.returncode}: {self.said()}"
            return condition()

        return wait_for(ready_or_over, what, **kwargs)
