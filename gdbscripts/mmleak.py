# SPDX-License-Identifier: MIT
# mmleak: the leak watch of mmattach from inside a gdb session.
#
#     (gdb) source gdbscripts/mmleak.py
#     (gdb) help mmleak
#
# This file only checks that this gdb has what is needed, and loads mmgdb/, where the commands are. A gdb
# without Python reads the file as gdb commands: then the next line is gdb's command "python", which reports
# that gdb has no Python. In Python it is an assignment without use.
python = "is needed: a gdb that has none says so here"

import os
import sys

import gdb

if sys.version_info < (3, 5):
    raise gdb.GdbError("mmleak needs a gdb with Python 3.5 or newer; this one has Python %d.%d" %
                       sys.version_info[:2])

# Not __file__: if a Python script sources this file, __file__ is still the name of that script.
sys.path.insert(0, os.path.dirname(os.path.abspath(os.path.expanduser(sys._getframe().f_code.co_filename))))
try:
    import mmgdb.commands
finally:
    del sys.path[0]
