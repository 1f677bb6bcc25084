# SPDX-License-Identifier: MIT
"""Documents whose commands are run, and whose samples are compared with what is really printed.

In a code block of a document a line that begins with `$ ` is a command for the shell, and one with `(gdb) ` a
command for gdb; `> ` begins a continuation of the command before. The lines up to the next command are what
it prints. A block without such lines is only read. What differs from run to run (numbers, sizes, times,
addresses, curves) is compared by its form; a line that begins with `...` stands for any lines, and so for
what may be there or not, and ` ...` at the end of a line for the rest of it. HTML comments, which a reader
does not see, are for this test:

    <!-- not run: REASON -->            the next block is not run, because of REASON
    <!-- needs: PROGRAM-OR-FILE... -->  from here on a part of its own, in a session of its own, which is run
                                        only where these are installed

Each part is one session: bash on a terminal, in a folder that looks like the top of the source tree.
"""
import contextlib
import fcntl
import os
import re
import shutil
import signal
import struct
import subprocess
import termios
import threading
import time

from harness import LIMIT, MMATTACH, TOP, Patience, children, comm, ended, wait_for

COMMENT = re.compile(r"<!-- (not run|needs): (.*?) -->", re.S)
LINKS = {"mmattach": MMATTACH, **{name: TOP / name for name in ("build", "tests", "demo", "doc", "recipes")}}
SOURCES = "/src/mmattach"  # in the documents: the folder with the sources
PROMPT = re.compile(r"<<(?:bash|gdb)>>")
BEHIND = 10  # seconds for what a process in the background prints after the prompt
# What bash prints at the next prompt when a job has ended: which prompt that is depends on the time it took.
JOB_ENDED = re.compile(r"\[\d+\][+-]?\s+(Done|Terminated|Exit|Interrupt|Killed|Stopped)")


# --- documents ---

class Command:
    def __init__(self, line, kind, text):
        self.line, self.kind, self.text, self.expected = line, kind, text, []


class Part:
    def __init__(self, needs):
        self.needs, self.commands, self.skipped = needs, [], []


def blocks_of(text):
    """("comment", line, (kind, words)) and ("block", line, lines) of a document, in order; the lines without
    the indent that makes them a block. Blank lines inside a block belong to it."""
    found, block, start = [], [], 0
    text = COMMENT.sub(lambda m: m.group().replace("\n", " ") + "\n" * m.group().count("\n"), text)
    lines = text.split("\n")
    for number, line in enumerate([*lines, "end"], 1):
        if line.startswith("    ") and (block or not lines[number - 2].strip()):
            start = start if block else number
            block.append(line[4:])
        elif not line.strip() and block:
            block.append("")
        else:
            if block:
                found.append(("block", start, block))
            block = []
            if comment := COMMENT.match(line):
                found.append(("comment", number, (comment[1], comment[2])))
    return found


def commands_of(start, lines):
    commands = []
    for number, line in enumerate(lines, start):
        begin = re.match(r"(\$|\(gdb\)) (.*)", line)
        if begin:
            commands.append(Command(number, "bash" if begin[1] == "$" else "gdb", begin[2]))
        elif commands and not commands[-1].expected and line.startswith("> "):
            commands[-1].text += "\n" + line[2:]
        elif commands:
            commands[-1].expected.append(line)
    for command in commands:
        while command.expected and not command.expected[-1].strip():
            command.expected.pop()
    return commands


def parts_of(text):
    parts, reason = [Part([])], None
    for what, line, content in blocks_of(text):
        if what == "comment" and content[0] == "needs":
            parts.append(Part(content[1].split()))
        elif what == "comment":
            reason = content[1]
        else:
            commands = commands_of(line, content)
            (parts[-1].skipped if reason else parts[-1].commands).extend(commands)
            reason = None
    return [part for part in parts if part.commands]


def seconds(text):
    """Of "4s", "10m": seconds."""
    return float(text[:-1]) * UNITS[text[-1]]


# "3ms to 4s old", and in a list of blocks
AGE = re.compile(r"(?:\bto |^ +0x[0-9a-f]+ +\d+ +)(\d+(?:\.\d+)?)(ms|s|m|h|d)(?: old|$)", re.M)


def ages_and_watches(part):
    """(command, age in seconds, seconds of its watch) for each age that a part of a document shows of a watch with -d, or
    of its trace."""
    traces = {}
    for command in part.commands:
        words = command.text.split()
        duration = re.search(r"-d ?(\d+[smhd])\b", command.text)
        lasted = seconds(duration[1]) if duration else max((traces[word] for word in words if word in traces), default=None)
        if duration and "-o" in words:
            traces[words[words.index("-o") + 1]] = lasted
        for age, unit in AGE.findall("\n".join(command.expected)) if lasted else []:
            yield command, float(age) * UNITS[unit], lasted


# --- what is the same of two runs ---

SIZE = r"\d+(?:\.\d+)? (?:B|KiB|MiB|GiB|bytes)\b"
# what is there or not by chance, and is left out of both
CHANCE = [(re.compile(pattern), form) for pattern, form in [
    (r", \d+ of them of other stacks", ""),  # which blocks a lost one holds
    # only on a busy machine: a pause is longer than was estimated, other threads are stopped, too, a leak slows down, and
    # a block from before the watch is freed late
    (r" \(the estimate was [\d.]+\w+\)", ""),
    (r"(?<=/min) now\b", ""),
    (r"\bstill grows, by (\S+ \S+); it was faster before", r"grows by \1"),
    (r"(?<= frees), \d+ of blocks older than the watch \([^)]*\)", ""),
]]
FORMS = [(re.compile(pattern), form) for pattern, form in [
    (re.escape(str(TOP)), SOURCES),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}", "DATE"),
    (r"\b0x[0-9a-f]+\b|\b(?=[a-f]*\d)[0-9a-f]{8,16}\b", "ADDRESS"),
    (r"\|[ .:=+*#%@-]{3,}\|", " CURVE"),
    (SIZE, "SIZE"),
    (r"\b(?:\d+(?:\.\d+)?(?:ns|us|ms|s|m|h|d))+\b", "TIME"),
    (r"\d+(?:[.,]\d+)*", "N"),
    (r"<N%", "N%"),
    (r"\((\w+)\+N\)", r"(\1)"),  # the first of an array, or another one
    (r"\bSIZE in N blocks?", "AMOUNT"),
    (r"(?<=lost )none|(?<=reachable )none", "AMOUNT"),
    (r"\b(block|object|byte|event|thread|pointer|time|frame|piece|word|register|arena|pair|group|connection)s\b", r"\1"),
    (r"\bonce\b|\btwice\b|\bN times\b", "N TIMES"),  # of so few objects it is chance
    (r"\b(is|are) still allocated", "are still allocated"),
    (r"\b(went|shrank)\b", "SHRANK"),  # a block that is freed at once may be live just then
    (r"\bmostly definitely lost", "definitely lost"),  # a block was in a register just then
    (r"\bgrowing, or perhaps growing", "growing"),
    (r"\(TIME of TIME\)", "(TIME)"),
    (r"\s+", " "),
]]


def replaced(line, forms):
    for pattern, form in forms:
        line = pattern.sub(form, line)
    return line


def plain(line):
    return replaced(replaced(line, CHANCE), FORMS).strip()


# --- how much it is ---

UNITS = {"B": 1, "bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
         "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600, "d": 86400}
BYTES = r"(?P<size>\d+(?:\.\d+)?) (?P<unit>B|KiB|MiB|GiB)"
BLOCKS = r"(?P<blocks>\d+)"
# a sum of blocks: in a sentence, in the first line, in a row of a table
SUMS = [re.compile(pattern) for pattern in (rf"\b{BYTES} in {BLOCKS} blocks?\b", rf"\b{BLOCKS} blocks?, {BYTES}\b",
                                            rf"\] +{BYTES} +<?[\d.]+% +{BLOCKS} ")]
TIME = re.compile(r"\b(\d+(?:\.\d+)?)(ns|us|ms|s|m|h|d)\b")
SHARE = re.compile(r"(?<![-+\d.])(\d+(?:\.\d+)?)%")
# How much a service does in a time depends on the machine, and on what runs beside it. What does not:
SIZES_DIFFER = 10       # times: the sizes of blocks, on average; what a lost one holds is counted with it, and is chance
TIME_IS_LONGER = 2.5    # times at most, if it is more than a second
SHARES_DIFFER = 40      # of a hundred
STOPPED = re.compile(r"  stopped  +\S")  # in the account: what a stop costs is the machine's alone


def averages(line):
    """The sizes of blocks, of each sum of them in @line."""
    sums = sorted((m for pattern in SUMS for m in pattern.finditer(line)), key=lambda m: m.start())
    return [float(m["size"]) * UNITS[m["unit"]] / int(m["blocks"]) for m in sums if int(m["blocks"])]


def times(line):
    return [float(number) * UNITS[unit] for number, unit in TIME.findall(line)]


def shares(line):
    return [float(number) for number in SHARE.findall(line)]


def is_near(expected, printed):
    """Are both lines of about the same? Where one has more numbers than the other, they are not known to be of the same."""
    ours, theirs = replaced(expected, CHANCE), replaced(printed, CHANCE)
    stopped = STOPPED.match(ours) and STOPPED.match(theirs)
    for numbers, fit in [(averages, lambda a, b: max(a, b) <= SIZES_DIFFER * min(a, b)),
                         (times, lambda a, b: stopped or b <= TIME_IS_LONGER * max(a, 1)),
                         (shares, lambda a, b: stopped or abs(a - b) <= SHARES_DIFFER)]:
        a, b = numbers(ours), numbers(theirs)
        if ours.endswith(" ..."):
            b = b[:len(a)]
        if len(a) == len(b) and not all(map(fit, a, b)):
            return False
    return True


def whole_lines(text):
    """The lines of @text; what of the account at the end of a report was wrapped is one line."""
    found, in_account = [], False
    for line in text.rstrip("\n").split("\n"):
        if in_account and re.match(r" {12}\S", line):
            found[-1] += line[11:]
        else:
            in_account = re.match(r"  [a-z]+ +\S", line) and line[11:12] == " "
            found.append(line)
    return found


def lines_of(text):
    return whole_lines(text) if text.strip() else []


def is_gap(line):
    return line.lstrip().startswith("...")


def segments(lines):
    """The lines between gaps."""
    found = [[]]
    for line in lines:
        if is_gap(line):
            found.append([])
        else:
            found[-1].append(line)
    return found


def is_same(expected, line):
    """A line of a document, and a printed one."""
    form, has = plain(expected), plain(line)
    same = has.startswith(form[:-4]) if form.endswith(" ...") else has == form
    return same and is_near(expected, line)


def fits(part, lines):
    return len(part) == len(lines) and all(map(is_same, part, lines))


def find(part, lines, start):
    starts = range(start, len(lines) - len(part) + 1)
    return next((i for i in starts if fits(part, lines[i:i + len(part)])), None)


# What a watch says where the machine is slow or busy; a document may show it.
SLOW = ("mmattach: warning: this watch slows the target much", "mmattach: hint: Ctrl-C ends the watch", "the watch slowed the process",
        "mmattach: attaching took ")


def without_slowness(lines, expected):
    shown = [start for start in SLOW if any(line.startswith(start) for line in expected)]
    return [line for line in lines if not line.startswith(SLOW) or line.startswith(tuple(shown))]


def differs(expected, printed):
    """The first lines of @expected that are not in @printed, where they should be; None if all fits."""
    wanted = lines_of("\n".join(expected))
    lines = without_slowness(lines_of(printed), wanted)
    parts = segments(wanted)
    if len(parts) == 1:
        return None if fits(parts[0], lines) else parts[0]
    first, *middle, last = parts
    if not fits(first, lines[:len(first)]):
        return first
    at = len(first)
    for part in middle:
        found = find(part, lines, at)
        if found is None:
            return part
        at = found + len(part)
    return None if not last or (len(lines) - at >= len(last) and fits(last, lines[-len(last):])) else last


# --- a terminal ---

GDB = ("gdb() { command gdb -nx -iex 'set editing off' -iex 'set height 0' -iex 'set width 0' "
       "-iex 'set confirm off' -iex 'set print thread-events off' -iex 'set prompt <<gdb>>' \"$@\"; }")
ENVIRONMENT = {"TERM": "dumb", "LC_ALL": "C.UTF-8", "DEBUGINFOD_URLS": "", "PS1": "", "PS2": "",
               "HISTFILE": ""}
SIZE_OF_TERMINAL = struct.pack("HHHH", 24, 132, 0, 0)  # as wide as a report in a file may be


def become_terminal(slave):
    mode = termios.tcgetattr(slave)
    mode[1] &= ~termios.ONLCR
    mode[3] &= ~termios.ECHO
    termios.tcsetattr(slave, termios.TCSANOW, mode)
    fcntl.ioctl(slave, termios.TIOCSWINSZ, SIZE_OF_TERMINAL)
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)


class Session:
    """bash on a terminal, in @folder."""

    def __init__(self, folder):
        self.folder = folder
        for name, path in LINKS.items():
            if path.exists():
                (folder / name).symlink_to(path)
        # the scripts use the program beside them
        shutil.copytree(TOP / "gdbscripts", folder / "gdbscripts")
        self.master, slave = os.openpty()
        self.bash = subprocess.Popen(["bash", "--norc", "--noprofile", "--noediting", "-i"], cwd=folder,
                                     stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                     env={**os.environ, **ENVIRONMENT, "MAKEFLAGS": ""},
                                     preexec_fn=lambda: become_terminal(slave))
        os.close(slave)
        self.text, self.changed, self.taken = "", threading.Condition(), 0
        threading.Thread(target=self.read, daemon=True).start()
        self.run("PS1='<<bash>>'; " + GDB)

    def read(self):
        with contextlib.suppress(OSError):  # the end of a terminal
            while data := os.read(self.master, 65536):
                with self.changed:
                    self.text += data.decode(errors="replace")
                    self.changed.notify_all()

    def wait(self, condition, limit):
        patience = Patience(limit)
        with self.changed:
            while not condition():
                left = patience.slice()
                if not left:
                    return False
                self.changed.wait(left)
        return True

    def new(self):
        return self.text[self.taken:]

    def printed(self):
        """What was printed since the last command: without prompts, and of a line that was printed anew (of
        the progress of a watch) the last."""
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", PROMPT.sub("", self.new()))
        lines = [line.split("\r")[-1] for line in text.split("\n")]
        return "\n".join(line for line in lines if not JOB_ENDED.match(line)).strip("\n")

    def run(self, text, expected=None):
        """What @text prints; if a process in the background prints what is expected, that may be a little
        later."""
        self.taken = len(self.text)
        os.write(self.master, (text + "\n").encode())
        assert self.wait(lambda: PROMPT.search(self.new()) or self.bash.poll() is not None, LIMIT), \
            f"no prompt after {text!r}:\n{self.new()}"
        if expected:
            self.wait(lambda: differs(expected, self.printed()) is None, BEHIND)
        return self.printed()

    def processes(self):
        """What it has started and is still there, children before their parents."""
        found = [self.bash.pid]
        for pid in found:
            found += children(pid)
        return found[:0:-1]

    def end(self):
        """A watch ends before its target."""
        ours = self.processes()
        watches = [pid for pid in ours if comm(pid) == "mmattach"]
        for pids, sig in [(watches, signal.SIGINT), (ours, signal.SIGTERM), (ours, signal.SIGKILL)]:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    if comm(pid) != "mm-keeper":
                        os.kill(pid, sig)
            with contextlib.suppress(AssertionError):
                wait_for(lambda pids=pids: all(ended(pid) for pid in pids), "they end", 10)
        self.bash.kill()
        self.bash.wait()
        os.close(self.master)


def walk(part, session, name):
    """Run the commands of @part; what does not fit, as text for the reader of a failed test, or None."""
    for command in part.commands:
        began = time.monotonic()
        printed = session.run(command.text, command.expected)
        yield time.monotonic() - began, command, printed
        missing = differs(command.expected, printed)
        assert missing is None, "\n".join([
            f"{name}:{command.line}: {command.text}", "--- the document says:", *command.expected,
            "--- it printed:", printed, "--- not there, by its form:", *missing])
