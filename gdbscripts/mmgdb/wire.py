# SPDX-License-Identifier: MIT
"""wire: the messages between gdb and the engine's relay, as bytes.

Datagrams, little endian; each begins with kind, seq, value, tid (attach/keeper/shared/wire.h is the same in
C). Nothing here knows gdb.
"""
import struct

# gdb to relay
HIT, PLANTED, FORGOTTEN, END, EXEC, MOVED, THREAD_END = range(1, 8)
# relay to gdb
GO, PLANT, FORGET, BYE = range(101, 105)

HEAD = struct.Struct("<IIII")           # kind, seq, value, tid
PLANT_ENTRY = struct.Struct("<IIQ16s")  # site, nbytes, address, the bytes there
RESULT = struct.Struct("<Ii")           # site, 0 or -errno
SITE = struct.Struct("<I")
WORD = 8

# struct user_regs_struct, in its order.
REGISTERS = ("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss "
             "fs_base gs_base ds es fs gs").split()
RIP = REGISTERS.index("rip")
EFLAGS = REGISTERS.index("eflags")

EXACT = 1 << 63         # in a frame's pc: it is the thread's current pc, not a return address
MESSAGE_MAX = 1 << 18   # larger than any datagram of a socket


def head(kind, seq=0, value=0, tid=0):
    return HEAD.pack(kind, seq, value, tid)


def plant_entries(message, count):
    """The entries of a PLANT: (site, address, bytes) each."""
    for i in range(count):
        site, nbytes, address, code = PLANT_ENTRY.unpack_from(message, HEAD.size + i * PLANT_ENTRY.size)
        yield site, address, code[:nbytes]


def site_numbers(message, count):
    """The sites of a FORGET."""
    return [SITE.unpack_from(message, HEAD.size + i * SITE.size)[0] for i in range(count)]


def planted(seq, results):
    """The answer to a PLANT; RESULTS are (site, 0 or -errno)."""
    return head(PLANTED, seq, len(results)) + b"".join(RESULT.pack(*r) for r in results)
