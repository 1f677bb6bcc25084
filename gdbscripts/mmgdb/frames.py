# SPDX-License-Identifier: MIT
"""frames: the stack as gdb's own unwinder sees it, for `set mmleak unwinder gdb`."""
import gdb

from mmgdb import wire


def call_frames(limit):
    """pcs of the selected thread, innermost first, at most LIMIT: of real frames only, not of inlined
    functions."""
    pcs, exact = [], True
    try:
        frame = gdb.newest_frame()
        while frame is not None and len(pcs) < limit:
            if frame.type() != gdb.INLINE_FRAME:
                pcs.append(frame.pc() | (wire.EXACT if exact else 0))
                exact = frame.type() == gdb.SIGTRAMP_FRAME
            frame = frame.older()
    except gdb.error:
        pass    # gdb cannot unwind further
    return pcs
