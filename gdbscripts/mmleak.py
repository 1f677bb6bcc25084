# SPDX-License-Identifier: MIT
# mmleak: the leak watch of mmattach from inside a gdb session.
#
#     (gdb) source gdbscripts/mmleak.py
#     (gdb) help mmleak
#
# This file is only the door: it finds out whether this gdb can do it, and loads mmgdb/, where the commands are.
# A gdb without Python takes the file for gdb commands. Then the next line is gdb's command "python", which
# says that there is no Python in it; for Python it is an assignment that nobody needs.
python = "is needed: a gdb that has none says so here"

import os
import sys

import gdb

if sys.version_info < (3, 5):
    raise gdb.GdbError("mmleak needs a gdb with Python 3.5 or newer; this one has Python %d.%d" % sys.version_info[:2])

sys.path.insert(0, os.path.dirname(os.path.abspath(os.path.expanduser(__file__))))
try:
    import mmgdb.commands
finally:
    del sys.path[0]
