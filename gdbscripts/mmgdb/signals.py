# SPDX-License-Identifier: MIT
"""signals: Ctrl-C, SIGCHLD, and stopping the process when a watch's duration is over.

A watch of a given duration ends in one of three ways. A busy process is stopped by its next hit
(hits.Hits.stop_now). An idle one must be interrupted. In non-stop mode gdb does that by itself. In all-stop
mode gdb's `interrupt` sends SIGINT to the process *group*, so to every process that was started with this
one, and a thread in sigwait would accept the SIGINT. So one thread is chosen that a SIGINT can only stop, and
the signal is sent to it alone; gdb sees it before the thread does, and does not deliver it.
"""
import _signal
import _thread
import os
import re
import signal
import threading

import gdb

from mmgdb import kernel

GRACE_S = 0.3           # for a hit, before an idle process is interrupted
SIGTIMEDWAIT = 128      # its system call number
# without those that the C library uses itself
EVERY = [s for s in range(1, signal.NSIG) if s not in (32, 33)]


def give_back():
    """Return to gdb a Ctrl-C that we caught, as if it came now. The function is written in C, so the
    exception is not raised in it."""
    gdb.post_event(_thread.interrupt_main)


class Held:
    """`with Held():` SIGINT is blocked inside the block. It may be raised at the end, when all in the block
    is complete."""

    def __enter__(self):
        self.mask = _signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))

    def __exit__(self, *_):
        _signal.pthread_sigmask(signal.SIG_SETMASK, self.mask)


def unblock_sigchld():
    """To be called at a prompt. gdb 13 blocks SIGCHLD while it waits for the process. If that wait ends with
    an error (a thread vanished, in an exec for instance), it stays blocked: after the next `continue` gdb
    would notice nothing of the process any more, and an exec that waits for gdb would never end."""
    _signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGCHLD,))


class Timer:
    """Calls RING in gdb's main thread after SECONDS, and again every GRACE_S until it is cancelled."""

    def __init__(self, seconds, ring):
        self.cancelled = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(seconds, ring), name="mmleak", daemon=True)
        # gdb's signals are for gdb's thread: a signal delivered to this thread would be lost for gdb.
        mask = _signal.pthread_sigmask(signal.SIG_BLOCK, EVERY)
        try:
            self.thread.start()
        finally:
            _signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def run(self, seconds, ring):
        while not self.cancelled.wait(seconds):
            gdb.post_event(ring)
            seconds = GRACE_S

    def cancel(self):
        self.cancelled.set()


def interrupt_is_ours():
    """Does gdb stop at a SIGINT without passing it to the process? (`info signals`: stop, print, pass)"""
    words = re.search(r"^SIGINT\s+(\S+)\s+\S+\s+(\S+)", gdb.execute("info signals SIGINT", to_string=True),
                      re.M)
    return bool(words) and words.groups() == ("Yes", "No")


def interrupt(pid):
    """Stop the process. False: that is not possible now without harm."""
    if gdb.parameter("non-stop"):
        gdb.execute("interrupt -a")
        return True
    if not interrupt_is_ours():
        return False
    for tid in sorted(map(int, os.listdir("/proc/%d/task" % pid))):
        if takes_sigint(pid, tid):
            return kernel.tgkill(pid, tid, signal.SIGINT)
    return False


def takes_sigint(pid, tid):
    """Would SIGINT stop this thread? Not if the thread blocks it, or waits for it in sigwait."""
    try:
        with open("/proc/%d/task/%d/status" % (pid, tid)) as status:
            blocked = int(re.search(r"^SigBlk:\s*(\S+)", status.read(), re.M).group(1), 16)
        with open("/proc/%d/task/%d/syscall" % (pid, tid)) as syscall:
            number = syscall.read().split()[0]
    except (OSError, AttributeError):
        return False
    return not blocked >> (signal.SIGINT - 1) & 1 and number != str(SIGTIMEDWAIT)
