# SPDX-License-Identifier: MIT
"""memory: searches the writable memory of a stopped process for pointers. Nothing here knows gdb.

Only resident pages are read. Reading any other page would make it resident in the process: a stack of 16
pages would become one of 16,384. Pages that are not resident contain no pointers, except for those on the
swap device; swapped pages are counted and reported.

Pointers into a block share their upper bytes with its address. bytes.find looks for as many bytes as all of
them have in common, and the words around these are checked: that is as fast as memory.
"""
import array
import os
import re
import struct

PAGE = os.sysconf("SC_PAGE_SIZE")
WORD = 8
PIECE = 8 << 20
ENTRIES = 1 << 15       # of pagemap, read at once
NOTHING = bytes(ENTRIES * WORD)
PRESENT, SWAPPED = 1 << 63, 1 << 62
MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \d+ *(.*)")

DEVICE = re.compile(r"/dev/(?!shm/|zero)")      # reading a device's memory may have side effects


def writable(maps_text):
    """(start, end, name) of each mapping that can be read and written, of /proc/PID/maps."""
    for line in maps_text.splitlines():
        start, end, rights, name = MAPPING.match(line).groups()
        if rights.startswith("rw") and not DEVICE.match(name):
            yield int(start, 16), int(end, 16), name


def resident(pagemap, start, end):
    """([start, end] of each resident piece, how many pages are swapped out)."""
    pieces, swapped = [], 0
    for at in range(start, end, ENTRIES * PAGE):
        raw = os.pread(pagemap, min(ENTRIES, (end - at) // PAGE) * WORD, at // PAGE * WORD)
        if raw == NOTHING[:len(raw)]:
            continue        # reserved address space may be large
        swapped += take(pieces, at, array.array("Q", raw))
    return pieces, swapped


def take(pieces, at, entries):
    """Add the resident pages from AT on to PIECES. Returns how many are swapped out."""
    swapped = 0
    for entry in entries:
        if entry & PRESENT:
            if pieces and pieces[-1][1] == at and at + PAGE - pieces[-1][0] <= PIECE:
                pieces[-1][1] = at + PAGE
            else:
                pieces.append([at, at + PAGE])
        elif entry & SWAPPED:
            swapped += 1
        at += PAGE
    return swapped


def common(low, high):
    """The upper bytes, in little endian order, that all words from LOW to HIGH - 1 share, and their offset in
    the word."""
    a, b = struct.pack("<Q", low), struct.pack("<Q", max(high - 1, low))
    skip = next((i + 1 for i in reversed(range(WORD)) if a[i] != b[i]), 0)
    return a[skip:], skip


def pointers(data, base, low, high):
    """(address, value) of the aligned words in DATA, which lies at BASE, that are in [LOW, HIGH)."""
    needle, skip = common(low, high)
    at = data.find(needle, skip)
    while at >= 0:
        word = at - skip
        if word % WORD == 0 and word + WORD <= len(data):
            value = struct.unpack_from("<Q", data, word)[0]
            if low <= value < high:
                yield base + word, value
        at = data.find(needle, word - word % WORD + WORD + skip)


def search(pid, memory, low, high):
    """((address, value, mapping) of each pointer into [LOW, HIGH), number of pages swapped out, number of
    bytes read)."""
    found, swapped, read = [], 0, 0
    with open("/proc/%d/maps" % pid) as maps, open("/proc/%d/pagemap" % pid, "rb", buffering=0) as pagemap:
        for mapping in writable(maps.read()):
            pieces, out = resident(pagemap.fileno(), mapping[0], mapping[1])
            swapped += out
            for first, behind in pieces:
                data = read_piece(memory, first, behind)
                read += len(data)
                found += [(at, value, mapping) for at, value in pointers(data, first, low, high)]
    return found, swapped, read


def read_piece(memory, first, behind):
    """The piece's bytes, or none if they cannot be read, as of a device."""
    try:
        return os.pread(memory, behind - first, first)
    except OSError:
        return b""
