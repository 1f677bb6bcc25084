#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""denied.py NUMBER,... PROGRAM ARG...: PROGRAM in a sandbox: a seccomp filter answers these system calls with EPERM, as
profiles of containers do."""
import ctypes
import errno
import os
import struct
import sys

LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06  # of the number; to it; ...
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
PR_SET_SECCOMP, SECCOMP_MODE_FILTER, PR_SET_NO_NEW_PRIVS = 22, 2, 38


def instruction(code, yes, no, value):
    return struct.pack("HBBI", code, yes, no, value)


def deny(numbers):
    program = instruction(LOAD, 0, 0, 0)
    for i, number in enumerate(numbers):
        program += instruction(EQUAL, len(numbers) - i, 0, number)
    program += instruction(RETURN, 0, 0, ALLOW) + instruction(RETURN, 0, 0, ERRNO | errno.EPERM)
    held = ctypes.create_string_buffer(program)
    described = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(held)))
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() and libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        sys.exit("denied.py: PR_SET_NO_NEW_PRIVS failed")
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(described), 0, 0):
        sys.exit(f"denied.py: PR_SET_SECCOMP: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    deny([int(number) for number in sys.argv[1].split(",")])
    os.execvp(sys.argv[2], sys.argv[2:])
