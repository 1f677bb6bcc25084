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

watch = None        # the one that goes on
trace = None        # of the last one that is over
folder = None       # of what is ours on the disk, while gdb lives
count = 0


def needed():
    """The watch that goes on."""
    if watch is None:
        raise gdb.GdbError("nothing is being watched; `mmleak start` begins")
    return watch


def start(options):
    """Begin to watch the selected process."""
    global watch
    if watch is not None:
        raise gdb.GdbError("%d is being watched already; `mmleak stop` ends that, `mmleak reset` forgets what was counted" % watch.pid)
    path = program.find()
    inferior = target.check()
    options = words.expand_home(options)
    place = words.value_of(options, "-o", "--output")
    if place is None:
        place = new_trace()
        options = ["-o", place] + options
    begun = Watch(path, inferior, options, os.path.abspath(place), over)
    said = begun.start()
    watch = begun
    begun.show_messages()
    gdb.write("watching %d, %s; `continue` lets it run\n" % (begun.pid, said))


def over(ended):
    """A watch has come to its end. One that has never begun leaves what there was."""
    global watch, trace
    if watch is ended:
        watch = None
        trace = ended.trace


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
    """gdb lets the process go, and the engine takes it."""
    handed = needed()
    if gdb.selected_inferior().num != handed.number:
        raise gdb.GdbError("select the watched process first: `inferior %d`" % handed.number)
    since = handed.lift_for_hand_over()
    gdb.execute("detach")
    request = "hand-over %d %s" % (since, duration)
    try:
        said = handed.ask(request.strip())
    finally:
        keep(handed)
        handed.finish(None)
    gdb.write("%s: mmattach (%d) goes on without gdb%s; `kill -INT %d` ends it, then `mmattach report %s`\n" %
              (said, handed.engine.process.pid, " for " + duration if duration else "", handed.engine.process.pid, handed.trace))


# Traces

def own_folder():
    global folder
    if folder is None:
        place = parameters.trace_dir.value
        folder = tempfile.mkdtemp(prefix="mmleak-", dir=os.path.expanduser(place) if place else None)
    return folder


@atexit.register
def clean():
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def new_trace():
    """A name for the trace of a new watch; the last one's, if it was ours, goes."""
    global count, trace
    if trace is not None and folder is not None and os.path.dirname(trace) == folder:
        os.unlink(trace)
        trace = None
    count += 1
    return os.path.join(own_folder(), "watch-%d.mmt" % count)


def keep(handed):
    """The engine goes on writing there after gdb's end."""
    global folder
    if folder is not None and os.path.dirname(handed.trace) == folder:
        folder = None


class Snapshot:
    """`with Snapshot() as path:` a whole trace of what was seen so far, or of the watch that is over."""

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
    inferior = gdb.selected_inferior()
    if inferior.pid and not target.traced_by_us(inferior.pid):
        return ("nothing was watched, and this is no process that could be: a core file, or a remote one\n"
                "a trace that was saved while a process lived is reported by `mmattach report TRACE`")
    return "nothing was watched yet; `mmleak start` begins"


def save(name):
    """The trace, whole, as a file of the user's."""
    name = os.path.abspath(os.path.expanduser(name))
    if watch is not None:
        watch.ask("save " + name)
        watch.show_messages()
    elif trace is None:
        raise gdb.GdbError(nothing_seen())
    elif not (os.path.exists(name) and os.path.samefile(name, trace)):
        copy(trace, name)
    gdb.write("saved: %s\n" % name)


def copy(source, name):
    """As mmattach writes traces: for the user alone."""
    try:
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(source, "rb") as data, os.fdopen(fd, "wb") as out:
            shutil.copyfileobj(data, out)
    except OSError as error:
        raise gdb.GdbError("cannot save %s: %s" % (name, error.strerror))
