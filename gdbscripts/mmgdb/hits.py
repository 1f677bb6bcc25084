# SPDX-License-Identifier: MIT
"""hits: one hit: reported to the relay, and answered by it.

What one hit costs us: one ptrace call for the registers, one send, one recv, two calls to keep Ctrl-C out;
the rest is gdb's. The thread stays stopped until the relay's GO: meanwhile the relay reads its memory.

Ctrl-C can raise KeyboardInterrupt between any two bytecodes. A hit must still be reported exactly once, so:
  * each trap has a generator, and gdb calls its __next__: a pending KeyboardInterrupt is raised where the
    generator resumes, which is inside its `try`, and not at the start of a function, where it could not be
    caught;
  * SIGINT is blocked while the hit is reported. If it came before, nothing has been reported yet; if after,
    all has;
  * several Ctrl-Cs can come in a row: if one of them ended the generator, gdb would stop at each hit of that
    trap from then on;
  * the Ctrl-C is returned to gdb as if it came only now (signals.give_back).

The relay may send orders between a HIT and its GO (dlopen, return addresses), and, rarely, at any other time:
these wait in the socket until wait_for or serve_waiting reads them.
"""
import _signal
import collections
import errno
import os
import signal
import socket

import gdb

from mmgdb import frames, signals, target, wire
from mmgdb.registers import Registers
from mmgdb.traps import Traps

SILENCE_S = 5           # an engine that does not answer for so long is taken for dead
FRAMES_MAX = 256        # the relay accepts no more (attach/keeper/shared/wire.h)
THREADS_MAX = 4096      # includes threads that have ended, until a stop
CALLS_MAX = 4           # nested calls of functions by gdb
SIGINT = frozenset([signal.SIGINT])


class Hits:
    """SOCK: to the relay. OVER(why) is called once, when the relay ends the watch (why None) or does not
    answer."""
    __slots__ = ("sock", "pid", "traps", "over", "ended", "stop_now", "stopped", "depth", "early", "unasked",
                 "calls", "reported", "last", "same", "seq", "out", "inbox", "registers", "short", "in_stop",
                 "leftover")

    def __init__(self, sock, pid, number, over):
        self.sock = sock
        self.pid = pid                  # hits of other processes are not counted
        self.traps = Traps(pid, [number])
        self.over = over
        self.ended = False
        self.stop_now = False           # the next hit shall stop the process ...
        self.stopped = False            # ... and has
        self.depth = 0                  # frames from gdb's unwinder, 0: none
        self.last = {}                  # thread: its last hit as it was reported, see `same`
        self.early = {}                 # the same for reported hits that gdb may report once more (look)
        # thread: (last, unasked) of each position it will be back at after gdb has called a function in it
        self.calls = {}
        self.unasked = {}               # the same for hits that we reported before gdb did
        self.reported = 0               # the thread that gdb said had stopped
        self.seq = 0                    # of the last hit that was reported and answered
        self.in_stop = None             # the site whose hit is being reported; its trap cannot be deleted now
        self.leftover = []              # sites whose traps wait to be deleted for that reason
        self.out = bytearray(wire.HEAD.size + (len(wire.REGISTERS) + FRAMES_MAX) * wire.WORD)
        self.short = memoryview(self.out)[:wire.HEAD.size + len(wire.REGISTERS) * wire.WORD]
        self.same = self.short[8:]      # without the number: site, thread, registers
        self.inbox = bytearray(wire.MESSAGE_MAX)
        self.registers = Registers(self.out, wire.HEAD.size)
        limit = wire.struct.pack("ll", SILENCE_S, 0)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)

    # A hit

    def server(self, site, address):
        """Returns the function that gdb calls for the hits of one trap (traps.Trap); it returns whether the
        process shall stop."""
        generator = self.serve(site, address)
        next(generator)
        return generator.__next__

    def serve(self, site, address):
        """The generator behind `server`."""
        answer, told, taken = False, True, False
        mask, block, unblock = _signal.pthread_sigmask, signal.SIG_BLOCK, signal.SIG_UNBLOCK
        sigint, tell = SIGINT, self.tell
        while True:
            try:
                while True:
                    if taken:
                        mask(block, sigint)
                        if not told:
                            answer = tell(site, address)
                        told, taken = True, False
                        signals.give_back()
                        mask(unblock, sigint)
                    told = False
                    yield answer
                    mask(block, sigint)
                    answer = tell(site, address)
                    told = True
                    mask(unblock, sigint)
            except KeyboardInterrupt:
                # no other code here: the next Ctrl-C may be raised as soon as SIGINT is unblocked, and
                # outside of `try` it would end the generator
                taken = True

    def tell(self, site, address):
        """Report a hit of the selected thread. Returns whether the process shall stop. An error here must not
        end the generator while SIGINT is blocked."""
        try:
            return self.tell_hit(site, address)
        except Exception as error:
            self.in_stop = None
            self.end("a hit could not be reported, %s: %s" % (type(error).__name__, error))
            return False

    def tell_hit(self, site, address):
        pid, tid, _ = gdb.selected_thread().ptid
        if self.ended or pid != self.pid or target.replays() or not self.registers.read(tid, address):
            return False
        wire.HEAD.pack_into(self.out, 0, wire.HIT, self.seq + 1, site, tid)
        told = bytes(self.same)
        if self.unasked:
            self.unasked.pop(tid, None)
        if self.early and self.early.pop(tid, None) == told:
            return self.stop_now and self.shall_stop()
        self.in_stop = site
        try:
            self.sock.send(self.out[:self.add_frames()] if self.depth else self.short)
            self.wait_for(wire.GO, self.seq + 1)
            self.seq += 1
            self.last[tid] = told
            if len(self.last) > THREADS_MAX:
                self.forget_threads()
        except OSError as error:
            self.lost(error)
        self.in_stop = None
        return self.stop_now and self.shall_stop()

    def add_frames(self):
        """Add gdb's frames to the message. Returns its length."""
        pcs = frames.call_frames(min(self.depth, FRAMES_MAX))
        start = len(self.short)
        end = start + len(pcs) * wire.WORD
        words = memoryview(wire.struct.pack("%dQ" % len(pcs), *pcs)).cast("Q")
        memoryview(self.out)[start:end].cast("Q")[:] = words
        return end

    def shall_stop(self):
        if self.stop_now:
            self.stop_now = False
            self.stopped = True
            return True
        return False

    # The relay's messages

    def wait_for(self, kind, seq):
        """Obey the relay's messages until this one comes. OSError if the relay is gone or silent."""
        while True:
            length = self.sock.recv_into(self.inbox)
            if not length:
                raise ConnectionResetError(errno.ECONNRESET, "mmattach has ended")
            got, got_seq, value, _ = wire.HEAD.unpack_from(self.inbox)
            if got == kind and got_seq == seq:
                if value:
                    self.end(None)
                return
            self.obey(got, got_seq, value)

    def obey(self, kind, seq, value):
        if kind == wire.PLANT:
            results = [(site, self.traps.plant(site, address, code, self.server(site, address)))
                       for site, address, code in wire.plant_entries(self.inbox, value)]
            self.sock.send(wire.planted(seq, results))
        elif kind == wire.FORGET:
            self.forget(wire.site_numbers(self.inbox, value))
            self.sock.send(wire.head(wire.FORGOTTEN, seq))
        elif kind == wire.BYE:
            self.end(None)

    def forget(self, sites):
        """A trap must not be deleted in its own stop(), since gdb still uses the breakpoint afterwards: that
        one is deleted later."""
        if self.in_stop in sites:
            sites.remove(self.in_stop)
            self.leftover.append(self.in_stop)
            gdb.post_event(self.forget_leftover)
        self.traps.forget(sites)

    def forget_leftover(self):
        self.traps.forget(self.leftover)
        self.leftover = []

    def serve_waiting(self):
        """Obey orders that came between hits. Returns when there are no more, without waiting."""
        with signals.Held():
            self.serve_all()

    def serve_all(self):
        while not self.ended:
            try:
                length = self.sock.recv_into(self.inbox, 0, socket.MSG_DONTWAIT)
                if not length:
                    raise ConnectionResetError(errno.ECONNRESET, "mmattach has ended")
                self.obey(*wire.HEAD.unpack_from(self.inbox)[:3])
            except BlockingIOError:
                return
            except OSError as error:
                self.lost(error)

    # Between hits

    def send(self, message, fds=()):
        """Send END, EXEC, MOVED or THREAD_END. A relay that is gone is noticed elsewhere."""
        try:
            numbers = b"".join(fd.to_bytes(4, "little") for fd in fds)
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, numbers)] if fds else []
            self.sock.sendmsg([message], rights)
        except OSError:
            pass

    def look(self, thread, has_stopped):
        """The process is stopped, and THREAD (selected) is the one that would be continued. HAS_STOPPED: it
        has just stopped.

        If THREAD is at a breakpoint that it has not run into, but was stopped there by a signal, or when the
        watch began, gdb may step it over and report nothing: so its hit is reported now. All other threads
        run into the breakpoint they are at, even if the hit was reported already: by a step, or now, or
        because gdb was interrupted before it had stepped them over. Such a hit is recognized by the thread's
        registers, which have not changed. Only for the thread that gdb reported as stopped, and only if that
        one is continued, is it known that a reported hit does not come again.
        """
        tid = thread.ptid[1]
        if has_stopped:
            self.reported = tid
        self.forget_threads()
        self.after_calls()
        self.tell_early(tid)
        self.early = {one: told for one, told in self.last.items()
                      if (not (one == tid == self.reported) or self.unasked.get(one) == told)
                      and self.stands(one, told)}

    def tell_early(self, tid):
        trap = self.traps.at(gdb.newest_frame().pc())
        if trap is None or not self.registers.read(tid, trap.address):
            return
        wire.HEAD.pack_into(self.out, 0, wire.HIT, self.seq + 1, trap.site, tid)
        if self.same != self.last.get(tid):
            self.tell(trap.site, trap.address)
            self.unasked[tid] = self.last.get(tid)

    def before_call(self, tid):
        """gdb is about to call a function in the thread, which may hit traps. Afterwards the thread is back
        at its old position, with a hit that was reported."""
        told = self.last.get(tid)
        if told is not None and self.stands(tid, told):
            self.calls.setdefault(tid, collections.deque(maxlen=CALLS_MAX)).append(
                (told, self.unasked.get(tid)))

    def after_calls(self):
        """Find the threads that are back at their position before a call."""
        for tid, places in self.calls.items():
            back = next((i for i in reversed(range(len(places))) if self.stands(tid, places[i][0])), None)
            while back is not None and len(places) > back:
                self.last[tid], self.unasked[tid] = places.pop()

    def stands(self, tid, told):
        """Is the thread still where it hit, with the same registers?"""
        return self.registers.fetch(tid) and self.same[8:] == told[8:]

    def forget_threads(self):
        """At a stop, forget threads that have ended: not every gdb reports their end."""
        lives = {thread.ptid[1] for inferior in gdb.inferiors() for thread in inferior.threads()}
        self.last = {tid: told for tid, told in self.last.items() if tid in lives}
        self.unasked = {tid: told for tid, told in self.unasked.items() if tid in lives}
        self.calls = {tid: places for tid, places in self.calls.items() if tid in lives and places}

    # The end

    def lost(self, error):
        if error.errno == errno.EAGAIN:
            self.end("mmattach does not answer for %d seconds" % SILENCE_S)
        else:
            self.end("mmattach has ended: " + os.strerror(error.errno or errno.ECONNRESET))

    def end(self, why):
        """From now on no hit counts. The traps are removed as soon as gdb allows."""
        if not self.ended:
            self.ended = True
            gdb.post_event(lambda: self.over(why))
