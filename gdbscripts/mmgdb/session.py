# SPDX-License-Identifier: MIT
"""session: the one watch of this gdb, or none, and the trace of the last one."""
import atexit
import os
import shutil
import tempfile
import time

import gdb

from mmgdb import parameters, program, target, words
from mmgdb.watch import Watch

watch = None        # the running one
trace = None        # of the last watch that is over,
trace_pid = 0       # and its process
folder = None       # our folder on the disk, as long as gdb runs
count = 0


def needed():
    """The running watch."""
    if watch is None:
        raise gdb.GdbError(nothing_watched())
    return watch


def start(options):
    """Begin to watch the selected process."""
    global watch
    if watch is not None:
        raise gdb.GdbError(
            "%d is being watched already; `mmleak stop` ends that, `mmleak reset` forgets what was counted" %
            watch.pid)
    path = program.find()
    inferior = target.check()
    options = words.expand_home(options)
    place = words.value_of(options, "-o", "--output")
    watch = Watch(path, inferior, options,
                  os.path.abspath(place) if place else new_trace(), place is not None, over)
    said = watch.start()
    watch.show_messages()
    gdb.write("watching %d, %s; `continue` lets it run\n" % (watch.pid, said))


def over(ended):
    """A watch has ended. If it never began, the earlier trace stays the last one."""
    global watch, trace, trace_pid
    watch = None
    if ended.ready:
        drop_trace()
        trace, trace_pid = ended.trace, ended.pid


def nothing_watched():
    if trace_pid:
        return "nothing is being watched now; the watch of %d is over: `mmleak report`" % trace_pid
    return "nothing is being watched; `mmleak start` begins"


def seen():
    """The process for which we have data."""
    return watch.pid if watch is not None else trace_pid


def stop():
    needed()
    began = watch.began
    watch.finish("end")
    gdb.write("watched for %.1f s; `mmleak report` says what was seen\n" % (time.monotonic() - began))


def reset():
    options = needed().options
    watch.finish("quit")
    start(options)


def hand_over(duration):
    """gdb detaches from the process, and the engine attaches to it."""
    handed = needed()
    if gdb.selected_inferior().num != handed.number:
        raise gdb.GdbError("select the watched process first: `inferior %d`" % handed.number)
    request = "hand-over %d %s" % (handed.lift_for_hand_over(), duration)
    try:
        gdb.execute("detach")
    except BaseException:
        handed.finish("end", "the process could not be let go, and the watch is over: `mmleak report`")
        raise
    try:
        said = handed.ask(request.strip())
    except gdb.GdbError as error:
        handed.finish(None)
        raise gdb.GdbError("mmattach cannot go on with %d: %s; the watch is over: `mmleak report`" %
                           (handed.pid, error))
    finally:
        # after a Ctrl-C no answer is read, but the engine continues all the same
        if not handed.over:
            keep(handed)
            handed.finish(None)
    gdb.write("%s: mmattach (%d) goes on without gdb%s; `kill -INT %d` ends it, then `mmattach report %s`\n" %
              (said, handed.engine.process.pid, " for " + duration if duration else "",
               handed.engine.process.pid, handed.trace))


# Traces

def own_folder():
    global folder
    if folder is None or not is_ours(folder):
        place = parameters.trace_dir.value
        try:
            folder = tempfile.mkdtemp(prefix="mmleak-", dir=os.path.expanduser(place) if place else None)
        except OSError as error:
            raise gdb.GdbError("there is no room for the trace: %s: %s (set mmleak trace-dir)" %
                               (error.filename, error.strerror))
    return folder


def is_ours(path):
    """Is it still there? Files in /tmp may be deleted after some days."""
    try:
        return os.lstat(path).st_uid == os.geteuid()
    except OSError:
        return False


@atexit.register
def clean():
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def new_trace():
    """A file name for the trace of a new watch."""
    global count
    count += 1
    return os.path.join(own_folder(), "watch-%d.mmt" % count)


def drop_trace():
    """Delete the last watch's trace, if it is one of ours."""
    if trace is not None and folder is not None and os.path.dirname(trace) == folder and os.path.exists(
            trace):
        os.unlink(trace)


def keep(handed):
    """Do not delete the folder: the engine continues writing there after gdb has ended."""
    global folder
    if folder is not None and os.path.dirname(handed.trace) == folder:
        folder = None


class Snapshot:
    """`with Snapshot() as path:` a complete trace of the watch so far, or of the watch that is over."""

    def __enter__(self):
        self.path = None
        if watch is None:
            if trace is None:
                raise gdb.GdbError(nothing_seen())
            return trace
        self.path = os.path.join(own_folder(), "now.mmt")
        watch.ask("save " + self.path)
        return self.path

    def __exit__(self, *_):
        if self.path and os.path.exists(self.path):
            os.unlink(self.path)


def nothing_seen():
    """The message if there is nothing to report; a process that can never be watched is another error."""
    inferior = gdb.selected_inferior()
    if inferior.pid:
        target.refuse_other_kinds(inferior)
    return "nothing was watched yet; `mmleak start` begins"


def save(name):
    """Save the complete trace to a file of the user's."""
    name = os.path.abspath(os.path.expanduser(name))
    if watch is not None:
        if is_same(name, watch.trace):
            raise gdb.GdbError("%s is what this watch itself writes; it is whole when the watch ends" % name)
        watch.ask("save " + name)
        watch.show_messages()
    elif trace is None:
        raise gdb.GdbError(nothing_seen())
    elif not is_same(name, trace):
        copy(trace, name)
    gdb.write("saved: %s\n" % name)


def is_same(one, other):
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)


def copy(source, name):
    """With the same access rights as traces written by mmattach: for the user alone."""
    try:
        # a pipe without a reader must not block gdb
        fd = os.open(name,
                     os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC,
                     0o600)
        with open(source, "rb") as data, os.fdopen(fd, "wb") as out:
            shutil.copyfileobj(data, out)
    except OSError as error:
        raise gdb.GdbError("cannot save %s: %s" % (name, error.strerror))
