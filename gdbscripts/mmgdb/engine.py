# SPDX-License-Identifier: MIT
"""engine: the process behind a watch, `mmattach gdb`, and its control socket.

It is started once per watch, in a session of its own, so that no Ctrl-C of the terminal reaches it. It is gone when its
sockets say so: gdb waits for all children and may take its exit status before us.
"""
import os
import select
import signal
import socket
import subprocess
import tempfile
import time

import gdb

from mmgdb import target

REPLY_MAX = 1 << 16
PATIENCE_S = 5          # then it is looked after (Engine.look_after)
STALL_S = 30            # no answer to a request for so long: it hangs
LONG_S = 900            # to plan in a large process; to end a trace, with the names of all functions, on a slow disk


class Gone(Exception):
    """The engine has ended; its own messages say why."""


class Engine:
    """One of them, started. HITS (hits.Hits) is set by the watch before anything is asked."""

    def __init__(self, path, pid, memory, words):
        self.hits = None
        self.requests = 0           # how many: each has a number, as its reply
        self.said = tempfile.TemporaryFile(prefix="mmleak-")
        self.shown = 0              # how much of it the user has seen
        self.hits_sock, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control, control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        fds = theirs.fileno(), control.fileno(), memory
        try:
            self.process = subprocess.Popen(
                [path, "gdb", "--fds", "%d,%d,%d" % fds, "-p", str(pid)] + words, pass_fds=fds,
                stdin=subprocess.DEVNULL, stdout=self.said, stderr=self.said, start_new_session=True)
        except OSError as error:
            self.close()
            raise gdb.GdbError("cannot run %s: %s" % (path, error.strerror))
        finally:
            theirs.close()
            control.close()

    def ask(self, request):
        """Its answer to REQUEST; gdb.GdbError with its own words if it is an error. Gone if the engine is."""
        self.requests += 1
        number, ours = None, str(self.requests)
        try:
            self.control.send(("%s %s" % (ours, request)).encode("utf-8", "surrogateescape"))
        except OSError:
            raise Gone()
        while number != ours:       # what was given up by Ctrl-C is answered, too
            number, _, reply = self.receive(STALL_S if request == "status" else LONG_S).partition(" ")
        verdict, _, text = reply.partition(" ")
        if verdict == "error":
            raise gdb.GdbError(text)
        return text

    def receive(self, limit=STALL_S):
        """The next datagram of the control socket. Meanwhile the relay is served: the engine may wait for that."""
        end = time.monotonic() + limit
        while True:
            watched = [self.control] if self.hits.ended else [self.control, self.hits.sock]
            ready = select.select(watched, [], [], PATIENCE_S)[0]
            if not ready:
                self.look_after()
            if not ready and time.monotonic() > end:
                raise gdb.GdbError("mmattach does not answer for %d seconds" % limit)
            if self.hits.sock in ready:
                self.hits.serve_waiting()
            if self.control in ready:
                try:
                    reply = self.control.recv(REPLY_MAX)
                except OSError:
                    reply = b""
                if not reply:
                    raise Gone()
                return reply.decode("utf-8", "replace")

    def look_after(self):
        """It takes its time. If somebody has stopped it, it goes on; and a Ctrl-C counts by now, even where it was put off (signals.Held)."""
        if self.process.poll() is None and target.status(self.process.pid, "State").startswith("T"):
            os.kill(self.process.pid, signal.SIGCONT)
        if signal.sigtimedwait({signal.SIGINT}, 0):
            raise KeyboardInterrupt

    def messages(self):
        """The whole lines that it has said since last asked."""
        text = os.pread(self.said.fileno(), 1 << 20, self.shown)
        if self.process.poll() is None:
            text = text[:text.rfind(b"\n") + 1]
        self.shown += len(text)
        return text.decode("utf-8", "replace")

    def close(self):
        """Its sockets closed, it ends by itself if it has not already."""
        self.hits_sock.close()
        self.control.close()
