# SPDX-License-Identifier: MIT
"""redis-server, which listens on a unix socket only, and keeps nothing on disk."""
import socket

from service import Service


class Redis(Service):
    needs = ["redis-server"]

    def begin(self):
        self.socket = None
        path = self.folder / "socket"
        process = self.start("redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no",
                             "--dir", self.folder)
        self.wait_ready(lambda: self.connect(path), "redis listens")
        return process

    def connect(self, path):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(30)
        try:
            s.connect(str(path))
        except OSError:  # not there, or does not listen yet
            s.close()
            return False
        self.socket = s
        return True

    def finish(self):
        if self.socket:
            self.socket.close()

    def command(self, text):
        """An inline command; returns the first line of its answer."""
        self.socket.sendall(text.encode() + b"\r\n")
        answer = b""
        while not answer.endswith(b"\r\n"):
            answer += self.socket.recv(65536)
        return answer.split(b"\r\n")[0].decode()

    def work(self, turn):
        assert self.command(f"set key{turn % 100} {turn}") == "+OK"
