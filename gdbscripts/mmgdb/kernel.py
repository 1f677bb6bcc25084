# SPDX-License-Identifier: MIT
"""kernel: the system calls that Python has no names for. In a gdb without ctypes they fail, and the callers
do without."""
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
    """Returns whether that one thread has been sent the signal."""
    return syscall(TGKILL, pid, tid, signal) == 0


def same_memory(one, other):
    """Do two processes share their memory, as a child of vfork and its parent do?"""
    return syscall(KCMP, one, other, KCMP_VM, 0, 0) == 0


def getregs(out, offset):
    """A function of a thread's id that makes the kernel write its registers into OUT at OFFSET: 0 on success.
    None without ctypes.

    It is called for each hit: so the argument types are converted beforehand, and Python's global lock is not
    released.
    """
    if not ctypes:
        return None
    ptrace = ctypes.PyDLL(None).ptrace
    ptrace.restype = ctypes.c_long
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    where = ctypes.addressof(ctypes.c_char.from_buffer(out, offset))
    return lambda tid: ptrace(PTRACE_GETREGS, tid, None, where)
