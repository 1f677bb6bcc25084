# SPDX-License-Identifier: MIT
"""Each string that a trace may have, in each printer.

What the fields of records are is taken from the tables of tests/mmt.py, so a new text is hostile here from the
day on which it is in the format. Each value has what moves the cursor (ESC, C1), ends a line, or turns the
direction of what follows; none of that may arrive in an output as it is, or on stderr.
"""
import gzip
import itertools
import json
import subprocess

import pytest

import mmt
from mmt_made import Trace
from test_exports import MMATTACH, names_of_formats

SECOND = 1_000_000
LINE = "NEW-LINE"
# Of the file; and ordinary text beside it, so that no printer takes it for nothing.
HOSTILE = "{} \x1b[2J\x1b]0;t\x07 \x9b31m\x85 \r\n" + LINE + "\u2028\u202e\u2066\u061c\ufeffz"
RAW = ["\x1b", "\x07", "\x9b", "\x85", "\r", "\u2028", "\u202e", "\u2066", "\u061c", "\ufeff"]
BINARY = {"pprof"}
TEXT_FORMATS = [name for name in names_of_formats() if name not in BINARY]


def hostile(what):
    """With what is no UTF-8 at its end: for an 8-bit terminal, the same."""
    return HOSTILE.format(what).encode() + b"\x9b2J\xff"


class Hostile(Trace):
    """A trace each of whose texts, where none is given, is hostile."""

    def __init__(self, **run):
        self.hostile = set()
        super().__init__(**{"host": hostile("host"), "writer": hostile("writer"), **run})

    def put(self, kind, /, time_us=None, **values):
        table = mmt.EVENTS.get(kind) or mmt.INFO.get(kind, "")
        for field in table.replace("+ ", "").split():
            name, _, form = field.partition(":")
            if form not in ("text", "texts"):
                continue
            if name not in values:
                values[name] = hostile(f"{kind}.{name}") if form == "text" else [hostile(f"{kind}.{name}"), hostile("2")]
            if values[name] and not isinstance(values[name], str):
                self.hostile.add((kind, name))
        super().put(kind, time_us, **values)


def definitions(made, **noun):
    """Three families, a module, a probe, and in each family stacks: with a tag and without, with names and without."""
    made.put("TARGET", pid=42)
    made.put("SKIP")
    for family, kind in enumerate((mmt.MMT["MMT_FAMILY_BLOCKS"], mmt.MMT["MMT_FAMILY_REFS"], mmt.MMT["MMT_FAMILY_RANGES"])):
        made.put("FAMILY_NAME", family=family, name=hostile(f"family{family}"), kind=kind, **noun)
        made.put("PROBE", number=2 * family, family=family)
        made.put("PROBE", number=2 * family + 1, family=family, module=None)
        made.put("HITS", probe=2 * family, hits=17)
    made.put("TAG", number=0)
    for at in range(4):
        low = 0x7f0000000000 + at * 0x100000
        made.put("MODULE", number=at, file=at + 1, bias=low, low=low, high=low + 0x100000)
        made.put("FRAME", number=at, pc=low + 0x100, module=at if at else None)
        if at:
            made.put("NAMES", frame=at, names=[(hostile(f"function{at}"), hostile(f"file{at}"))])
        made.put("NODE", number=at + 1, caller=at and 1, frame=at)
        made.put("STACK", number=at, node=at + 1, tag=0 if at % 2 else None)


def events(made):
    for family in (0, 2):
        made.put("FAMILY", family=family)
        for i in range(12):
            made.put("ALLOC", (i + 6 * family) * SECOND // 2, address=0x5000 + 0x1000 * i + 0x100000 * family, size=1000 + i, stack=i % 4)
        made.put("FREE_AT", address=0x5000 + 0x100000 * family, stack=1)
        made.put("TWICE", address=0x5000 + 0x100000 * family, stack=2, first=1, alloc=0, more=1000)
    made.put("FAMILY", family=1)
    for i in range(8):
        made.put("BORN", 13 * SECOND, address=0x900000 + 0x100 * i, stack=i % 4, by=1, count=1)
        made.put("REF", 13 * SECOND, address=0x900000 + 0x100 * i, stack=1, by=1, count=2)
        made.put("UNREF", 13 * SECOND, address=0x900000 + 0x100 * i, stack=2, by=1, count=1)


def ends(made):
    """What is said of the run as a whole."""
    made.put("LOST", count=3)
    made.put("GAP", start_us=SECOND, length_us=SECOND)
    made.put("NOTE", 20 * SECOND)
    for note in ("the target was ended by signal 9", "the target ended"):
        made.put("NOTE", note=hostile(note))
    made.put("RUNTIME")
    for at in range(2):
        made.put("MEMORY", pid=42, at_us=20 * SECOND * at, anonymous=(at + 1) << 20, heap=1 << 20)
    made.put("COUNT", which=mmt.MMT["MMT_COUNT_STOPPED_US"], value=SECOND)
    made.put("COUNT", which=mmt.MMT["MMT_COUNT_THREAD_US"], value=40 * SECOND)
    made.put("END", 20 * SECOND)


def exact(taken, **noun):
    made = Hostile(mode="exact", frontend=hostile("frontend"))
    definitions(made, **noun)
    events(made)
    flags = mmt.MMT["MMT_VERDICTS_TAKEN"] | mmt.MMT["MMT_VERDICTS_CENSUS"] if taken else 0
    made.put("VERDICTS", number=1, flags=flags, had_ns=1000, judged=6 if taken else 0, sums=[{"blocks": 6, "bytes": 6000}] * 5,
             **({"why_not": None} if taken else {}))
    made.put("FAMILY", family=0)
    for verdict in range(1, 4) if taken else ():
        made.put("JUDGED", verdict=verdict, blocks=[{"address": 0x6000 + 0x1000 * (2 * verdict - i)} for i in range(2)])
    ends(made)
    return made


def sampled():
    made = Hostile(mode="sampled")
    definitions(made)
    made.put("FAMILY", family=0)
    for i in range(12):
        made.put("ALLOC", i * SECOND, address=0x5000 + 0x1000 * i, size=1000 + i, stack=i % 4)
    for stack in range(4):
        made.put("SAMPLE", 20 * SECOND, stack=stack, seen=60, late_seen=12, usable_bytes=60_000, site_seen=60, site_hits=60, rounds=20,
                 exposed_us=20 * SECOND, hits2=240, hits_exposed=60 * SECOND, exposed2=20 * SECOND**2, steps=[(3, 0, 0)] * 8)
    made.put("BUDGET", promise_ppm=10000, wall_us=20 * SECOND, worst_ppm=10300)
    ends(made)
    return made


def merged():
    made = Hostile(mode="exact")
    definitions(made)
    ended = mmt.MMT["MMT_PROCESS_ENDED"]
    for number, flags in enumerate((ended, 0, mmt.MMT["MMT_PROCESS_ABSENT"])):
        made.put("PROCESS", number=number, pid=42 + number, run_id=f"{number:032x}", start=10**18, flags=flags,
                 frontend="ptrace" if number else hostile("frontend"), mode="exact" if number else hostile("mode"), run_us=20 * SECOND, live_blocks=4, live_bytes=4000, lost=number, gaps=number,
                 resident=1 << 20, own_first=1 << 20, own_last=2 << 20)
    made.put("FAMILY", family=0)
    for stack in range(4):
        made.put("MERGED", stack=stack, blocks=8, bytes=8000, oldest_us=SECOND, youngest_us=SECOND,
                 parts=[{"process": number, "bytes": 4000} for number in range(2)])
        made.put("PLACE", stack=stack, allocs=10, frees=2, bytes=10_000)
    made.put("SAID", processes=2)
    ends(made)
    return made


def nothing():
    made = Hostile(mode="exact")
    definitions(made)
    ends(made)
    return made


def unseen():
    """A function that allocates and could not be watched: its name is in the first lines."""
    made = Hostile(mode="exact")
    made.put("TARGET", pid=42)
    made.put("FAMILY_NAME", family=0, kind=mmt.MMT["MMT_FAMILY_BLOCKS"])
    made.put("PROBE", number=0, family=0, rule=b"alloc " + hostile("name").replace(b" ", b""))
    ends(made)
    return made


def growth():
    made = Hostile(mode="growth")
    definitions(made)
    ends(made)
    return made


def of_unknown_mode():
    made = Hostile(mode=hostile("mode"))
    definitions(made)
    events(made)
    ends(made)
    return made


RUNS = {"exact": lambda: exact(False), "judged": lambda: exact(True), "plain": lambda: exact(True, noun=None), "sampled": sampled,
        "merged": merged, "nothing": nothing, "unseen": unseen, "growth": growth, "mode": of_unknown_mode}


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    folder = tmp_path_factory.mktemp("strings")
    for name, make in RUNS.items():
        (folder / f"{name}.mmt").write_bytes(make().bytes())
    return folder


def unpacked(data):
    """What is in @data, and what it was compressed from."""
    if data[:2] == b"\x1f\x8b":
        return gzip.decompress(data)
    if data[:4] == b"\x28\xb5\x2f\xfd":
        return subprocess.run(["zstd", "-dc"], input=data, stdout=subprocess.PIPE, check=True).stdout
    return data


def raw_of(data):
    """The lines of @data that have something of RAW, that are no UTF-8, or that a string has made."""
    lines = data.decode(errors="surrogateescape").split("\n")
    lines = [line.removesuffix("\r") for line in lines]   # of CSV
    return [line[:200] for line in lines if any(part in line for part in RAW) or line.startswith(LINE)
            or any("\udc80" <= character <= "\udcff" for character in line)]


def run(*words):
    done = subprocess.run([MMATTACH, *words], capture_output=True, timeout=60, check=False)
    assert done.returncode in (0, 1, 2) and raw_of(done.stderr) == []
    return done


def clean(*words):
    done = run(*words)
    assert done.returncode == 0, (words, done.stderr)
    out = unpacked(done.stdout)
    assert raw_of(out) == [], words
    return out.decode()


def test_each_text_of_the_format_is_hostile():
    """A text that no run here has would not be tested."""
    texts = {(kind, field.partition(":")[0]) for kind, table in {**mmt.EVENTS, **mmt.INFO}.items() for field in table.split()
             if field.endswith((":text", ":texts"))}
    assert set().union(*(make().hostile for make in RUNS.values())) == texts


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("form", TEXT_FORMATS)
def test_report(traces, form, name):
    out = clean("report", "--no-pager", "--format", form, *(["--top", "0"] if form == "text" else []), traces / f"{name}.mmt")
    assert form == "folded" or out


@pytest.mark.parametrize("name", RUNS)
def test_pprof(traces, name, tmp_path):
    """Its strings are what names are, for programs; a control character in them would be shown by pprof."""
    run("report", "--format", "pprof", "-o", tmp_path / "a.pprof", traces / f"{name}.mmt")
    data = unpacked((tmp_path / "a.pprof").read_bytes())
    assert b"function1" in data or name in ("nothing", "unseen", "growth")
    assert [part for part in ("\x1b[", "\x1b]", *RAW, "\n" + LINE) if len(part.encode()) > 1 and part.encode() in data] == []


@pytest.mark.parametrize("name", RUNS)
def test_further_reports(traces, name):
    """Options that print what the report itself does not."""
    path = traces / f"{name}.mmt"
    for options in (["--per-object"], ["--gen-suppressions"], ["--wrappers", "show"], ["--by", "process"], ["--older-than", "1s"],
                    ["--focus", "function1"], ["--verbose"], ["--min-bytes", "1"], ["--show", "definite"]):
        done = run("report", "--no-pager", "--top", "0", *options, path)
        assert raw_of(done.stdout) == [], options


@pytest.mark.parametrize("name", ["exact", "judged", "plain", "sampled"])
@pytest.mark.parametrize("form", ["text", "json", "html"])
def test_single_blocks(traces, form, name):
    report = json.loads(clean("report", "--format", "json", traces / f"{name}.mmt"))
    families = sorted({group["family"] for group in report["groups"]} | {group["family"] for group in report.get("reference_groups", [])})
    assert families
    path = traces / f"{name}.mmt"
    shown = [run("report", "--no-pager", "--format", form, "--block-list", hostile(f"family{family}") + b":1", path) for family in range(3)]
    shown += [run("report", "--no-pager", "--format", form, "--block-at", "0x6010,0x5000,0x900100,0x12", path)]
    assert sum(done.returncode == 0 for done in shown) >= 2
    assert [raw_of(done.stdout) for done in shown] == [[]] * len(shown)


@pytest.mark.parametrize("form", ["text", "json", "csv", "folded", "html"])
def test_difference(traces, form):
    for old, new in itertools.permutations(("exact", "judged", "sampled", "merged", "nothing", "growth"), 2):
        done = run("diff", "--format", form, traces / f"{old}.mmt", traces / f"{new}.mmt")
        assert raw_of(done.stdout) == [], (old, new)


def test_made_from_traces(traces, tmp_path):
    """shrink and merge, and a report of what they have made."""
    for name in ("exact", "judged", "sampled", "merged"):
        run("shrink", traces / f"{name}.mmt", "-o", tmp_path / f"{name}.mmt")
        clean("report", "--no-pager", "--top", "0", tmp_path / f"{name}.mmt")
    run("merge", traces / "exact.mmt", traces / "judged.mmt", traces / "nothing.mmt", "-o", tmp_path / "all.mmt")
    clean("report", "--no-pager", "--top", "0", tmp_path / "all.mmt")
    clean("report", "--no-pager", "--top", "0", "--by", "process", tmp_path / "all.mmt")


def test_other_processes_traces(traces, tmp_path):
    """Names of files are chosen, too."""
    path = tmp_path / "\x1b[2J\x9b\u202e.mmt"
    path.write_bytes(b"nothing")
    for words in (["report", path], ["diff", path, path], ["shrink", path, "-o", tmp_path / "b"], ["merge", path, "-o", tmp_path / "b"]):
        assert run(*words).returncode == 1
    path.write_bytes((traces / "exact.mmt").read_bytes())
    clean("report", "--no-pager", path)
    clean("diff", path, traces / "judged.mmt")
