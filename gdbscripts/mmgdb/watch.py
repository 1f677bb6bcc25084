# SPDX-License-Identifier: MIT
"""watch: one watch, from its start to its end.

    start       the engine is started; it plans, we plant; it reports "ready"
    meanwhile   gdb calls the traps, and hits.py reports the hits; events.py calls what is below
    finish      the traps are removed, whatever else fails; then the engine completes its trace

It ends when the user wants it, with the process (exit, kill, exec, detach), with gdb, or because the engine
says so or is gone. In any case the traps are removed from the process before it runs the next time.
"""
import os
import signal
import time

import gdb

from mmgdb import kernel, parameters, target, wire
from mmgdb.engine import LONG_S, Engine, Gone
from mmgdb.events import Events
from mmgdb.hits import FRAMES_MAX, Hits
from mmgdb.signals import Held
from mmgdb.unwinders import Unwinders


class Watch:
    """A watch of INFERIOR by the program PATH, with the user's OPTIONS. TRACE is the file that these name
    (KEPT), or one for this session only. DONE(self) is called when it is over."""

    def __init__(self, path, inferior, options, trace, kept, done):
        self.number, self.pid = inferior.num, inferior.pid
        self.options, self.trace, self.done = options, trace, done
        self.kept = kept
        self.ready = self.over = False
        self.heirs = set()          # inferiors that gdb may have made to follow a child into
        self.handing_over = False
        self.began = time.monotonic()
        words = ([] if kept else ["-o", trace]) + options + parameters.words_for(options)
        self.memory = target.open_memory(self.pid)
        try:
            self.engine = Engine(path, self.pid, self.memory, words)
        except BaseException:
            os.close(self.memory)
            raise
        self.hits = self.engine.hits = Hits(self.engine.hits_sock, self.pid, self.number, self.relay_ends)
        self.hits.depth = frames_wanted(words)
        self.events = Events(self)
        self.unwinders = Unwinders()

    def start(self):
        """Plant. Returns what the engine reports when it is ready; gdb.GdbError if that failed."""
        self.events.connect()
        try:
            reply = self.engine.receive(LONG_S)
            verdict, _, text = reply.partition(" ")
            if verdict != "ready":
                raise gdb.GdbError(text)
        except Gone:
            said = self.engine.messages()
            self.finish(None)
            raise gdb.GdbError(said.strip() or "mmattach has ended while it began to watch")
        except BaseException:
            self.finish("quit")
            raise
        with Held():
            self.ready = True
            self.unwinders.look()
            self.look(True)
        return text

    def look(self, has_stopped):
        thread = gdb.selected_thread()
        if not self.over and thread is not None and thread.ptid[0] == self.pid and thread.is_stopped():
            try:
                self.hits.look(thread, has_stopped)
            except gdb.error:
                pass        # it dies while we look

    def ask(self, request):
        """The engine's answer. If it is gone, so is the watch."""
        try:
            return self.engine.ask(request)
        except Gone:
            self.finish("end")
            raise gdb.GdbError("the watch is over")

    def show_messages(self):
        text = self.engine.messages()
        if text:
            gdb.write(text, gdb.STDERR)

    # The end

    def finish_held(self, request, note):
        """The same if the process or gdb has ended it: a Ctrl-C that was meant for the process must not break
        off the end of the trace."""
        with Held():
            self.finish(request, note)

    def finish(self, request, note=None):
        """Remove the traps, then send REQUEST (end, quit; None: nothing) to the engine. Returns its answer,
        "" if it is gone. A second call does nothing."""
        if self.over:
            return ""
        with Held():
            self.over = self.hits.ended = True
            self.events.disconnect()
            self.unwinders.restore()
            self.hits.traps.remove_all()
        try:
            return self.engine.ask(request) if request else ""
        except KeyboardInterrupt:
            if request != "quit":
                note = "the trace is not whole yet: mmattach (%d) goes on writing %s" % (
                    self.engine.process.pid, self.trace)
        except Gone:
            if request != "quit":
                note = ("mmattach has ended before its time, and the watch with it; "
                        "the trace may lack its last second")
        except gdb.GdbError as error:
            note = "the end of the trace: %s" % error
        finally:
            self.close()
            if note:
                gdb.write("mmleak: %s\n" % note, gdb.STDERR)
        return ""

    def lift_for_hand_over(self):
        """Remove the traps; the engine stays. Returns since when nothing is seen: CLOCK_MONOTONIC, in
        nanoseconds."""
        with Held():
            self.handing_over = self.hits.ended = True
            since = int(time.monotonic() * 1e9)
            self.hits.traps.remove_all()
        return since

    def close(self):
        self.show_messages()
        self.engine.close()
        os.close(self.memory)
        self.done(self)

    def relay_ends(self, why):
        """The relay says that it is over, or does not answer (WHY)."""
        self.finish_held("quit" if why else "end", why or "the watch is over")

    # What becomes of the process

    def check_exec(self):
        """If its memory is gone but the process exists, it runs another program, in which our addresses mean
        nothing."""
        trap = next(iter(self.hits.traps.all.values()), None)
        if self.over or trap is None or not target.has_gone(self.memory, trap.address):
            return
        if not target.alive(self.pid):
            return
        with Held():
            self.hits.traps.remove_all()
        self.hits.send(wire.head(wire.EXEC))
        self.finish_held("end",
                         "the process runs another program now, and the watch is over: `mmleak report`")

    def gone(self, exit_code):
        """gdb does not have the process any more: it has ended, was killed or detached, or gdb follows a
        child."""
        if self.handing_over:
            return
        if target.alive(self.pid):
            self.finish_held("end", "gdb has let %d go, and the watch is over: `mmleak report`" % self.pid)
            return
        with Held():
            self.hits.traps.remove_all()
        self.hits.send(wire.head(wire.END, value=wait_status(exit_code)))
        self.finish_held("end", "%d has ended, and the watch with it: `mmleak report`" % self.pid)

    def new_inferior(self, inferior):
        """Note it: if gdb has made it to follow a child, that is known when its thread is there."""
        if gdb.parameter("follow-fork-mode") == "child":
            self.heirs.add(inferior.num)

    def new_thread(self, inferior):
        """If gdb follows a child, which has copies of our breakpoints, the watch continues there: at once,
        for its first call may be exec."""
        if inferior.num not in self.heirs:
            return
        self.heirs.discard(inferior.num)
        if target.parent(inferior.pid) != self.pid:
            return
        if kernel.same_memory(self.pid, inferior.pid):
            self.finish_held("end", "gdb follows a child of vfork, which runs another program; "
                                    "the watch is over: `mmleak report`")
        else:
            with Held():
                self.follow(inferior)

    def follow(self, heir):
        memory = target.open_memory(heir.pid)
        self.hits.send(wire.head(wire.MOVED, value=heir.pid), [memory])
        os.close(self.memory)
        self.memory = memory
        self.pid = self.hits.pid = self.hits.traps.pid = heir.pid
        self.number = heir.num
        self.hits.traps.count_in(heir.num)
        gdb.write("mmleak: watching the child %d now\n" % self.pid, gdb.STDERR)


def wait_status(exit_code):
    """A wait status as the kernel's: with the exit code, or the signal."""
    if exit_code is not None:
        return (exit_code & 0xff) << 8
    ended_by = gdb.convenience_variable("_exitsignal")
    return int(ended_by) if ended_by is not None else int(signal.SIGKILL)


def frames_wanted(words):
    """How many frames gdb's unwinder shall give; 0 if it is not asked."""
    if parameters.unwinder.value != "gdb":
        return 0
    for i, word in enumerate(words):
        depth = ""
        if word.startswith("--depth="):
            depth = word[8:]
        elif word == "--depth" and i + 1 < len(words):
            depth = words[i + 1]
        if depth.isdigit():
            return int(depth)
    return FRAMES_MAX
