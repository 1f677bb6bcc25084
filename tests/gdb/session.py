# SPDX-License-Identifier: MIT
"""A gdb that is used as a user does: commands in, text out, SIGINT for Ctrl-C.

Commands come through a pipe, one per line. After each, gdb is told to print a line that no command prints:
that line shows that the command has ended, either at once or when the target has stopped again. The output of
the command is what comes before that line. All of this has a time limit, and a gdb that exceeds it is killed,
so no test hangs.
"""
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import termios
import time

from harness import LIMIT, MMATTACH, TOP, Program, children, comm, ended, wait_for

GDB = shutil.which("gdb")
SCRIPT = TOP / "gdbscripts/mmleak.py"
ENVIRONMENT = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "dumb", "DEBUGINFOD_URLS": ""}
# Questions that gdb asks on a terminal must not be asked here, and no line may be split.
QUIET = ["-nx", "-q", "-iex", "set width 0", "-iex", "set height 0", "-iex", "set confirm off", "-iex", "set prompt ",
         "-iex", "set print thread-events off"]


class Gdb(Program):
    """gdb with @args. Its stderr is in its output: between a command and its end both belong to that
    command."""

    def __init__(self, *args, **kwargs):
        kwargs.setdefault("env", ENVIRONMENT)
        super().__init__([GDB, *QUIET, *args], stderr=subprocess.STDOUT, **kwargs)
        self.asked = 0
        self.commands = []
        self.finish_command(self.begin("show version"))

    def begin(self, command):
        """Give @command; returns what finish_command needs."""
        self.asked += 1
        self.commands.append(command)
        self.type(f"{command}\n{self.end_of(self.asked)}")
        return self.asked

    @staticmethod
    def end_of(number):
        return f"echo \\n<<end {number}>>\\n\n"

    def type(self, text):
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def finish_command(self, number, limit=LIMIT):
        """The output of the command that begin gave: its lines, once it has ended."""
        lines, end = [], time.monotonic() + limit
        while True:
            line = self.out.take(max(0, end - time.monotonic()))
            assert line is not None, self.silence(number, lines)
            if line == f"<<end {number}>>":
                return "\n".join(lines).strip("\n")
            if not line.startswith("<<end "):
                lines.append(line)

    def silence(self, number, lines):
        state = f"ended, status {self.process.poll()}" if self.process.poll() is not None else "did not end the command"
        return f"gdb {state}: {self.commands[number - 1]!r}, after " + "\n".join(lines)

    def do(self, command, limit=LIMIT):
        return self.finish_command(self.begin(command), limit)

    def mmleak(self, *words, limit=LIMIT):
        return self.do(" ".join(["mmleak", *map(str, words)]), limit)

    def value(self, expression):
        """A number that gdb computes."""
        said = self.do(f"output (long long)({expression})")
        assert re.fullmatch(r"-?\d+", said), said
        return int(said)

    def leave(self, limit=LIMIT):
        """End gdb as at the end of a script: it detaches from what it has attached to."""
        self.process.stdin.close()
        return self.wait(limit)

    # --- the target runs ---

    def go(self):
        """Let the target run, and wait until gdb says so. A Ctrl-C before that would be one at the prompt."""
        self.running = self.begin("continue")
        end = f"<<end {self.running}>>"
        wait_for(lambda: {"Continuing.", end} & set(self.out.all[self.out.taken:]), "the target continues")

    def is_at_prompt(self):
        """Has the command that let the target run ended?"""
        return f"<<end {self.running}>>" in self.out.all[self.out.taken:]

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def stopped(self, limit=LIMIT):
        """Wait until the target has stopped. Returns gdb's output."""
        return self.finish_command(self.running, limit)

    def stop(self, limit=LIMIT):
        """Ctrl-C, and wait for it."""
        self.interrupt()
        return self.stopped(limit)

    def try_for(self, command, seconds):
        """A step may wait for another thread: then it is interrupted."""
        self.running = self.begin(command)
        limit = time.monotonic() + seconds
        while not self.is_at_prompt() and time.monotonic() < limit:
            time.sleep(0.002)
        if not self.is_at_prompt():
            self.interrupt()
        return self.stopped()

    def said_since(self, before):
        """All output since the first BEFORE lines."""
        return "\n".join(self.out.all[before:])

    def during(self, target, *orders, limit=LIMIT):
        """Let the target run and carry out @orders, and stop it again. Returns its last answer."""
        self.go()
        answers = [target.ask(order, limit) for order in orders]
        self.stop(limit)
        return answers[-1]

    # --- mmleak ---

    def report(self, *options):
        said = self.mmleak("report", "--format", "json", "--top", "0", *options)
        assert "{" in said, "\n".join([*self.out.all[-40:], "instead of a report: " + said])
        return json.JSONDecoder().raw_decode(said, said.index("{"))[0]

    def engine(self):
        """The pid of the program that watches for it."""
        return wait_for(lambda: next(iter(engines(self.pid)), None), "an engine")


class TerminalGdb(Gdb):
    """gdb on its own terminal: Ctrl-C is the key, which the terminal sends to all processes in the foreground
    there."""

    def __init__(self, *args, **kwargs):
        self.master, slave = os.openpty()
        super().__init__("-iex", "set editing off", *args, stdin=slave, start_new_session=True,
                         preexec_fn=lambda: fcntl.ioctl(slave, termios.TIOCSCTTY, 0), **kwargs)
        os.close(slave)

    def type(self, text):
        os.write(self.master, text.encode())

    def interrupt(self):
        """After Ctrl-C the terminal discards input that was typed and not read yet, so the end mark is typed
        again."""
        self.type("\x03")
        self.type(self.end_of(self.running))

    def leave(self, limit=LIMIT):
        self.type("quit\n")
        return self.wait(limit)

    def kill(self):
        super().kill()
        os.close(self.master)


def engines(pid):
    return [p for p in children(pid) if comm(p).startswith("mm") and not ended(p)]


def sourced(gdb):
    """Load the scripts, as a user does."""
    said = gdb.do(f"source {SCRIPT}")
    assert "rror" not in said, said
    gdb.do(f"set mmleak program {MMATTACH}")
    return gdb


# What differs between two watches of the same calls: times and addresses.
TIMES = {"start", "seconds", "stopped_s", "stopped_known", "thread_s", "hitting_threads", "hitting_s",
         "hitting_stopped_s", "worst_thread_s", "worst_thread_stopped_s", "probed_s", "oldest_s",
         "youngest_s", "at_s", "allocs_per_minute", "growth", "first_s", "last_s", "block_ages", "number", "mark", "row",
         "section", "grows_in"}
PLACES = {"pid", "pc", "examples", "example"}
WAITS = {"ring_waits"}
KERNELS = {"memory"}


def comparable(report):
    """@report without what differs between any two watches: times, pids, addresses, the kernel's memory
    figures, and the frontend. Of series the end is kept. Groups are sorted: in a report their order depends
    on how they grew in time."""
    if isinstance(report, list):
        return [comparable(item) for item in report]
    if not isinstance(report, dict):
        return report
    kept = {key: comparable(value) for key, value in report.items()
            if key not in TIMES | PLACES | WAITS | KERNELS | {"engine", "engine_asked", "no_other_engine", "series"}}
    if "series" in report:
        kept["series_end"] = report["series"][-1][1]
    for name in ("groups", "rows"):
        if isinstance(kept.get(name), list):
            kept[name].sort(key=lambda group: json.dumps(group, sort_keys=True))
    if "mark" in report:    # a row: indices of groups are by their order
        kept["groups"] = len(kept.pop("groups", []))
    return kept
