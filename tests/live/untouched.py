# SPDX-License-Identifier: MIT
"""What must be true of a process that is not watched: it is as we found it.

Alive, no thread traced, stopped or running as before, and every code byte in memory equal to the file's.
"""
import os
import pathlib

from harness import comm, wait_for

SAMPLE = 8  # differing bytes to name in a message


def threads(pid):
    try:
        return [int(t) for t in os.listdir(f"/proc/{pid}/task")]
    except FileNotFoundError:
        return []


def status_field(pid, tid, name):
    """A field of the thread's status; None if the thread is gone."""
    try:
        for line in pathlib.Path(f"/proc/{pid}/task/{tid}/status").read_text().splitlines():
            if line.startswith(name + ":"):
                return line.split(":", 1)[1].strip()
    except (FileNotFoundError, ProcessLookupError):
        pass
    return None


def tracers(pid):
    """The pids of its tracers; empty if there is none."""
    found = {status_field(pid, tid, "TracerPid") for tid in threads(pid)}
    return {int(t) for t in found - {None, "0"}}


def stopped(pid):
    """All its threads are stopped by job control (by a tracer or not)."""
    states = [status_field(pid, tid, "State") for tid in threads(pid)]
    return all(s is None or s[0] in "Tt" for s in states)


def state_letters(pid):
    return {s[0] for s in (status_field(pid, tid, "State") for tid in threads(pid)) if s}


def folder(pid):
    """Where to read its memory: a leader that has ended has none, but the other threads still do."""
    alive = [tid for tid in threads(pid) if (status_field(pid, tid, "State") or "Z")[0] not in "ZX"]
    return f"/proc/{pid}/task/{alive[0]}"


def code_mappings(pid):
    """(address, end, file offset, path to read the file by) of each executable mapping of a file."""
    for line in pathlib.Path(f"{folder(pid)}/maps").read_text().splitlines():
        span, perms, offset, _, inode, *path = line.split(maxsplit=5)
        if "x" not in perms or inode == "0" or not path:
            continue
        lo, hi = (int(x, 16) for x in span.split("-"))
        exact = f"/proc/{pid}/map_files/{lo:x}-{hi:x}"
        yield lo, hi, int(offset, 16), exact if os.access(exact, os.R_OK) else path[0]


def differing(address, memory, file):
    for i, (m, f) in enumerate(zip(memory, file)):
        if m != f:
            yield address + i, m, f


def read_memory(mem, at, n):
    """A read may be short: what is behind it must not look unchanged."""
    mem.seek(at)
    memory = b""
    while len(memory) < n and (more := mem.read(n - len(memory))):
        memory += more
    return memory


def code_differences(pid):
    """(address, byte in memory, byte in the file) wherever code differs from its file."""
    found = []
    with open(f"{folder(pid)}/mem", "rb", buffering=0) as mem:
        for lo, hi, offset, path in code_mappings(pid):
            with open(path, "rb") as f:
                f.seek(offset)
                file = f.read(hi - lo)
            memory = read_memory(mem, lo, hi - lo)[:len(file)]
            if memory != file[:len(memory)]:
                found.extend(differing(lo, memory, file))
    return found


def assert_code_whole(pid, but=()):
    """Code is as in the files; @but are differences that existed before us."""
    wrong = [d for d in code_differences(pid) if d not in but]
    places = ", ".join(f"{a:#x} is {m:02x}, in the file {f:02x}" for a, m, f in wrong[:SAMPLE])
    assert not wrong, f"{len(wrong)} code bytes of {pid} ({comm(pid)}) differ: {places}"


def assert_untraced(pid):
    assert not tracers(pid), f"{pid} ({comm(pid)}) is traced by {[(t, comm(t)) for t in tracers(pid)]}"


def assert_untouched(victim, stopped_before=False, but=()):
    """@victim is alive and as it was before we attached."""
    assert victim.alive(), f"the victim died: status {victim.process.returncode}, {victim.said()}"
    assert_untraced(victim.pid)
    assert_code_whole(victim.pid, but)
    if stopped_before:
        # between the tracer's stop and its own stop a thread runs in the kernel for a moment

        wait_for(lambda: state_letters(victim.pid) == {"T"}, "it is stopped, as it was before", 1.0)
    else:
        assert not state_letters(victim.pid) & {"T", "t"}, "a thread was left stopped"


def wait_untraced(pid, limit):
    """It is not traced any more, within @limit seconds."""
    wait_for(lambda: not tracers(pid), f"{pid} is not traced any more", limit)
