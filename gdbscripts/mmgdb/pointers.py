# SPDX-License-Identifier: MIT
"""pointers: `mmleak who-points-at ADDR`: where in memory and registers there are pointers to a block.

The block is the one that contains ADDR, if the watch knows one; otherwise ADDR itself is looked for. Pointers
are found in registers, on stacks, in writable data and in other blocks. The last are of most interest for a
leak, for that other block may itself be the leak.
"""
import bisect
import json
import os

import gdb

from mmgdb import memory, program, session, target

LINES = 100             # more are counted, not listed
WORD_MASK = (1 << 64) - 1


def stopped_inferior():
    inferior, thread = gdb.selected_inferior(), gdb.selected_thread()
    if not inferior.pid:
        raise gdb.GdbError("there is no process whose memory could be searched")
    target.refuse_other_kinds(inferior)
    if thread is None or not thread.is_stopped():
        raise gdb.GdbError("the process is running: stop it first (`interrupt`)")
    return inferior


def value_of(text):
    try:
        return int(gdb.parse_and_eval(text).cast(gdb.lookup_type("unsigned long"))) & WORD_MASK
    except gdb.error as error:
        raise gdb.GdbError(str(error))


def who_points_at(text):
    inferior = stopped_inferior()
    address = value_of(text)
    low, high = describe(inferior.pid, address)
    threads = registers_of(inferior)
    found, swapped, read = search(inferior.pid, low, high)
    show_registers(threads, low, high)
    show_memory(inferior.pid, found, threads, low)
    total = len(found) + sum(low <= v < high for _, _, values in threads for _, v in values)
    gdb.write("%s found in %.1f MiB of memory and the registers of %d threads\n" %
              ("nothing was" if not total else "%d pointer%s" % (total, "" if total == 1 else "s"),
               read / 1048576, len(threads)))
    if swapped:
        gdb.write("%d pages are swapped out and were not looked at\n" % swapped)


def search(pid, low, high):
    fd = os.open("/proc/%d/mem" % pid, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return memory.search(pid, fd, low, high)
    finally:
        os.close(fd)


# The block

def blocks_at(pid, addresses):
    """{address: the report's JSON of the block} for those that lie in a block known to be live; of several
    the smallest."""
    if not addresses or session.seen() != pid:
        return {}
    with session.Snapshot() as trace:
        answer = json.loads(
            program.run("report", "--format", "json", "--block-at", ",".join("0x%x" % a for a in addresses),
                        trace))
    return {int(entry["address"], 16): min(entry["blocks"], key=lambda block: block["bytes"])
            for entry in answer["block_at"] if entry["blocks"]}


def block_text(block):
    site = next((frame["function"] for frame in block["stack"][block["wrappers"]:] if frame["function"]), "")
    group = " (group %d of family %s)" % (block["number"], block["family"]) if block["number"] else ""
    return "a block of %d bytes at %s%s%s" % (block["bytes"], block["address"],
                                              ", allocated by " + site if site else "", group)


def describe(pid, address):
    """Print what lies at ADDRESS. Returns the range of addresses whose pointers are looked for."""
    block = blocks_at(pid, [address]).get(address)
    if block is None:
        gdb.write("searching for pointers to 0x%x (no block is known there)\n" % address)
        return address, address + 1
    start = int(block["address"], 16)
    where = "%d bytes inside" % (address - start) if address != start else "the start of"
    gdb.write("0x%x is %s %s\nsearching for pointers to it\n" % (address, where, block_text(block)))
    return start, start + block["bytes"]


# Registers

def registers_of(inferior):
    """[(thread, sp, [(name, value)])] of all stopped threads; the selected thread and frame stay the same."""
    chosen, frame = gdb.selected_thread(), gdb.selected_frame()
    out = []
    try:
        for thread in inferior.threads():
            if thread.is_stopped():
                thread.switch()
                out.append((thread,) + general(gdb.newest_frame()))
    finally:
        chosen.switch()
        frame.select()
    return out


def general(frame):
    values = [(r.name, int(frame.read_register(r.name).cast(gdb.lookup_type("unsigned long"))) & WORD_MASK)
              for r in frame.architecture().registers("general")
              if r.name not in ("eflags", "cs", "ss", "ds", "es", "fs", "gs")]
    return dict(values)["rsp"], values


def show_registers(threads, low, high):
    for thread, _, values in threads:
        for name, value in values:
            if low <= value < high:
                gdb.write("$%s of %s points %s\n" % (name, thread_name(thread), inside(value, low)))


# Memory

def show_memory(pid, found, threads, low):
    """One line for each pointer: its address, and the stack, symbol or block it is in."""
    shown = found[:LINES]
    known = blocks_at(pid, [at for at, _, _ in shown])
    stacks = sorted((sp, thread_name(thread)) for thread, sp, _ in threads)
    for at, value, mapping in shown:
        gdb.write("*0x%x points %s: %s\n" % (at, inside(value, low), place(at, mapping, stacks, known)))
    if len(found) > LINES:
        gdb.write("and %d more\n" % (len(found) - LINES))


def inside(value, low):
    return "at its start" if value == low else "%d bytes inside" % (value - low)


def place(at, mapping, stacks, known):
    """The text for what lies at AT."""
    if at in known:
        return "%d bytes inside %s" % (at - int(known[at]["address"], 16), block_text(known[at]))
    start, end, name = mapping
    here = [who for sp, who in stacks if start <= sp < end]
    if here:
        i = bisect.bisect_right(stacks, (at, chr(0x10ffff))) - 1
        if i >= 0 and start <= stacks[i][0]:
            return "on the stack of " + stacks[i][1]
        return "below the stack of " + here[0]
    symbol = gdb.execute("info symbol 0x%x" % at, to_string=True).split(" in section")[0].strip()
    if symbol and not symbol.startswith("No symbol"):
        return symbol
    return name or "in memory without a name, 0x%x-0x%x" % (start, end)


def thread_name(thread):
    return 'thread %d "%s"' % (thread.num, thread.name)
