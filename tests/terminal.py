# SPDX-License-Identifier: MIT
"""mmattach as the foreground job of a terminal of its own, whose screen is read as long as the test wants."""
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

LIMIT = 60.0


class Terminal:
    def __init__(self, *argv, columns=80, stderr=None, stdout=None, env=None):
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.mode = termios.tcgetattr(theirs)
        self.name = os.ttyname(theirs)
        environment = {**os.environ, "TERM": "xterm", **(env or {})}
        environment = {name: value for name, value in environment.items() if value is not None}
        self.process = subprocess.Popen([str(a) for a in argv], stdin=theirs, stdout=stdout or theirs,
                                        stderr=stderr or theirs, start_new_session=True, env=environment,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(theirs)
        self.text = b""

    def read(self, timeout=LIMIT):
        """False: nothing came, or it has ended."""
        if not select.select([self.ours], [], [], timeout)[0]:
            return False
        try:
            piece = os.read(self.ours, 65536)
        except OSError:     # the last process that had it open has ended
            return False
        self.text += piece
        return bool(piece)

    def wait_for(self, what):
        while what not in self.text:
            assert self.read(), f"no {what!r} in {self.text!r}"

    def read_for(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.read(left)

    def press(self, key):
        os.write(self.ours, key)

    def end(self):
        """Its exit status; everything that it has printed is in text."""
        while self.read():
            pass
        return self.process.wait(LIMIT)

    def plain(self):
        return self.text.replace(b"\r\n", b"\n")

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self.ours)
