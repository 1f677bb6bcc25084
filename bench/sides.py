# SPDX-License-Identifier: MIT
"""The sides of a measurement: the target, its tracer, and where they ran.

A tracer is attached by `with`: its trap is planted inside the block, and after the block the target runs
untraced again. The target itself measures what a call costs, in the same way for all tracers.
"""
import contextlib
import json
import os
import pathlib
import selectors
import signal
import subprocess
import tempfile
import threading
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = TOP / "build/bench"
LIMIT = 60.0  # seconds for what should take less than one


class Failed(Exception):
    """What was to be measured did not happen."""


def wait_for(condition, what):
    """Wait until @condition() is true; returns its value."""
    end = time.monotonic() + LIMIT
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failed(f"not within {LIMIT:.0f} s: {what}")
        time.sleep(0.001)


def read_line(stream, what):
    """The next line of the pipe @stream, which is unbuffered."""
    with selectors.DefaultSelector() as ready:
        ready.register(stream, selectors.EVENT_READ)
        if not ready.select(LIMIT):
            raise Failed(f"{what} says nothing for {LIMIT:.0f} s")
    return stream.readline().decode(errors="replace")


def end(process):
    """Wait for @process, which has been asked to end; kill it if it does not."""
    try:
        return process.wait(LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def pinned(cpu):
    """The words before a command that restrict it to the processor @cpu, if given."""
    return ["taskset", "-c", str(cpu)] if cpu is not None else []


class Quota:
    """A control group whose processes together may use @share of one processor; None where such a group
    cannot be made."""

    PERIOD_US = 100_000
    ROOTS = [(pathlib.Path("/sys/fs/cgroup/cpu"),
              {"cpu.cfs_period_us": "{period}", "cpu.cfs_quota_us": "{quota}"}),
             (pathlib.Path("/sys/fs/cgroup"), {"cpu.max": "{quota} {period}"})]

    def __init__(self, share):
        self.quota = int(share * self.PERIOD_US)

    def __enter__(self):
        for root, files in self.ROOTS:
            self.folder = root / f"mm-bench-{os.getpid()}"
            try:
                self.folder.mkdir()
            except OSError:
                continue
            try:
                for name, text in files.items():
                    (self.folder / name).write_text(text.format(quota=self.quota, period=self.PERIOD_US))
                return self
            except OSError:
                self.folder.rmdir()
        return None

    def __exit__(self, *exc):
        if self.folder.exists():
            wait_for(lambda: not (self.folder / "cgroup.procs").read_text(), "the control group is empty")
            self.folder.rmdir()

    @contextlib.contextmanager
    def inside(self):
        """Processes started in the block are in the group."""
        me = str(os.getpid())
        (self.folder / "cgroup.procs").write_text(me)
        try:
            yield
        finally:
            (self.folder.parent / "cgroup.procs").write_text(me)


class Target:
    """bench/target, with @hot threads that work on request among @idle that sleep."""

    def __init__(self, hot=1, idle=0, depth=12, cpu=None):
        self.process = subprocess.Popen(
            [*pinned(cpu), PROGRAMS / "target", str(hot), str(idle), str(depth)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        ready = self._answer()
        self.pid, self.tids, self.bare_hit = ready["pid"], ready["tids"], ready["bare_hit"]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.stdin.close()
        end(self.process)
        self.process.stdout.close()

    def _answer(self):
        line = read_line(self.process.stdout, "the target")
        if not line:
            raise Failed(f"the target ended: status {end(self.process)}")
        return json.loads(line)

    def begin(self, what, ms, every=1):
        """Let the hot threads do @what, pairs or bare, for @ms milliseconds."""
        self.process.stdin.write(b"%s %d %d\n" % (what.encode(), ms, every))

    def result(self):
        """Their result, when they are done."""
        return self._answer()

    def run(self, what, ms, every=1):
        self.begin(what, ms, every)
        return self.result()


def tracer_of(pid):
    """The pid of its tracer, or 0."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text(errors="replace")
    return int(status.split("TracerPid:")[1].split()[0])


class Bare:
    """bench/bare, attached to the first hot thread."""

    traps = "bare"
    run = None
    settled_s = 1  # it learns nothing

    def __init__(self, target, cpu=None):
        self.process = subprocess.Popen(
            [*pinned(cpu), PROGRAMS / "bare", str(target.pid), str(target.tids[0]), str(target.bare_hit)],
            stdout=subprocess.PIPE, bufsize=0)
        self.keeper = self.process.pid

    def __enter__(self):
        if read_line(self.process.stdout, "bare") != "ready\n":
            raise Failed(f"bare ended: status {end(self.process)}")
        return self

    def __exit__(self, *exc):
        self.process.send_signal(signal.SIGINT)
        status = end(self.process)
        self.process.stdout.close()
        if status != 0:
            raise Failed(f"bare ended with status {status}")


def gone(pid):
    """true if the process @pid has ended, waited for or not: it traces no process any more."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] in "ZX"


class Mmattach:
    """mmattach, attached to @target; records how long attaching and detaching took, and then the report of
    its run."""

    traps = "pairs"
    program = TOP / "mmattach"
    options = []
    # the keeper learns where to run and when to spin; the first second is not typical of a watch
    settled_s = 5

    def __init__(self, target, cpu=None):
        self.target = target
        self.folder = tempfile.TemporaryDirectory(prefix="mm-bench-")
        self.messages = []
        self.watching = threading.Event()
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [*pinned(cpu), self.program, "-p", str(target.pid), "-d", "1h", *self.options,
             "--format", "json", "--report", f"{self.folder.name}/report"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, bufsize=0)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stderr:
            self.messages.append(line.decode(errors="replace"))
            if line.startswith(b"watching "):
                self.attach_s = time.monotonic() - self.began
                self.watching.set()
        self.watching.set()

    def _fail(self, why):
        raise Failed(f"mmattach {why}\n" + "".join(self.messages[-20:]))

    def __enter__(self):
        if not self.watching.wait(LIMIT) or not hasattr(self, "attach_s"):
            self.process.kill()
            self._fail("did not attach")
        self.keeper = self.find_keeper()
        if self.keeper == 0:
            self._fail("does not trace the target")
        return self

    def find_keeper(self):
        """The process whose end is the end of the watch, or 0."""
        return tracer_of(self.target.pid)

    def __exit__(self, *exc):
        leaving = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        wait_for(lambda: gone(self.keeper), "mmattach lets the target go")
        self.detach_s = time.monotonic() - leaving
        status = end(self.process)
        self.reader.join()
        self.process.stderr.close()
        if status != 0:
            self._fail(f"ended with status {status}")
        self.report = json.loads(pathlib.Path(self.folder.name, "report").read_text())
        self.run = self.report["run"]
        self.folder.cleanup()


def last_cpu(task):
    """The processor on which @task, a folder of /proc, ran last (proc(5): field 39 of stat)."""
    with open(f"{task}/stat", encoding="ascii", errors="replace") as stat:
        return int(stat.read().rpartition(")")[2].split()[36])


class Placement:
    """How often, while the block runs, a hot thread was on the tracer's processor: .share."""

    PERIOD = 0.02

    def __init__(self, target, tracer):
        self.hot = [f"/proc/{target.pid}/task/{tid}" for tid in target.tids]
        self.keeper = f"/proc/{tracer.keeper}"
        self.same = self.samples = 0
        self.over = threading.Event()
        self.sampler = threading.Thread(target=self._sample, daemon=True)

    def _sample(self):
        while not self.over.wait(self.PERIOD):
            try:
                keeper = last_cpu(self.keeper)
                same = sum(last_cpu(task) == keeper for task in self.hot)
            except (FileNotFoundError, ProcessLookupError):
                return  # the measurement itself will report that it ended
            self.same += same
            self.samples += len(self.hot)

    def __enter__(self):
        self.sampler.start()
        return self

    def __exit__(self, *exc):
        self.over.set()
        self.sampler.join()

    @property
    def share(self):
        return self.same / self.samples if self.samples else None


def cpus():
    return sorted(os.sched_getaffinity(0))
