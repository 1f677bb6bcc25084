# SPDX-License-Identifier: MIT
"""commands: what the user types, its help and its completion."""
import functools
import glob
import os

import gdb

from mmgdb import pointers, program, session, timed, words


class Mmleak(gdb.Command):
    """Find memory that leaks, with mmattach, while gdb has the process.

  mmleak start        watch each allocation and each release from here on
  continue            let the process work; stop it with Ctrl-C, or a breakpoint
  mmleak report       which code allocated what is still live

The process must be one that gdb runs or has attached to on this machine.
Your breakpoints, and all else in the session, stay as they are; the watch's own are not
in `info breakpoints`. `set mmleak` has defaults. doc/gdb.md explains more."""

    def __init__(self):
        super().__init__("mmleak", gdb.COMMAND_DATA, prefix=True)

    def invoke(self, argument, from_tty):
        if argument:
            raise gdb.GdbError('there is no command "mmleak %s"; `help mmleak` lists them' %
                               argument.split()[0])
        gdb.execute("help mmleak")


class Command(gdb.Command):
    """One of mmleak's commands. TAKES: the mmattach command whose options it forwards, or None; FILE: it
    takes a file name."""
    name, takes, file, class_ = "", None, False, gdb.COMMAND_DATA

    def __init__(self):
        super().__init__("mmleak " + self.name, self.class_)

    def invoke(self, argument, from_tty):
        self.dont_repeat()
        try:
            self.run(gdb.string_to_argv(argument))
        finally:
            if session.watch is not None:
                session.watch.show_messages()

    def run(self, given):
        raise NotImplementedError

    def complete(self, text, word):
        given = text.split()
        last = given[-1] if text[-1:].strip() else ""
        before = given[-2:-1] if last else given[-1:]
        if self.file or (before and before[0] in words.FILE_OPTIONS):
            return complete_word(files(last), last, word)
        return complete_word(candidates(self.takes, before, last), last, word) if self.takes else []


def files(beginning):
    """The files whose names begin so; a folder with its slash."""
    found = glob.glob(glob.escape(os.path.expanduser(beginning)) + "*")
    home = os.path.expanduser("~")
    found = ["~" + f[len(home):] for f in found] if beginning.startswith("~/") else found
    return [f + "/" if os.path.isdir(os.path.expanduser(f)) else f for f in found]


def complete_word(names, last, word):
    """The names that begin with LAST; of each the part that gdb replaces as the current word (gdb splits at
    "-", too)."""
    cut = len(last) - len(word)
    return [n[cut:] for n in names if n.startswith(last)]


def candidates(takes, before, last):
    """What may be written at this position: options, or families after --family."""
    try:
        if before == ["--family"]:
            done = last[:last.rfind(",") + 1]
            return [done + f for f in families()]
        return options(takes)
    except gdb.GdbError:
        return []


@functools.lru_cache(maxsize=None)
def families():
    return words.family_names(program.output([program.find(), "probes"])[1])


@functools.lru_cache(maxsize=None)
def options(takes):
    """The long options of `mmattach report`, or those of a watch."""
    command = "report" if takes == "report" else "gdb"
    return words.option_names(program.output([program.find(), "help", command])[1])


def no_arguments(given, name):
    if given:
        raise gdb.GdbError("mmleak %s takes no arguments" % name)


def one_argument(given, what):
    if len(given) != 1:
        raise gdb.GdbError("one argument is needed: %s" % what)
    return given[0]


class Start(Command):
    """Begin to watch the selected process.
Usage: mmleak start [OPTION]...

The options are those of mmattach -p: --family, --probe, --probes, --ref, --in, --from,
--until, --thread, --module, --sizes, --free-stacks, --depth, --stack-bytes, -o TRACE ...
(`mmattach --help`). Without -o the trace exists as long as gdb runs.
The process must be stopped; what it does from the next `continue` on is counted."""
    name, takes = "start", "watch"

    def run(self, given):
        session.start(given)


class Stop(Command):
    """End the watch: its breakpoints are removed, the trace is completed.
Usage: mmleak stop

`mmleak report` and `mmleak save` work on what was seen."""
    name = "stop"

    def run(self, given):
        no_arguments(given, self.name)
        session.stop()


class Run(Command):
    """Watch for a time: start, continue, stop, report.
Usage: mmleak run DURATION [OPTION]...

DURATION is written as 30s, 10m or 1h30m; the options are those of `mmleak start`. If a watch
is there already, it goes on for so long, and ends. If the process stops before the time
is over, by a breakpoint say, the watch goes on. When the time is over, the process stops
at its next call that is watched; an idle one is interrupted by a SIGINT that it does not see."""
    name, takes, class_ = "run", "watch", gdb.COMMAND_RUNNING

    def run(self, given):
        if not given:
            raise gdb.GdbError("how long? mmleak run 30s")
        try:
            seconds = words.seconds(given[0])
        except ValueError as error:
            raise gdb.GdbError(str(error))
        if session.watch is None:
            session.start(given[1:])
        elif given[1:]:
            raise gdb.GdbError("a watch is there already: its options cannot be changed")
        if timed.TimedRun(session.watch, seconds).go():
            session.stop()
            report([])
        elif session.watch is None:
            report([])


class Status(Command):
    """The state of the watch: since when, how much was counted, what is live.
Usage: mmleak status"""
    name = "status"

    def run(self, given):
        no_arguments(given, self.name)
        if session.watch is None:
            gdb.write(session.nothing_watched() + "\n")
            return
        gdb.write(status_text(dict(line.split(" ", 1) for line in session.watch.ask("status").splitlines())))


def status_text(of):
    lines = ["watching %(pid)s for %(seconds)s s: %(functions)s functions, %(events)s events" % of,
             "live: %(blocks)s blocks, %(bytes)s bytes; %(objects)s objects" % of]
    if of["lost"] != "0" or of["stacks_cut"] != "0":
        lines.append("lost: %(lost)s events; cut: %(stacks_cut)s stacks" % of)
    return "\n".join(lines) + "\n"


def report(given):
    with session.Snapshot() as trace:
        gdb.write(program.run("report", *(words.expand_home(given) + [trace])))


class Report(Command):
    """Which code allocated what is still live: of the watch so far, or of the last one.
Usage: mmleak report [OPTION]...

The options are those of mmattach report: --top N, --older-than DURATION, --focus REGEX,
--format json ..., -o FILE (`mmattach report --help`)."""
    name, takes = "report", "report"

    def run(self, given):
        report(given)


class BlockList(Command):
    """The blocks of one group of the report, each with its address and age.
Usage: mmleak block-list N [OPTION]...

N is the number in front of the group; give the options that the report was given."""
    name, takes = "block-list", "report"

    def run(self, given):
        if not given:
            raise gdb.GdbError("of which group of the report? mmleak block-list 1")
        report(["--block-list", given[0]] + given[1:])


class Save(Command):
    """Save a trace of what was seen so far; the watch goes on.
Usage: mmleak save FILE

`mmattach report FILE` reads it, anywhere."""
    name, file = "save", True

    def run(self, given):
        session.save(one_argument(given, "the name of a file"))


class Reset(Command):
    """Forget all that was counted; the watch goes on from zero.
Usage: mmleak reset

The trace begins anew as well."""
    name = "reset"

    def run(self, given):
        no_arguments(given, self.name)
        session.reset()


class WhoPointsAt(Command):
    """Where pointers to a block are: in registers, on stacks, in data, in other blocks.
Usage: mmleak who-points-at ADDRESS

ADDRESS may be any expression. If it lies in a block that the watch knows, pointers to the block's start and
into it are looked for; else pointers to exactly that address. Only pages that are in memory are read. The
process must be stopped."""
    name = "who-points-at"

    def invoke(self, argument, from_tty):
        self.dont_repeat()
        if not argument:
            raise gdb.GdbError("one argument is needed: an address")
        pointers.who_points_at(argument)


class HandOver(Command):
    """Let the process go, and let mmattach watch it from there, without gdb.
Usage: mmleak hand-over [-d DURATION]

What was counted stays counted. It goes on until the time is over, the process ends, or mmattach
gets a SIGINT; the trace is completed then. Between the two nothing is seen for some
milliseconds, and the report says so."""
    name = "hand-over"

    def run(self, given):
        duration = words.value_of(given, "-d", "--duration") or ""
        if given and not duration:
            raise gdb.GdbError("usage: mmleak hand-over [-d DURATION]")
        try:
            if duration:
                words.seconds(duration)
        except ValueError as error:
            raise gdb.GdbError(str(error))
        session.hand_over(duration)


Mmleak()
for command in Start, Stop, Run, Status, Report, BlockList, Save, Reset, WhoPointsAt, HandOver:
    command()
