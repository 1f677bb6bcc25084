# SPDX-License-Identifier: MIT
"""Where the threads of a process are, in a few lines: for the message of a test whose victim does not answer.

Threads that are in the same state share one line.
"""
import os
import pathlib

SIGNALS = ("SigPnd", "ShdPnd", "SigBlk")


def read(path):
    """One line of /proc, or why it cannot be read."""
    try:
        return pathlib.Path(path).read_text(errors="replace").strip()
    except OSError as refused:
        return f"({refused.strerror})"


def status(folder):
    return dict(line.split(":\t", 1) for line in read(f"{folder}/status").splitlines() if ":\t" in line)


def call(folder):
    """The system call that the thread is in, with those arguments that are no addresses; "running"; -1 if it
    is stopped outside a system call."""
    words = read(f"{folder}/syscall").split()
    if not words or not words[0].isdigit():
        return " ".join(words)
    return f"call {words[0]}({', '.join(w if int(w, 16) < 1 << 20 else '*' for w in words[1:5])})"


def place(folder):
    """All about one thread except its number."""
    s = status(folder)
    if not s:
        return "gone"
    said = [s["Name"], s["State"].split()[0], f"in {read(f'{folder}/wchan')},", call(folder)]
    if s.get("TracerPid", "0") != "0":
        said.append(f"traced by {s['TracerPid']}")
    said += [f"{name} {int(s[name], 16):x}" for name in SIGNALS if int(s.get(name, "0"), 16)]
    return " ".join(said)


def ticks(folder):
    """Processor time used so far, user and system, in ticks."""
    fields = read(f"{folder}/stat").rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) if len(fields) > 12 else 0


def threads_of(pid):
    try:
        return sorted(int(t) for t in os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return []


def whereabouts(pid):
    """The states of @pid's threads, and of its children's, for which it may be waiting."""
    lines, waiting = [f"where its threads are (and ticks of the processor used), loadavg {read('/proc/loadavg')}:"], [pid]
    while waiting:
        process, places = waiting.pop(0), {}
        for tid in threads_of(process):
            folder = f"/proc/{process}/task/{tid}"
            places.setdefault(place(folder), []).append(f"{tid} ({ticks(folder)})")
            waiting += [int(c) for c in read(f"{folder}/children").split() if c.isdigit()]
        lines += [f"{process}: {where}: {', '.join(who)}" for where, who in places.items()] or [f"{process}: is gone"]
    return "\n".join(lines)
