# SPDX-License-Identifier: MIT
"""events: what gdb tells of the process while a watch lasts, and what that means for it.

exec. gdb keeps breakpoints at addresses over an exec, and would insert them into the new program. It tells Python of none, but
in the midst of it it drops and reads symbols, before it inserts anything: at each of these the watch looks
whether the memory it knew is gone.

stop. A thread that is stopped by a signal may stand on a trap that it has not run into; if it is continued from there, gdb steps
over the trap without a word. So that hit is told at the stop (hits.Hits.tell_early).
"""
import gdb

from mmgdb.signals import Held

LOOKS = "new_objfile", "clear_objfiles", "free_objfile", "executable_changed"     # not every gdb has each


class Events:
    """Connected to gdb's registry from connect to disconnect."""

    def __init__(self, watch):
        self.watch = watch
        self.chosen = None          # the thread that would be continued
        self.connected = []

    def connect(self):
        for name in LOOKS:
            self.add(name, lambda _: self.watch.check_exec())
        self.add("exited", self.exited)
        self.add("stop", self.stopped)
        self.add("before_prompt", self.prompt)
        self.add("new_inferior", lambda event: self.watch.new_inferior(event.inferior))
        self.add("breakpoint_modified", self.modified)
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

    def watch_continue(self):
        """Only while it is needed: gdb tells it for every thread, every time, and that costs."""
        self.chosen = gdb.selected_thread()
        if self.watch.hits.early and not any(h == self.continued for _, h in self.connected):
            self.add("cont", self.continued)

    def exited(self, event):
        if event.inferior.num == self.watch.number:
            self.watch.gone(getattr(event, "exit_code", None))

    def modified(self, breakpoint):
        self.watch.hits.traps.modified(breakpoint)
        self.watch.check_exec()

    def stopped(self, event):
        watch = self.watch
        watch.settle()
        watch.show_messages()
        self.chosen = gdb.selected_thread()
        if watch.over or isinstance(event, gdb.BreakpointEvent) or getattr(event, "stop_signal", "") == "SIGTRAP":
            return      # gdb has looked at the breakpoints there
        with Held():
            if isinstance(event, gdb.SignalEvent) or not watch.hits.was_last(self.chosen):
                watch.tell_early()

    def prompt(self):
        self.watch.settle()
        self.watch.show_messages()
        self.chosen = gdb.selected_thread()

    def continued(self, _):
        if self.chosen is not None and self.chosen.is_valid():
            self.watch.hits.continued(self.chosen)
        gdb.events.cont.disconnect(self.continued)
        self.connected = [(r, h) for r, h in self.connected if h != self.continued]

    def quitting(self, _):
        self.watch.finish("end")
