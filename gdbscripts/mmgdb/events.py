# SPDX-License-Identifier: MIT
"""events: what gdb reports of the process during a watch, and what that means for the watch.

exec. gdb keeps breakpoints at addresses over an exec, and would insert them into the new program. It reports
no exec to Python, but during one it drops and reads symbols, before it inserts anything: at each of these
events the watch checks whether the memory that it knew is gone.

stop. Threads may be at traps; which of these gdb will step over without a report depends on which thread is
selected (hits.Hits.look).
"""
import gdb

from mmgdb import target, wire
from mmgdb.signals import Held, unblock_sigchld

LOOKS = "new_objfile", "clear_objfiles", "free_objfile", "executable_changed"     # not every gdb has each


class Events:
    """Connected to gdb's registry from connect to disconnect."""

    def __init__(self, watch):
        self.watch = watch
        self.connected = []
        self.elsewhere = 0          # gdb has another process instead of this one: already reported

    def connect(self):
        for name in LOOKS:
            self.add(name, self.files_changed)
        self.add("exited", self.exited)
        self.add("stop", self.stopped)
        self.add("stop", self.look_for_checkpoint)
        self.add("inferior_call", self.calling)
        self.add("before_prompt", self.prompt)
        self.add("new_inferior", lambda event: self.watch.new_inferior(event.inferior))
        self.add("new_thread", lambda event: self.watch.new_thread(event.inferior_thread.inferior))
        self.add("breakpoint_modified", self.modified)
        self.add("thread_exited", self.thread_ended)
        self.add("gdb_exiting", self.quitting)

    def add(self, name, handler):
        registry = getattr(gdb.events, name, None)
        if registry is not None:
            registry.connect(handler)
            self.connected.append((registry, handler))

    def disconnect(self):
        for registry, handler in self.connected:
            registry.disconnect(handler)
        self.connected = []

    def exited(self, event):
        if event.inferior.num == self.watch.number:
            self.watch.gone(getattr(event, "exit_code", None))

    def thread_ended(self, event):
        pid, tid, _ = event.inferior_thread.ptid
        if pid == self.watch.pid:
            self.watch.hits.send(wire.head(wire.THREAD_END, tid=tid))

    def files_changed(self, _):
        self.watch.unwinders.look()
        self.watch.check_exec()

    def modified(self, breakpoint):
        self.watch.hits.traps.modified(breakpoint)
        self.watch.check_exec()

    def stopped(self, _):
        self.watch.show_messages()
        with Held():
            self.watch.hits.traps.clean_newborn()
            self.watch.look(True)

    def calling(self, event):
        """gdb calls a function in the process, or has done so."""
        if isinstance(event, gdb.InferiorCallPreEvent) and event.ptid[0] == self.watch.pid:
            with Held():
                self.watch.hits.before_call(event.ptid[1])

    def look_for_checkpoint(self, _):
        """`restart` puts a checkpoint, another process, into the same inferior."""
        inferior = gdb.selected_inferior()
        if inferior.num == self.watch.number and inferior.pid not in (0, self.watch.pid, self.elsewhere):
            self.elsewhere = inferior.pid
            gdb.write(
                "mmleak: gdb is in process %d now; only what %d does is counted\n" %
                (inferior.pid, self.watch.pid), gdb.STDERR)

    def prompt(self):
        """Another thread may have been selected; or the process may have ended unnoticed, because of a
        Ctrl-C."""
        unblock_sigchld()
        self.watch.show_messages()
        if not target.traced_by_us(self.watch.pid):
            self.watch.gone(gdb.convenience_variable("_exitcode"))
            return
        with Held():
            self.watch.unwinders.look()
            self.watch.look(False)

    def quitting(self, _):
        self.watch.finish("end" if self.watch.kept else "quit")
