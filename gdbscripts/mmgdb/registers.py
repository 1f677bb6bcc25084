# SPDX-License-Identifier: MIT
"""registers: those of the thread that has hit, in the kernel's order, written directly into the message.

gdb's main thread is the tracer, so it may ask the kernel itself: one call for all registers (13 us; gdb's own
way takes 130). The kernel's answer is used only if its rip is the breakpoint's address, which gdb has
restored by then; otherwise, or without ctypes, gdb is asked for one register after the other.

A repeated hit is recognized by its registers (hits.Hits.look), so they must not contain anything that can
differ between two reads of a thread that has not moved: the processor sets the resume flag if a fault has
interrupted an instruction (one that had to be paged in, or whose page was moved), and clears it at a
breakpoint. The resume flag and the trap flag are left out.
"""
import gdb

from mmgdb import kernel, wire

U64 = (1 << 64) - 1
TRAP_FLAG, RESUME_FLAG = 1 << 8, 1 << 16
LASTING = U64 & ~(TRAP_FLAG | RESUME_FLAG)


class Registers:
    """Reads into OUT, a bytearray, from OFFSET on."""
    __slots__ = ("read", "words", "getregs")

    def __init__(self, out, offset):
        self.words = memoryview(out)[offset:offset + len(wire.REGISTERS) * wire.WORD].cast("Q")
        self.getregs = kernel.getregs(out, offset)
        self.read = self.read_by_kernel if self.getregs else self.read_by_gdb

    def fetch(self, tid):
        """Read those of TID from the kernel. False: the kernel cannot be asked."""
        if self.getregs is None or self.getregs(tid):
            return False
        self.words[wire.EFLAGS] &= LASTING
        return True

    def read_by_kernel(self, tid, address):
        """Read those of TID, which is at ADDRESS. False: they cannot be read; the hit does not count."""
        if not self.fetch(tid) or self.words[wire.RIP] != address:
            return self.read_by_gdb(tid, address)
        return True

    def read_by_gdb(self, tid, address):
        """The same for gdb's selected thread."""
        try:
            frame = gdb.newest_frame()
        except gdb.error:
            return False    # killed while stopped
        for i, name in enumerate(wire.REGISTERS):
            self.words[i] = self.value(frame, name)
        self.words[wire.RIP] = address
        self.words[wire.EFLAGS] &= LASTING
        return True

    @staticmethod
    def value(frame, name):
        try:
            return int(frame.read_register(name).cast(gdb.lookup_type("unsigned long"))) & U64
        except (gdb.error, ValueError):
            return 0    # orig_rax, fs_base: not shown by every gdb
