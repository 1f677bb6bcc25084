# SPDX-License-Identifier: MIT
"""unwinders: no Python of gdb's own runs while gdb handles what happens in the process.

For each frame gdb asks the unwinders that are written in Python, by a Python function
(gdb._execute_unwinders), also when none is registered. A Ctrl-C that comes while that function runs is raised
in it, and gdb then drops the event it was about to handle: it shows its prompt, but a thread, and the child
that it has just forked, stay stopped for ever, and the other threads run. (gdb 13, without any script: 12 of
7,660 Ctrl-Cs while children were born; with this module, none of 7,801.) So as long as no unwinder is
registered, that function is replaced by one written in C: nothing is raised in C.
"""
import gdb

NAMES = "_execute_unwinders", "execute_unwinders"   # the second until gdb 11


def none_registered():
    try:
        places = [gdb, *gdb.progspaces(), *gdb.objfiles()]
        return not any(place.frame_unwinders for place in places)
    except AttributeError:
        return False


class Unwinders:
    """For one watch. `look` is called when an unwinder may have been registered: at a prompt, and after the
    scripts of a file were loaded."""

    def __init__(self):
        self.name = next((name for name in NAMES if hasattr(gdb, name)), None)
        self.asking = getattr(gdb, self.name) if self.name else None
        self.nothing = {}.get       # of a frame: None

    def look(self):
        if not self.name or getattr(gdb, self.name) not in (self.asking, self.nothing):
            return
        setattr(gdb, self.name, self.nothing if none_registered() else self.asking)

    def restore(self):
        if self.name and getattr(gdb, self.name) is self.nothing:
            setattr(gdb, self.name, self.asking)
