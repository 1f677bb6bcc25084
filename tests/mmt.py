# SPDX-License-Identifier: MIT
"""mmt: trace files in Python, written from doc/trace-format.md alone, for comparison with the C code.

    for record in mmt.read("svc.mmt"):
        print(record)   # Record(kind="ALLOC", time_us=17, fields={"address": 0x5000, "size": 24, "stack": 3})

Anything that does not follow the document is an Error; only the C reader continues after damage. As a program
it prints the records of its arguments.
"""
import collections
import importlib.util
import pathlib
import struct
import subprocess
import sys
import zlib

TOP = pathlib.Path(__file__).parent.parent

Record = collections.namedtuple("Record", "kind time_us fields")


class Error(Exception):
    pass


def load_constants():
    spec = importlib.util.spec_from_file_location("mmt_constants", TOP / "trace/constants.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.load()


MMT = load_constants()

# In the document's words and order. The type is "number" if none is given. Fields after a "+" are missing in
# older files: None.
EVENTS = {
    "ALLOC": "address size stack", "FREE": "address", "FREE_AT": "address stack", "OLD": "address stack:none",
    "TWICE": "address stack:none first:none alloc:none more", "ASIDE": "key address", "ASIDE_FREED": "key stack:none",
    "ASIDE_BACK": "key", "FORGET": "address", "HELD": "address size stack birth_us", "FAMILY": "family", "TIME": "",
    "REF": "address stack by count:none", "UNREF": "address stack by count:none", "BORN": "address stack by count:none",
    "COUNTED": "address count", "OBJECT": "address birth_us net:signed flags uses:uses",
}
INFO = {
    "TARGET": "pid:signed comm:text exe:text args:texts", "FAMILY_NAME": "family name:text + kind noun:text",
    "MODULE": "number file bias low high path:text build_id:text", "FRAME": "number pc module:none flags",
    "NODE": "number caller frame", "STACK": "number node end + tag:none", "NAMES": "frame names:names",
    "PROBE": "number family rule:text module:text note:text", "HITS": "probe hits", "LOST": "reason:text count",
    "COUNT": "which value", "GAP": "start_us length_us why:text", "NOTE": "note:text",
    "PLACE": "stack allocs frees span_us points:points + bytes", "TOTALS": "old twice", "END": "",
    "TAG": "number text:text", "SKIP": "function:text",
    "VERDICTS": "look flags why_not:text allocator:text expected_ns had_ns bytes threads not_stopped judged passed sums:sums doubts:texts",
    "JUDGED": "verdict blocks:judged",
    "SAMPLE": "stack flags seen late_seen usable_bytes site_seen site_hits rounds full exposed_us hits2 hits_exposed exposed2 steps:steps "
              "+ late_exposed_us + missed + stood_us + process + searched + lost "
              "+ probes_saw + probes_lost + losing_us + losing_blocks + losing_least + losing_most + losing_bytes",
    "BUDGET": "promise_ppm spent_us wall_us worst_ppm closed closed_us sites sites_hit sites_settled candidates unfound "
              "+ loss_us + loss_blocks + loss_bytes + lost_before_blocks + lost_before_bytes",
    "MEMORY": "pid:signed name:text at_us anonymous file shared swapped heap + mapped threads descriptors busy_us", "RUNTIME": "name:text",
    "PROCESS": "number pid:signed run_id:run_id start:signed flags comm:text exe:text host:text labels:text frontend:text mode:text how:text "
               "run_us allocs frees live_blocks live_bytes events lost stopped_us thread_us gaps gaps_us resident own_first own_last sums:sums",
    "MERGED": "stack verdict blocks bytes indirect_blocks indirect_bytes oldest_us youngest_us seen seen_bytes blocks_variance "
              "bytes_variance span_us points:points parts:parts",
    "BINS": "which bins:sums", "SAID": "note:text processes", "HANG": "family verdict on stack blocks bytes",
    "OLDER": "size frees bytes span_us points:points",
}
RUN = {"ID": "id", "PIECE": "number", "START": "signed", "FRONTEND": "bytes", "MODE": "bytes", "WRITER": "bytes", "LAST": "number",
       "HOST": "bytes", "ENGINE": "bytes", "OTHER": "bytes"}

EVENT_NAMES = {MMT["MMT_" + name]: name for name in EVENTS}
INFO_NAMES = {MMT["MMT_" + name]: name for name in (*INFO, "RUN")}
RUN_NAMES = {MMT["MMT_RUN_" + name]: name for name in RUN}


class Cursor:
    """Bytes, and the types of fields in them."""

    def __init__(self, data):
        self.data, self.at, self.before = data, 0, 0

    def left(self):
        return len(self.data) - self.at

    def bytes(self, n):
        if n > self.left():
            raise Error(f"{n} bytes at {self.at} of {len(self.data)}")
        self.at += n
        return self.data[self.at - n:self.at]

    def byte(self):
        return self.bytes(1)[0]

    def number(self):
        value, shift = 0, 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        if value >> 64:
            raise Error("more than 64 bits")
        return value

    def signed(self):
        value = self.number()
        return -(value + 1) // 2 if value & 1 else value // 2

    def address(self):
        value = self.number()
        half = value >> 1
        quotient = -(half + 1) // 2 if half & 1 else half // 2
        rest = self.byte() if value & 1 else 0
        self.before = (self.before + 16 * quotient + rest) % 2**64
        return self.before

    def none(self):
        value = self.number()
        return value - 1 if value else None

    def text(self):
        length = self.number()
        return self.bytes(length - 1).decode(errors="surrogateescape") if length else None

    def texts(self):
        return [self.text() for _ in range(self.number())]

    def names(self):
        return [{"function": self.text(), "linkage": self.text(), "file": self.text(), "line": self.number(),
                 "flags": self.number()} for _ in range(self.number())]

    def uses(self):
        return [{"stack": self.number(), "taken": self.number(), "dropped": self.number()} for _ in range(self.number())]

    def sums(self):
        return [{"blocks": self.number(), "bytes": self.number()} for _ in range(self.number())]

    def steps(self):
        return [{"at_risk": self.number(), "gone": self.number(), "unknown": self.number()} for _ in range(self.number())]

    def judged(self):
        """The addresses have their own chain of differences."""
        self.before, found = 0, []
        for _ in range(self.number()):
            block = {"address": self.address(), "with_blocks": self.number(), "with_bytes": 0}
            if block["with_blocks"]:
                block["with_bytes"] = self.number()
            found.append(block)
        return found

    def points(self):
        return [self.number() for _ in range(self.number())]

    def run_id(self):
        return self.bytes(16).hex()

    def parts(self):
        """The processes have their own chain of differences."""
        process, found = 0, []
        for _ in range(self.number()):
            process += self.signed()
            found.append({"process": process, "bytes": self.number()})
        return found

    def fields(self, names):
        values, may_end = {}, False
        for field in names.split():
            name, _, kind = field.partition(":")
            if name == "+":
                may_end = not self.left()
                continue
            values[name] = None if may_end else getattr(self, kind or ("address" if name == "address" else "number"))()
        return values


def run_fields(value):
    fields = {}
    while value.left():
        name, inner = RUN_NAMES.get(value.number()), Cursor(value.bytes(value.number()))
        kind = name and RUN[name]
        if kind in ("number", "signed"):
            fields[name.lower()] = getattr(inner, kind)()
        elif kind:
            fields[name.lower()] = inner.data.hex() if kind == "id" else inner.data.decode(errors="surrogateescape")
    return fields


def info(cursor, time_us):
    name = INFO_NAMES.get(cursor.number())
    value = Cursor(cursor.bytes(cursor.number()))
    if name is None:
        return []
    return [Record(name, time_us, run_fields(value) if name == "RUN" else value.fields(INFO[name]))]


def records(payload):
    """The records of a block."""
    cursor, time_us, found = Cursor(payload), 0, []
    while cursor.left():
        byte = cursor.byte()
        kind, passed = byte & MMT["MMT_KIND_MASK"], byte >> MMT["MMT_KIND_BITS"]
        time_us += cursor.number() if passed == MMT["MMT_TIME_FOLLOWS"] else passed
        if kind == MMT["MMT_INFO"]:
            found += info(cursor, time_us)
        elif kind in EVENT_NAMES:
            found.append(Record(EVENT_NAMES[kind], time_us, cursor.fields(EVENTS[EVENT_NAMES[kind]])))
        else:
            raise Error(f"unknown kind {kind}")
    return found


def unpack(codec, stored, length):
    if codec == MMT["MMT_CODEC_ZSTD"]:
        stored = subprocess.run(["zstd", "-dc"], input=stored, stdout=subprocess.PIPE, check=True).stdout
    elif codec != MMT["MMT_CODEC_STORED"]:
        raise Error(f"unknown codec {codec}")
    if len(stored) != length:
        raise Error(f"{len(stored)} bytes instead of {length}")
    return stored


def check(what, crc, data):
    if zlib.crc32(data) != crc:
        raise Error(f"the checksum of {what} is wrong")


def blocks(data):
    """(tag, payload) of each block of a file's bytes."""
    magic, major, _, crc = struct.unpack_from("<QHHI", data)
    if magic != MMT["MMT_FILE_MAGIC"] or major != MMT["MMT_MAJOR"]:
        raise Error("no trace of this version")
    check("the file's head", crc, data[:12])
    at, expected = MMT["MMT_FILE_HEAD"], 0
    while at < len(data):
        head = data[at:at + MMT["MMT_BLOCK_HEAD"]]
        magic, number, length, stored, codec, tag, crc, head_crc = struct.unpack("<8I", head)
        check(f"the head of block {expected}", head_crc, head[:28])
        if magic != MMT["MMT_BLOCK_MAGIC"] or number != expected or max(length, stored) > MMT["MMT_BLOCK_MAX"]:
            raise Error(f"block {expected}: {head.hex()}")
        at += len(head)
        payload = data[at:at + stored]
        check(f"block {expected}", crc, payload)
        yield tag, unpack(codec, payload, length)
        at, expected = at + stored, expected + 1


def decode(data):
    """All records of a file's bytes."""
    return [record for _, payload in blocks(data) for record in records(payload)]


def read(path):
    return decode(pathlib.Path(path).read_bytes())


def text(record):
    return " ".join([str(record.time_us), record.kind, *(f"{name}={value!r}" for name, value in record.fields.items())])


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        for one in read(argument):
            print(text(one))
