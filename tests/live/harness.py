# SPDX-License-Identifier: MIT
"""Start victims and mmattach, and talk to both.

A Victim prints "ready PID", takes orders, answers with JSON. A Watch is one run of mmattach: it has attached
when its line "watching PID" has appeared. Nothing here sleeps for a fixed time to wait for something: it
waits for a condition, with a limit. A fixed duration that is itself part of a test (a load, a hang) uses
last_for.

MM_BUILD   folder of the variant to test, build/release if not set
MM_LOOPS   multiplies the repetitions of repeated tests (0.2, 3)
MM_FULL=1  the full counts: hundreds of cycles, hours on a small machine
"""
import ctypes
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import threading
import time

from whereabouts import whereabouts

TOP = pathlib.Path(__file__).resolve().parents[2]
MMATTACH = TOP / os.environ.get("MM_BUILD", "build/release") / "mmattach"
VICTIMS = TOP / "build/victims"
FULL = os.environ.get("MM_FULL") == "1"
LOOPS = float(os.environ.get("MM_LOOPS", "1"))
LIMIT = 60.0  # seconds for what should take one: the machine may be busy

PTRACE_DETACH = 17
PTRACE_SEIZE = 0x4206
PTRACE_INTERRUPT = 0x4207

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def rounds(usual, full):
    """How often to repeat: @usual in everyday runs, @full with MM_FULL=1."""
    return full if FULL else max(1, round(usual * LOOPS))


def everyday(usual, full):
    """Which variants of a test to run: @usual in everyday runs, @full with MM_FULL=1."""
    return full if FULL else usual


def wait_for(condition, what, limit=LIMIT, every=0.003):
    """Wait until @condition() is true; returns its value. Fails after @limit seconds, naming @what. @every: seconds
    between two looks; more where a look costs much, and nothing depends on the moment."""
    patience = Patience(limit)
    while True:
        value = condition()
        if value:
            return value
        assert patience.slice(), f"not within {limit} s: {what}"
        time.sleep(every)


def last_for(seconds):
    """Let @seconds pass because the duration itself is tested: of a load, a hang or an observation. Never to
    wait for something to happen."""
    time.sleep(seconds)


def slept_so_often(pid, tid=None):
    """How often a thread has given up its processor voluntarily: to sleep, or because it was stopped."""
    status = pathlib.Path(f"/proc/{pid}/task/{tid or pid}/status").read_text(errors="replace")
    return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status, re.M).group(1))


def random_moment(most):
    """Let a random time pass: tests of sudden death need one."""
    time.sleep(random.uniform(0, most))


def ptrace(request, pid):
    """ptrace without address and data; the error number, 0 if it worked."""
    return 0 if libc.ptrace(request, pid, None, None) == 0 else ctypes.get_errno()


class Patience:
    """A timeout that counts only our own waiting time: while the whole machine stalls, no process can
    answer."""

    def __init__(self, limit):
        self.left = limit
        self.looked = time.monotonic()

    def slice(self):
        """The longest time to wait now; 0: the timeout is over."""
        now = time.monotonic()
        self.left -= min(now - self.looked, 1.0)
        self.looked = now
        return min(max(self.left, 0), 0.5)


class Lines:
    """The lines of a stream, read as they come, so that its writer never waits for us."""

    def __init__(self, stream):
        self.all = []
        self.raw = []
        self.taken = 0
        self.ended = False
        self.changed = threading.Condition()
        self.thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self.thread.start()

    def _read(self, stream):
        for line in stream:
            with self.changed:
                self.raw.append(line)
                self.all.append(line.decode(errors="replace").rstrip("\n"))
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def find(self, pattern, limit=LIMIT):
        """The first line, now or later, that matches @pattern; None if the stream ends or time runs out."""
        seen = 0
        patience = Patience(limit)
        with self.changed:
            while True:
                for line in self.all[seen:]:
                    if re.search(pattern, line):
                        return line
                seen = len(self.all)
                left = patience.slice()
                if self.ended or not left:
                    return None
                self.changed.wait(left)

    def take(self, limit=LIMIT):
        """The next line not taken yet; None if the stream ends or time runs out."""
        patience = Patience(limit)
        with self.changed:
            while len(self.all) == self.taken and not self.ended and (left := patience.slice()):
                self.changed.wait(left)
            if len(self.all) == self.taken:
                return None
            self.taken += 1
            return self.all[self.taken - 1]

    def text(self, limit=LIMIT):
        """Everything, once the stream has ended."""
        self.thread.join(limit)
        assert self.ended, "the stream has not ended: said() has what is there so far"
        return "\n".join(self.all)


class Program:
    """A running program whose output is collected."""

    def __init__(self, argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kwargs):
        self.argv = [str(a) for a in argv]
        # a separate process group, whose parent is in ours: in an orphaned group SIGTSTP would have no effect

        if not kwargs.get("start_new_session"):
            kwargs.setdefault("process_group", 0)
        self.process = subprocess.Popen(self.argv, stdin=stdin, stdout=stdout, stderr=stderr, **kwargs)
        self.pid = self.process.pid
        self.out = Lines(self.process.stdout) if stdout == subprocess.PIPE else None
        self.err = Lines(self.process.stderr) if stderr == subprocess.PIPE else None

    def alive(self):
        return self.process.poll() is None

    def wait(self, limit=LIMIT):
        """Its exit status, as subprocess gives it: negative for a signal."""
        try:
            return self.process.wait(limit)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {limit} s: {' '.join(self.argv)}\n{whereabouts(self.pid)}") from None

    def kill(self):
        """For cleaning up, in whatever state it is."""
        if self.alive():
            self.process.kill()
            self.process.wait()

    def said(self):
        """Its messages; if it has ended, all of them."""
        if self.err and not self.alive():
            self.err.thread.join(LIMIT)
        return "\n".join(self.err.all) if self.err else ""


class Victim(Program):
    def __init__(self, name, *args, **kwargs):
        path = name if os.sep in str(name) else VICTIMS / name
        super().__init__([path, *args], **kwargs)
        self.expect_ready()

    def expect_ready(self):
        """The victim's next line is its "ready PID"; it is printed again after an exec."""
        line = self.out.take()
        assert line == f"ready {self.pid}", f"{self.argv[0]} said {line!r}: {self.err.text(1)}"

    def say(self, order):
        self.process.stdin.write(order.encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, order, limit=LIMIT):
        """Give @order; returns the answer."""
        self.say(order)
        return self.answer(limit, order)

    def answer(self, limit=LIMIT, order="what it was told before"):
        """The answer to an order that was given with say()."""
        line = self.out.take(limit)
        assert line is not None, self.silence(order)
        return json.loads(line)

    def silence(self, order):
        """Why it has not answered @order: it has ended, or where its threads are."""
        return f"no answer to {order!r}: status {self.process.poll()}, {self.said()}\n{whereabouts(self.pid)}"

    def rate(self):
        """Pairs per second of a hot victim, now."""
        return self.ask("rate")["rate"]

    def pace(self):
        """Pairs per second of processor time of a hot victim, now: that other programs run changes nothing. 0: it is
        stopped."""
        return self.ask("pace")["pace"]

    def wait_working(self):
        """Wait until pairs are made. On a busy machine it may have no processor at some moment."""
        wait_for(lambda: self.rate() > 0, "it works")

    def end(self, status=0):
        """Its normal end: returns the counts that it prints."""
        told = self.ask("end")
        self.process.stdin.close()
        assert self.wait() == status, self.said()
        return told


class Contained(Victim):
    """The first process of a PID namespace: it knows itself as 1."""

    def expect_ready(self):
        line = self.out.take()
        assert line == "ready 1", f"{self.argv}: {line!r} {self.err.text(1)}"
        self.pid = wait_for(lambda: children(self.process.pid), "the container's process")[0]


class Watch(Program):
    """mmattach with @args. With json_report its report is printed, and read, as JSON.

    MM_ENGINE=uprobe in the environment: by the second engine.
    """

    def __init__(self, *args, json_report=True, program=MMATTACH, **kwargs):
        kwargs.setdefault("stdin", subprocess.DEVNULL)
        form = ["--format", "json"] if json_report else []
        engine = os.environ.get("MM_ENGINE")
        plain = args and str(args[0]).startswith("-")  # no command
        chosen = ["--engine", engine] if engine and plain and "--engine" not in args else []
        super().__init__([program, *form, *chosen, *args], **kwargs)

    def wait_watching(self, limit=LIMIT):
        line = self.err.find(r"^watching \d+", limit)
        assert line, f"did not attach: status {self.process.poll()}, {self.said()}"
        if os.environ.get("MM_ENGINE") == "uprobe":
            time.sleep(0.12)    # until then no free is called a double one
        return self

    def keeper(self):
        """The pid of its keeper."""
        return wait_for(lambda: next((p for p in children(self.pid) if comm(p) == "mm-keeper"), None), "a keeper")

    def interrupt(self, sig=signal.SIGINT):
        self.process.send_signal(sig)

    def finish(self, status=0, sig=signal.SIGINT, limit=LIMIT):
        """End the watch as Ctrl-C does (sig None: it ends by itself). Returns its report."""
        if sig is not None:
            self.interrupt(sig)
        assert self.wait(limit) == status, self.said()
        return json.loads(self.out.text())

    def process_output(self, limit=LIMIT):
        """Its stdout as bytes, once it has ended."""
        self.out.thread.join(limit)
        return b"".join(self.out.raw)


def comm(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text(errors="replace").rstrip("\n")
    except OSError:
        return ""


def parent(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[1])
    except OSError:
        return 0


def ended(pid):
    """It is gone, or a zombie: the process that inherits an orphan may not wait for it."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def children(pid):
    return [int(p) for p in os.listdir("/proc") if p.isdigit() and parent(p) == pid]


def lost(report):
    """The losses in the report, by reason; {} if there are none."""
    return {reason: n for reason, n in report["run"]["lost"].items() if n}


def hits(report, rule):
    """Calls seen by the probes whose rule begins with @rule ("alloc malloc"), over all modules."""
    words = rule.split()
    return sum(p["hits"] for p in report["run"]["probes"] if p["rule"].split()[:len(words)] == words)
