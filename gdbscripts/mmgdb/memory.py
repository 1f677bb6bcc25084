# SPDX-License-Identifier: MIT
"""memory: the writable memory of a stopped process, searched for pointers. Nothing here knows gdb.

Only pages that are resident are read. To read another one would map it into the process: a stack that was 16 pages
would be 16,384. What is not resident has no pointers but on the swap device; swapped pages are counted, so that it can be said.

Pointers into a block share their upper bytes with its address. They are looked for by bytes.find of as many bytes as all of them have
in common, from which the words around are taken: that is as fast as memory.
"""
import array
import os
import re
import struct

PAGE = os.sysconf("SC_PAGE_SIZE")
WORD = 8
PIECE = 8 << 20
ENTRIES = 1 << 15       # of pagemap, at once
NOTHING = bytes(ENTRIES * WORD)
PRESENT, SWAPPED = 1 << 63, 1 << 62
MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \d+ *(.*)")

DEVICE = re.compile(r"/dev/(?!shm/|zero)")      # to read a device's memory may do something


def writable(maps_text):
    """(start, end, name) of each mapping that can be read and written, of /proc/PID/maps."""
    for line in maps_text.splitlines():
        start, end, rights, name = MAPPING.match(line).groups()
        if rights.startswith("rw") and not DEVICE.match(name):
            yield int(start, 16), int(end, 16), name


def resident(pagemap, start, end):
    """([first, behind] of each resident piece, how many pages are swapped out)."""
    pieces, swapped = [], 0
    for at in range(start, end, ENTRIES * PAGE):
        raw = os.pread(pagemap, min(ENTRIES, (end - at) // PAGE) * WORD, at // PAGE * WORD)
        if raw == NOTHING[:len(raw)]:
            continue        # what is only reserved may be large
        swapped += take(pieces, at, array.array("Q", raw))
    return pieces, swapped


def take(pieces, at, entries):
    """Add to PIECES what is resident of the pages from AT on; how many are swapped out."""
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
    """The upper bytes, in little endian order, that all words from LOW to HIGH - 1 share, and where in a word they begin."""
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
    """((address, value, mapping) of each pointer into [LOW, HIGH), pages that were swapped out, bytes that were read)."""
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
    """What can be read of it: a device's memory cannot."""
    try:
        return os.pread(memory, behind - first, first)
    except OSError:
        return b""
