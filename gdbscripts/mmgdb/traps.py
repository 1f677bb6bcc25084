# SPDX-License-Identifier: MIT
"""traps: the breakpoints of a watch.

They are internal: negative numbers, not in `info breakpoints`, not touched by `delete` or `disable`.

gdb resolves *ADDRESS anew in every program it has: as soon as there is a second inferior, each breakpoint
gets a location in that, too, at an address that means nothing there. Inserting it would write into another
program's code, or fail, and then no process can be continued. So all locations outside of the watched process
are disabled when they appear.
"""
import errno
import operator

import gdb

from mmgdb import newborn


class Trap(gdb.Breakpoint):
    """One breakpoint. SERVE is called for each hit, with no argument, and returns whether the process shall
    stop.

    gdb looks up `stop` and calls it. Both must be written in C: where a Python function begins to run, a
    pending Ctrl-C is raised before its first `try`, and the hit would be lost.
    """
    stop = property(operator.attrgetter("serve"))

    def __init__(self, site, address, code, serve):
        self.site, self.address, self.code, self.serve = site, address, code, serve
        super().__init__("*0x%x" % address, internal=True)
        self.silent = True


class Traps:
    """All of a watch, by site. PID: the process; NUMBERS: the inferiors in which they count."""

    def __init__(self, pid, numbers):
        self.pid = pid
        self.all = {}
        self.numbers = set(numbers)
        self.sorting = False

    def plant(self, site, address, code, serve):
        """0; -EILSEQ if other bytes than CODE are there, -EIO if it fails. A second call does nothing.

        gdb reads memory and resolves addresses in the selected inferior: if that is another one, nothing is
        planted.
        """
        trap = self.all.get(site)
        if trap is not None and trap.is_valid():
            return 0
        if gdb.selected_inferior().num not in self.numbers:
            return -errno.EIO
        try:
            found = bytes(gdb.selected_inferior().read_memory(address, len(code)))
            if found != code:
                return -errno.EILSEQ
            self.all[site] = in_c(lambda: Trap(site, address, code, serve))
            self.keep_to_ours(self.all[site])
        except (gdb.error, RuntimeError):
            return -errno.EIO
        return 0

    def forget(self, sites):
        """A running thread may fork before the last trap is deleted: such a child is cleaned, too."""
        traps = [self.all[site] for site in sites if site in self.all]
        self.clean_newborn(traps)
        for trap in traps:
            self.all.pop(trap.site, None)
            if trap.is_valid():
                trap.delete()
        self.clean_newborn(traps)

    def clean_newborn(self, traps=None):
        """To be called when the process has stopped (all traps), or for TRAPS that are being deleted."""
        traps = self.all.values() if traps is None else traps
        newborn.clean(self.pid, {i.pid for i in gdb.inferiors()},
                      [(trap.address, trap.code) for trap in traps])

    def remove_all(self):
        self.forget(list(self.all))

    def at(self, address):
        """The trap at ADDRESS, or None."""
        return next((t for t in self.all.values() if t.address == address), None)

    def count_in(self, number):
        """From now on the traps count in this inferior, too."""
        self.numbers = {number}
        for trap in self.all.values():
            self.keep_to_ours(trap)

    def modified(self, breakpoint):
        """gdb has changed a breakpoint: perhaps one of ours has a new location."""
        if isinstance(breakpoint, Trap) and not self.sorting:
            self.keep_to_ours(breakpoint)

    def keep_to_ours(self, trap):
        """Enable its locations in our processes only. Before gdb 13, Python has no locations, and nothing can
        be done here."""
        self.sorting = True
        try:
            for location in getattr(trap, "locations", ()):
                groups = location.thread_groups
                ours = groups is None or not self.numbers.isdisjoint(groups)
                if location.enabled != ours:
                    location.enabled = ours
        finally:
            self.sorting = False


def in_c(make):
    """MAKE(); if the language of the session has no such numbers (Modula-2), in that of C."""
    try:
        return make()
    except gdb.error:
        language = gdb.parameter("language")
    gdb.execute("set language c", to_string=True)
    try:
        return make()
    finally:
        gdb.execute("set language " + language, to_string=True)
