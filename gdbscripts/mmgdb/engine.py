# SPDX-License-Identifier: MIT
"""engine: the process behind a watch, `mmattach gdb`, and its control socket.

It is started once per watch, in a session of its own, so that no Ctrl-C of the terminal reaches it. It is gone when its
sockets say so: gdb waits for all children and may take its exit status before us.
"""
import os
import select
import socket
import subprocess
import tempfile

import gdb

REPLY_MAX = 1 << 16
STALL_S = 30            # no answer to a request for so long: it hangs
LONG_S = 900            # to plan in a large process; to end a trace, with the names of all functions, on a slow disk


class Gone(Exception):
    """The engine has ended; its own messages say why."""


class Engine:
    """One of them, started. HITS (hits.Hits) is set by the watch before anything is asked."""

    def __init__(self, path, pid, memory, words):
        self.hits = None
        self.owed = 0               # replies to requests that were given up
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
        try:
            self.control.send(request.encode("utf-8", "surrogateescape"))
        except OSError:
            raise Gone()
        self.owed += 1
        while self.owed:
            reply = self.receive(STALL_S if request == "status" else LONG_S)
            self.owed -= 1
        verdict, _, text = reply.partition(" ")
        if verdict == "error":
            raise gdb.GdbError(text)
        return text

    def receive(self, limit=STALL_S):
        """The next datagram of the control socket. Meanwhile the relay is served: the engine may wait for that."""
        while True:
            watched = [self.control] if self.hits.ended else [self.control, self.hits.sock]
            ready = select.select(watched, [], [], limit)[0]
            if not ready:
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
