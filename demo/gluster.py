#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The target of doc/references.md: a GlusterFS mount of one process, in a folder of its own, with a
translator in it that forgets to release a dict in every tenth lookup (tests/real/targets/leaky_xlator.c), and
a client that uses the mount all the time. Needs root, GlusterFS, and `make real`.

Prints "ready PID", the process to watch. Ends on SIGTERM and then prints how many dicts were forgotten.
"""
import pathlib
import signal
import sys
import tempfile
import threading

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TOP / "tests/live"), str(TOP / "tests/real/recipes")]

from gluster import Gluster, type_of  # noqa: E402


def main():
    ending = threading.Event()
    for sig in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sig, lambda *_: ending.set())
    with tempfile.TemporaryDirectory(prefix="mm-demo-") as folder:
        ledger = pathlib.Path(folder, "ledger")
        options = {"ledger": ledger, "passing": type_of(TOP / "build/real/passing_xlator.so")}
        with Gluster(folder, layer=TOP / "build/real/leaky_xlator.so", options=options) as service:
            service.load(0.5)  # what is made only once
            print(f"ready {service.pid}", flush=True)
            while not ending.is_set():
                try:
                    service.load(0.2)
                except OSError:  # a shell's `kill %1` ends the mount together with us
                    if not ending.wait(1):
                        raise
        print(f"{ledger.read_text().count('dict ')} dicts were forgotten")


if __name__ == "__main__":
    main()
