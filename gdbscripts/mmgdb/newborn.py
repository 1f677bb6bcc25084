# SPDX-License-Identifier: MIT
"""newborn: children that gdb has not looked at yet.

When the process stops, one of its threads may just have forked: the kernel has made gdb the tracer of the
child, which is stopped and has our traps in its copy of the code, but gdb has not handled that event yet.
When it does, it removes from the child the breakpoints that it has then. If ours were deleted before, or if
gdb detaches from the process first, the child dies of them. So they are removed here, at each stop and before
any of them is deleted; that gdb does so again, later, does no harm. A child of vfork has no copy: it is left
alone.
"""
import os

from mmgdb import kernel
from mmgdb.target import traced_by_us

INT3 = b"\xcc"


def children(pid):
    """The children of all its threads."""
    try:
        threads = os.listdir("/proc/%d/task" % pid)
    except OSError:
        return []
    found = []
    for tid in threads:
        try:
            with open("/proc/%d/task/%s/children" % (pid, tid)) as words:
                found += [int(word) for word in words.read().split()]
        except OSError:
            pass
    return found


def clean(pid, known, places):
    """Remove the traps at PLACES, (address, code), from the children of PID that gdb traces and does not have
    as KNOWN inferiors."""
    for child in children(pid):
        if child not in known and traced_by_us(child) and not kernel.same_memory(pid, child):
            restore(child, places)


def restore(pid, places):
    """Write back the first byte of the code wherever there is a trap. OSError: the process is gone, or has
    nothing at the address."""
    try:
        memory = os.open("/proc/%d/mem" % pid, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return
    try:
        for address, code in places:
            try:
                if os.pread(memory, 1, address) == INT3:
                    os.pwrite(memory, code[:1], address)
            except OSError:
                pass
    finally:
        os.close(memory)
