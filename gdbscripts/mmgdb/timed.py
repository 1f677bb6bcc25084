# SPDX-License-Identifier: MIT
"""timed: let the process run for a given duration, then stop it (signals.py explains how)."""
import time

import gdb

from mmgdb import signals


class TimedRun:
    """`continue` for SECONDS, of WATCH."""

    def __init__(self, watch, seconds):
        self.watch, self.seconds = watch, seconds
        self.rings = 0
        self.interrupted = False    # we have stopped it ourselves
        self.reported = False

    def go(self):
        """Returns whether the process stopped because the time was over."""
        began = time.monotonic()
        timer = signals.Timer(self.seconds, self.ring)
        try:
            gdb.execute("continue -a" if gdb.parameter("non-stop") else "continue")
        finally:
            timer.cancel()
            self.watch.hits.stop_now = False
        by_us = self.interrupted or self.watch.hits.stopped
        self.watch.hits.stopped = False
        if not self.watch.over and not by_us:
            gdb.write("mmleak: the process has stopped after %.1f s of %g s; the watch goes on: `continue`, "
                      "`mmleak stop`, `mmleak report`\n" % (time.monotonic() - began, self.seconds),
                      gdb.STDERR)
        return by_us and not self.watch.over

    def ring(self):
        """The time is over: first wait for a hit; then interrupt."""
        hits = self.watch.hits
        if self.watch.over or hits.stopped or self.interrupted:
            return
        self.rings += 1
        if gdb.parameter("non-stop") or self.rings > 1:
            self.interrupted = self.running() and signals.interrupt(self.watch.pid)
            hits.stop_now = not self.interrupted
            self.complain()
        else:
            hits.stop_now = True

    def running(self):
        thread = gdb.selected_thread()
        return thread is None or thread.is_running()

    def complain(self):
        if not self.interrupted and not self.reported and self.running():
            self.reported = True
            gdb.write("mmleak: the time is over, but the process calls nothing that is watched, and SIGINT "
                      "would not stop it or is passed to it: it stops at its next such call, or by Ctrl-C\n",
                      gdb.STDERR)
