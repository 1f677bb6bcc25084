# SPDX-License-Identifier: MIT
"""engine: the process behind a watch, `mmattach gdb`, and its control socket.

It is started once per watch, in its own session, so that no Ctrl-C of the terminal reaches it. Its end is
noticed by its sockets: gdb waits for all children and may get its exit status before us.
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
TIMEOUT_S = 5          # after this time its state is checked (Engine.look_after)
STALL_S = 30            # if there is no answer to a request for so long, it hangs
# for planning in a large process, or ending a trace, with the names of all functions, on a slow disk
LONG_S = 900


class Gone(Exception):
    """The engine has ended; its own messages say why."""


class Engine:
    """A running engine. HITS (hits.Hits) is set by the watch before the first request."""

    def __init__(self, path, pid, memory, words):
        self.hits = None
        self.requests = 0           # how many: each has a number, and so has its reply
        self.said = tempfile.TemporaryFile(prefix="mmleak-")
        self.shown = 0              # how many bytes of it the user has seen
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
        """The answer to REQUEST; gdb.GdbError with the engine's text if it is an error. Gone if the engine is
        gone."""
        self.requests += 1
        number, ours = None, str(self.requests)
        try:
            self.control.send(("%s %s" % (ours, request)).encode("utf-8", "surrogateescape"))
        except OSError:
            raise Gone()
        while number != ours:       # requests that were given up by Ctrl-C are answered, too
            number, _, reply = self.receive(STALL_S if request == "status" else LONG_S).partition(" ")
        verdict, _, text = reply.partition(" ")
        if verdict == "error":
            raise gdb.GdbError(text)
        return text

    def receive(self, limit=STALL_S):
        """The next datagram of the control socket. Meanwhile the relay is served, because the engine may be
        waiting for it."""
        end = time.monotonic() + limit
        while True:
            watched = [self.control] if self.hits.ended else [self.control, self.hits.sock]
            ready = select.select(watched, [], [], TIMEOUT_S)[0]
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
        """The engine is slow to answer. If it has been stopped, continue it; and from now on a Ctrl-C
        interrupts the wait, even where it was blocked (signals.Held)."""
        if self.process.poll() is None and target.status(self.process.pid, "State").startswith("T"):
            os.kill(self.process.pid, signal.SIGCONT)
        if signal.sigtimedwait({signal.SIGINT}, 0):
            raise KeyboardInterrupt

    def messages(self):
        """The complete lines that it has written since the last call."""
        text = os.pread(self.said.fileno(), 1 << 20, self.shown)
        if self.process.poll() is None:
            text = text[:text.rfind(b"\n") + 1]
        self.shown += len(text)
        return text.decode("utf-8", "replace")

    def close(self):
        """Close its sockets: then it ends by itself, if it has not already."""
        self.hits_sock.close()
        self.control.close()
