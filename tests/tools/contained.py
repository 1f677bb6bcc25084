#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""contained.py ROOT PROGRAM ARG...: the rest of what makes a container, from inside its new namespaces: ROOT, with /proc
mounted in it, becomes the root directory, and nothing of the old one is left."""
import ctypes
import os
import sys

MS_BIND, MS_REC, MS_PRIVATE, MNT_DETACH, SYS_PIVOT_ROOT = 0x1000, 0x4000, 0x40000, 2, 155
LIBC = ctypes.CDLL(None, use_errno=True)


def check(result, what):
    if result:
        sys.exit(f"contained.py: {what}: {os.strerror(ctypes.get_errno())}")


def mount(source, target, kind, flags):
    check(LIBC.mount(source, target, kind, flags, None), f"mount {target}")


def main():
    root = os.fsencode(sys.argv[1])
    mount(None, b"/", None, MS_REC | MS_PRIVATE)
    mount(root, root, None, MS_BIND | MS_REC)
    mount(b"proc", root + b"/proc", b"proc", 0)
    os.chdir(root)
    check(LIBC.syscall(SYS_PIVOT_ROOT, b".", b"."), "pivot_root")
    check(LIBC.umount2(b".", MNT_DETACH), "umount")
    os.chdir("/")
    os.execv(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
