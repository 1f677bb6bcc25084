# SPDX-License-Identifier: MIT
"""program: finds and runs mmattach.

It must be of the same version as these scripts, because they exchange messages (wire.py). So it is looked for
beside them first.
"""
import os
import shutil
import subprocess

import gdb

from mmgdb import parameters

VERSION = "0.1"
# From the folder of this file to the program, in a source tree; `make install` writes the way between its
# folders here.
INSTALLED = "../../mmattach"
BESIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), INSTALLED)

checked = {}    # path: (mtime, version)


def find():
    """The path of the program. gdb.GdbError if there is none, or another version."""
    path = named() or (BESIDE if os.access(BESIDE, os.X_OK) else None) or shutil.which("mmattach")
    if not path:
        raise gdb.GdbError("cannot find the program mmattach, which does the work behind mmleak\n"
                           "install it, or say where it is: set mmleak program FILE")
    path = os.path.abspath(path)
    version = version_of(path)
    if version is None:
        raise gdb.GdbError("%s is not mmattach, or does not run" % path)
    if version != VERSION:
        raise gdb.GdbError(
            "%s is mmattach %s, but these scripts belong to %s: take both from the same place" %
            (path, version, VERSION))
    return path


def named():
    """The program that the user has named: no other is tried."""
    path = parameters.program.value or os.environ.get("MMATTACH")
    if path and not os.access(os.path.expanduser(path), os.X_OK):
        raise gdb.GdbError("%s: no such program (set mmleak program, or MMATTACH in the environment)" % path)
    return os.path.expanduser(path) if path else None


def version_of(path):
    """The version it reports; None if it is not mmattach."""
    mtime = os.stat(path).st_mtime_ns
    if checked.get(path, (0, ""))[0] != mtime:
        out = output([path, "--version"])[1].split()
        checked[path] = mtime, out[1] if len(out) > 1 and out[0] == "mmattach" else None
    return checked[path][1]


def output(words):
    """Run it to its end: (status, its stdout, its stderr)."""
    try:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
    except OSError as error:
        raise gdb.GdbError("cannot run %s: %s" % (words[0], error.strerror))
    with process:
        out, err = process.communicate()
    return process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


def run(*words):
    """`mmattach WORDS` for its output; its messages go to the user. gdb.GdbError if it fails."""
    status, out, err = output([find()] + list(words))
    if err:
        gdb.write(err, gdb.STDERR)
    if status and not out:
        raise gdb.GdbError("mmattach %s has failed" % words[0])
    return out
