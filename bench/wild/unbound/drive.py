# SPDX-License-Identifier: MIT
"""What asks a resolver, and the server that it asks in turn; for the entry bind as well."""
import os
import random
import socket
import struct
import threading
import time

TO, UPSTREAM = ("127.0.0.1", 5301), ("127.0.0.1", 5302)


def upstream():
    """A server that knows all names, for 20 to 60 seconds."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(UPSTREAM)
    while True:
        query, client = sock.recvfrom(4096)
        end = query.index(b"\0", 12) + 5
        ip = struct.pack("!HHHLH4s", 0xC00C, 1, 1, random.randint(20, 60), 4, os.urandom(4))
        answers = ip if query[end - 4:end - 2] == b"\0\1" else b""
        sock.sendto(query[:2] + b"\x85\x80" + struct.pack("!HHHH", 1, bool(answers), 0, 0) + query[12:end] + answers,
                    client)


random.seed(1)
threading.Thread(target=upstream, daemon=True).start()
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.settimeout(2)
served = failed = 0
while True:
    for _ in range(10):
        number = int(random.paretovariate(0.3)) % 1000000
        name = b"".join(b"%c%s" % (len(part), part) for part in (b"host%d" % number, b"example", b"org"))
        try:
            sock.sendto(struct.pack("!HHHHHH", number % 65536, 0x100, 1, 0, 0, 0) + name + b"\0\0\1\0\1", TO)
            while struct.unpack("!H", sock.recv(4096)[:2])[0] != number % 65536:
                pass
            served += 1
        except OSError:
            failed += served > 0
            time.sleep(0.1)
    with open("served.new", "w") as file:
        file.write(f"{served} {failed}\n")
    os.rename("served.new", "served")
    time.sleep(0.05)
