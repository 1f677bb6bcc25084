# SPDX-License-Identifier: MIT
"""target: may the selected process be watched? And does it still exist?

For a process that gdb itself traces on this machine, /proc names gdb as the tracer. A core file has no
process, and a remote target is traced by gdbserver: so this one check tells them apart, with every gdb.
"""
import os
import re
import struct

import gdb

ELF64, X86_64 = 2, 62


def status(pid, key):
    """A line of /proc/PID/status, "" if the process is gone."""
    try:
        with open("/proc/%d/status" % pid, errors="replace") as lines:
            found = re.search(r"^%s:\s*(.*)$" % key, lines.read(), re.M)
            return found.group(1) if found else ""
    except OSError:
        return ""


def traced_by_us(pid):
    return status(pid, "TracerPid") == str(os.getpid())


def parent(pid):
    return int(status(pid, "PPid") or 0)


def alive(pid):
    """Is the process alive? A zombie is not."""
    return status(pid, "State")[:1] not in ("", "Z", "X")


def replays():
    """Are the current events replayed from a recording (`record`)? Then they have happened, and were counted,
    before."""
    return gdb.current_recording() is not None and "Replay mode" in gdb.execute("info record", to_string=True)


def check():
    """The selected inferior, if it can be watched. Otherwise gdb.GdbError, with what can be done instead."""
    inferior = gdb.selected_inferior()
    if not inferior.pid:
        raise gdb.GdbError("there is no process to watch: `start` the program, or `attach PID`")
    refuse_other_kinds(inferior)
    refuse_other_machines(inferior.pid)
    if gdb.current_recording():
        raise gdb.GdbError(
            "the process is being recorded; `record stop` first: what is replayed would be counted twice")
    thread = gdb.selected_thread()
    if thread is None or not thread.is_stopped():
        raise gdb.GdbError(
            "the process is running: stop it first (`interrupt`), then `mmleak start`, then `continue`")
    return inferior


def refuse_other_kinds(inferior):
    """Refuse what is not a process of this machine traced by gdb itself."""
    if traced_by_us(inferior.pid):
        return
    kind = getattr(getattr(inferior, "connection", None), "type", "core file, or a remote target")
    if kind == "core":
        raise gdb.GdbError(
            "this is a core file: nothing happens in it any more that could be watched\n"
            "a trace that was saved while the process lived is reported by `mmattach report TRACE`")
    raise gdb.GdbError(
        "this is a %s; mmleak is for processes on this machine that gdb itself has attached to or started\n"
        "on the machine of the process: `mmattach -p PID`, or gdb there" %
        ("remote target" if "remote" in kind and "core" not in kind else kind))


def refuse_other_machines(pid):
    try:
        with open("/proc/%d/exe" % pid, "rb") as exe:
            elf = exe.read(20)
        kind, machine = elf[4], struct.unpack_from("<H", elf, 18)[0]
    except (OSError, IndexError, struct.error):
        return      # the engine checks this, too
    if (kind, machine) != (ELF64, X86_64) or os.uname().machine != "x86_64":
        raise gdb.GdbError("only 64-bit programs for x86-64 can be watched, and this is none")


def open_memory(pid):
    """Open /proc/PID/mem. The tracer may always do that."""
    try:
        return os.open("/proc/%d/mem" % pid, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise gdb.GdbError("cannot open the memory of %d: %s" % (pid, error.strerror))


def has_gone(memory, address):
    """Is the address space of MEMORY gone, by exec or with the process? (Nothing mapped at ADDRESS is another
    error.)"""
    try:
        return not os.pread(memory, 1, address)
    except OSError:
        return False
