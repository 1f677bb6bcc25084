# SPDX-License-Identifier: MIT
"""mmt_made: synthetic traces, for cases that no program produces exactly: the inverse of tests/mmt.py, by the
same tables of fields.

    trace = Trace(mode="sampled")
    trace.put("ALLOC", 17, address=0x5000, size=24, stack=3)    # 17 µs after the start; other fields are 0
    path.write_bytes(trace.bytes())

One block, if none is ended (end_block), not compressed. Nothing is checked: a caller may also make a trace that makes no sense.
"""
import struct
import zlib

from mmt import EVENTS, INFO, MMT


def number(value):
    data = b""
    while value > 127:
        data += bytes([value & 127 | 128])
        value >>= 7
    return data + bytes([value])


def signed(value):
    return number(2 * value if value >= 0 else -2 * value - 1)


def none(value):
    return number(0 if value is None else value + 1)


def text(value):
    """Of a str or, where it is no UTF-8, bytes."""
    if value is None:
        return number(0)
    data = value if isinstance(value, bytes) else value.encode()
    return number(len(data) + 1) + data


def texts(values):
    return number(len(values)) + b"".join(map(text, values))


def rows(values):
    """A list of tuples of numbers."""
    return number(len(values)) + b"".join(number(field) for row in values for field in row)


def names(values):
    """Of functions: each a name, or a name and a file, or these and the name for the linker."""
    triples = [(*value, None, None)[:3] if isinstance(value, tuple) else (value, None, None) for value in values]
    return number(len(triples)) + b"".join(text(name) + text(linkage) + text(file) + number(0) + number(0) for name, file, linkage in triples)


def numbers(values, *keys):
    """A list of dicts with these numbers."""
    return number(len(values)) + b"".join(number(value[key]) for value in values for key in keys)


def uses(values):
    return numbers(values, "stack", "taken", "dropped")


def sums(values):
    return numbers(values, "blocks", "bytes")


def parts(values):
    """The processes have their own chain of differences."""
    before = [0, *(value["process"] for value in values)]
    return number(len(values)) + b"".join(signed(value["process"] - last) + number(value["bytes"]) for value, last in zip(values, before))


def checked(part):
    return part + struct.pack("<I", zlib.crc32(part))


class Trace:
    def __init__(self, **run):
        """RUN: the fields as in mmt.py: id, piece, start, frontend, mode, writer."""
        self.payload, self.time_us, self.before, self.nodes, self.ended = b"", 0, 0, 0, []
        value = b""
        for key, field in {"frontend": "ptrace", "start": 10**18, **run}.items():
            bits = {int: number, str: str.encode, bytes: bytes}[type(field)](field) if key != "start" else signed(field)
            value += number(MMT[f"MMT_RUN_{key.upper()}"]) + number(len(bits)) + bits
        self.record("INFO", 0, number(MMT["MMT_RUN"]) + number(len(value)) + value)

    def record(self, kind, time_us, fields):
        passed, self.time_us = time_us - self.time_us, time_us
        self.payload += bytes([MMT["MMT_" + kind] | MMT["MMT_TIME_FOLLOWS"] << MMT["MMT_KIND_BITS"]]) + number(passed) + fields

    def address(self, value):
        quotient, rest = divmod(value - self.before, 16)
        self.before = value
        zigzag = 2 * quotient if quotient >= 0 else -2 * quotient - 1
        return number(2 * zigzag + (rest != 0)) + (bytes([rest]) if rest else b"")

    def judged(self, values):
        """The addresses have their own chain of differences."""
        events, self.before, data = self.before, 0, number(len(values))
        for value in values:
            data += self.address(value["address"]) + number(value.get("with_blocks", 0))
            data += number(value["with_bytes"]) if value.get("with_blocks") else b""
        self.before = events
        return data

    def fields(self, table, values):
        kinds = {"number": number, "signed": signed, "none": none, "text": text, "texts": texts, "names": names, "address": self.address,
                 "steps": rows, "points": lambda points: rows([(point,) for point in points]), "uses": uses, "sums": sums, "parts": parts,
                 "judged": self.judged, "run_id": bytes.fromhex}
        data = b""
        for field in table.replace("+ ", "").split():
            name, _, kind = field.partition(":")
            kind = kind or ("address" if name == "address" else "number")
            default = {"text": None, "none": None, "texts": [], "names": [], "steps": [], "points": [], "uses": [], "sums": [], "parts": [],
                       "judged": [], "run_id": "00" * 16}.get(kind, 0)
            data += kinds[kind](values.get(name, default))
        return data

    def put(self, kind, /, time_us=None, **values):
        """A record of KIND; its time is that of the record before if none is given."""
        time_us = self.time_us if time_us is None else time_us
        if kind in EVENTS:
            self.record(kind, time_us, self.fields(EVENTS[kind], values))
            return
        data = self.fields(INFO[kind], values)
        self.record("INFO", time_us, number(MMT["MMT_" + kind]) + number(len(data)) + data)

    def stack(self, stack, *functions):
        """Stack number STACK of these functions, leaf first, each with its own frame."""
        caller = 0
        for function in reversed(functions):
            self.put("FRAME", number=self.nodes, pc=0x1000 + self.nodes)
            self.put("NAMES", frame=self.nodes, names=[function])
            self.nodes += 1
            self.put("NODE", number=self.nodes, caller=caller, frame=self.nodes - 1)
            caller = self.nodes
        self.put("STACK", number=stack, node=caller)

    def end_block(self):
        """What follows is in a block of its own, with chains of its own; its family is 0 at first."""
        self.ended.append(self.payload)
        self.payload, self.time_us, self.before = b"", 0, 0

    def bytes(self):
        parts = [checked(struct.pack("<QHH", MMT["MMT_FILE_MAGIC"], MMT["MMT_MAJOR"], MMT["MMT_MINOR"]))]
        for at, payload in enumerate([*self.ended, self.payload]):
            head = (MMT["MMT_BLOCK_MAGIC"], at, len(payload), len(payload), MMT["MMT_CODEC_STORED"], 7, zlib.crc32(payload))
            parts += [checked(struct.pack("<7I", *head)), payload]
        return b"".join(parts)
