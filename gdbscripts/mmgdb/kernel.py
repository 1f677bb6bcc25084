# SPDX-License-Identifier: MIT
"""kernel: the system calls that Python has no names for. A gdb without ctypes does without them: they fail."""
try:
    import ctypes
except ImportError:
    ctypes = None

TGKILL, KCMP = 234, 312     # x86-64
KCMP_VM = 1
PTRACE_GETREGS = 12


def syscall(number, *arguments):
    return ctypes.CDLL(None).syscall(number, *arguments) if ctypes else -1


def tgkill(pid, tid, signal):
    """Whether that one thread has got the signal."""
    return syscall(TGKILL, pid, tid, signal) == 0


def same_memory(one, other):
    """Do two processes share it, as a child of vfork does with its parent?"""
    return syscall(KCMP, one, other, KCMP_VM, 0, 0) == 0


def getregs(out, offset):
    """A function of a thread's id that has the kernel write its registers into OUT at OFFSET: 0 if it has. None without ctypes.

    It is called for each hit: the argument types are converted beforehand, and the lock of Python is not given away.
    """
    if not ctypes:
        return None
    ptrace = ctypes.PyDLL(None).ptrace
    ptrace.restype = ctypes.c_long
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    where = ctypes.addressof(ctypes.c_char.from_buffer(out, offset))
    return lambda tid: ptrace(PTRACE_GETREGS, tid, None, where)
