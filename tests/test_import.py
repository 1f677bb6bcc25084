# SPDX-License-Identifier: MIT
"""`mmattach import` on files of the old tools (tests/data/import): the totals are those of their own scripts.

mmleak-shrink and mtrace(1) are reimplemented here in a few lines. First these are compared with the output of
the real ones for the same files, and then mmattach's report is compared with them: counts and bytes for each
caller, block by block. The files:

  mmleak-vm.12354.*   four threads, seven leaking callers: dump, mmleak-shrink's output, maps,
                      mmleak-panda's HTML
  mmleak-vm.3595.*    nfs-ganesha under load, 325,338 lines
  mmleak-vm.2484*.*   a process that forked: the child's exit wrote lines of the parent a second time
  mtrace.log, mt2.log, and mtrace(1)'s output for them (.out)
"""
import collections
import gzip
import json
import re
import subprocess

import pytest

from test_unit import BUILD, TOP

DATA = TOP / "tests/data/import"
DUMP = DATA / "mmleak-vm.12354.0.out"
MAPS = DATA / "mmleak-vm.12354.maps"
SHRUNKEN = DATA / "mmleak-vm.12354.0.out.shrinked"


def mmattach(*args, status=0):
    result = subprocess.run([BUILD / "mmattach", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    assert result.returncode == status, result.stderr.decode(errors="replace")
    return result.stdout if status == 0 else result.stderr.decode()


def report(out, kind, *args):
    """The JSON report of an import into OUT."""
    mmattach("import", kind, *args, "-o", out)
    return json.loads(mmattach("report", "--format", "json", out))


def by_caller(live):
    """{caller: (blocks, bytes)} of (caller, size) pairs."""
    sums = collections.defaultdict(lambda: (0, 0))
    for caller, size in live:
        blocks, total = sums[caller]
        sums[caller] = (blocks + 1, total + size)
    return dict(sums)


def reported(run, place):
    """The same from a report; PLACE makes a caller of the frame."""
    return {place(group["stack"][-1]): (group["blocks"], group["bytes"]) for group in run["groups"] if group["blocks"]}


def pc(frame):
    return frame["pc"]


# --- mmleak ---

def shrink(lines):
    """mmleak-shrink: (frees of unknown blocks, live blocks), as {address: caller} and {address: (caller,
    size)}."""
    released, live = {}, {}
    for line in lines:
        address, caller, *size = line.split()
        if size:
            live[address] = caller, int(size[0])
        elif live.pop(address, None) is None:
            released[address] = caller
    return released, live


def check_mmleak(run, lines):
    """Totals and callers are those of mmleak-shrink."""
    _, live = shrink(lines)
    totals = run["totals"]
    assert (totals["live_blocks"], totals["live_bytes"]) == (len(live), sum(size for _, size in live.values()))
    assert reported(run, pc) == by_caller(live.values())
    samples = [sample for group in run["groups"] for sample in group["examples"]]
    assert samples and set(samples) <= set(live)
    return totals


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    return report(tmp_path_factory.mktemp("raw") / "raw.mmt", "mmleak", DUMP, "--maps", MAPS)


def test_shrink_is_theirs():
    _, live = shrink(DUMP.read_text().splitlines())
    assert [f"{address} {caller} {size}" for address, (caller, size) in live.items()] == SHRUNKEN.read_text().splitlines()


def test_mmleak(raw):
    totals = check_mmleak(raw, DUMP.read_text().splitlines())
    assert (totals["live_blocks"], totals["live_bytes"]) == (163, 17100)
    assert (totals["allocs"], totals["frees"], totals["unmatched_frees"], totals["double_frees"]) == (978, 815, 0, 0)
    assert (raw["run"]["engine"], raw["run"]["mode"], raw["run"]["events"]) == ("mmleak", "exact", 1793)
    assert (raw["target"]["pid"], raw["target"]["exe"], raw["target"]["comm"]) == (12354, "/srv/sample/mtleak", "mtleak")


def test_mmleak_table(raw):
    """The first table of the HTML: caller, sum, mean, count, min, max; the largest sum first."""
    html = (DATA / "mmleak-vm.12354.html").read_text()
    cells = re.findall(r"<td>(.*?)</td>", html.split("Count sort:")[0])
    rows = [cells[i:i + 6] for i in range(0, len(cells), 6)]
    assert [(group["stack"][-1]["pc"], group["bytes"], group["blocks"]) for group in raw["groups"] if group["blocks"]] == \
        [(row[0], int(row[1]), int(row[3])) for row in rows]
    assert f"Total allocation in bytes: {raw['totals']['live_bytes']} " in html


def test_mmleak_maps(raw):
    frames = {frame["pc"]: frame for group in raw["groups"] for frame in group["stack"]}
    assert (frames["0x55a205a9e207"]["module"], frames["0x55a205a9e207"]["offset"]) == ("/srv/sample/mtleak", "0x1207")
    assert frames["0x7fc6ee411cb3"]["offset"] == "0x10cb3"
    assert frames["0x7fc6ee411cb3"]["module"] == "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"


def test_mmleak_without_maps(raw, tmp_path):
    run = report(tmp_path / "out.mmt", "mmleak", DUMP)
    assert reported(run, pc) == reported(raw, pc)
    assert all(frame["module"] == "" for group in run["groups"] for frame in group["stack"])


def test_mmleak_sorted(raw, tmp_path):
    """As for mmleak.py: sorted by address, otherwise in the old order. The result is the same."""
    lines = sorted(DUMP.read_text().splitlines(keepends=True), key=lambda line: line.split()[0])
    dump = tmp_path / DUMP.name
    dump.write_text("".join(lines))
    run = report(tmp_path / "out.mmt", "mmleak", dump, "--maps", MAPS)
    assert (run["totals"], run["groups"]) == (raw["totals"], raw["groups"])


def test_mmleak_shrunken(raw, tmp_path):
    run = report(tmp_path / "out.mmt", "mmleak", SHRUNKEN, "--maps", MAPS)
    check_mmleak(run, SHRUNKEN.read_text().splitlines())
    assert reported(run, pc) == reported(raw, pc)
    assert run["target"] == raw["target"]


def pieces_of(folder, lines, change):
    """A dump that was rotated twice, CHANGEd, as files in FOLDER."""
    paths = []
    for number, start in enumerate(range(0, len(lines), len(lines) // 3 + 1)):
        paths.append(folder / f"mmleak-vm.12354.{number}.out")
        paths[-1].write_text("".join(change(lines[start:start + len(lines) // 3 + 1])))
    return paths


def test_mmleak_pieces(raw, tmp_path):
    paths = pieces_of(tmp_path, DUMP.read_text().splitlines(keepends=True), lambda lines: lines)
    run = report(tmp_path / "out.mmt", "mmleak", *paths, "--maps", MAPS)
    assert len(paths) == 3
    assert (run["totals"], run["groups"]) == (raw["totals"], raw["groups"])


def shrunken_text(lines):
    released, live = shrink(lines)
    return [f"{address} {caller}\n" for address, caller in released.items()] + \
        [f"{address} {caller} {size}\n" for address, (caller, size) in live.items()]


def test_mmleak_shrunken_pieces(raw, tmp_path):
    """Each piece begins with frees of blocks that an earlier piece left live."""
    paths = pieces_of(tmp_path, DUMP.read_text().splitlines(keepends=True), shrunken_text)
    assert any(len(line.split()) == 2 for line in paths[2].read_text().splitlines())
    run = report(tmp_path / "out.mmt", "mmleak", *paths, "--maps", MAPS)
    assert reported(run, pc) == reported(raw, pc)
    assert (run["totals"]["unmatched_frees"], run["totals"]["double_frees"]) == (0, 0)


def test_mmleak_ganesha(tmp_path):
    dump = tmp_path / "mmleak-vm.3595.0.out"
    dump.write_bytes(gzip.decompress((DATA / "mmleak-vm.3595.0.out.gz").read_bytes()))
    run = report(tmp_path / "out.mmt", "mmleak", dump, "--maps", DATA / "mmleak-vm.3595.maps")
    totals = check_mmleak(run, dump.read_text().splitlines())
    assert (totals["allocs"], totals["frees"], totals["live_blocks"]) == (175992, 149346, 26645)
    assert run["run"]["events"] == 325338
    assert run["target"]["comm"] == "ganesha.nfsd"


def test_mmleak_forked(tmp_path):
    """Repeated lines are blocks that were allocated twice, which is reported; the child's file is of another
    process."""
    parent, child = DATA / "mmleak-vm.24845.0.out", DATA / "mmleak-vm.24846.0.out"
    run = report(tmp_path / "out.mmt", "mmleak", parent, "--maps", DATA / "mmleak-vm.24845.maps")
    lines = parent.read_text().splitlines()
    check_mmleak(run, lines)
    assert len(lines) - len(set(lines)) == 10
    assert any(note.startswith("10 blocks were given out again") for note in run["notes"])
    assert "two processes" in mmattach("import", "mmleak", parent, child, "-o", tmp_path / "both.mmt", status=1)
    assert not (tmp_path / "both.mmt").exists()


def test_mmleak_cut(tmp_path):
    """Killed with -9: the last line is incomplete, and could be anything."""
    dump = tmp_path / "mmleak-vm.12354.pid"
    text = DUMP.read_text()[:20000]
    assert not text.endswith("\n")
    dump.write_text(text)
    run = report(tmp_path / "out.mmt", "mmleak", dump)
    check_mmleak(run, text.splitlines()[:-1])
    assert run["target"]["pid"] == 12354
    assert any("the last line is cut off" in note for note in run["notes"])


def test_mmleak_refuses(tmp_path):
    assert "mmleak" in mmattach("import", "mmleak", DATA / "mtrace.log", "-o", tmp_path / "out.mmt", status=1)
    assert "mtrace" in mmattach("import", "mtrace", DUMP, "-o", tmp_path / "out.mmt", status=1)
    assert not (tmp_path / "out.mmt").exists()


# --- mtrace ---

EVENT = re.compile(r"@ (?:(.*?):)?(?:\((.*)[+-]\w+\))?\[(0x[0-9a-f]+)\] ([-+<>!]) (0x[0-9a-f]+)(?: (0x[0-9a-f]+|0))?$")


def mtrace(lines):
    """mtrace(1): {address: (place, size)} of live blocks, and the addresses that were never allocated."""
    live, unknown = {}, []
    for line in lines:
        if line.startswith("="):
            continue
        module, _, offset, op, address, size = EVENT.match(line).groups()
        address = int(address, 16)
        if op in "+>":
            live.setdefault(address, ((module, offset), int(size, 16)))
        elif op in "-<" and live.pop(address, None) is None:
            unknown.append(address)
    return live, unknown


def not_freed(path):
    """What mtrace(1) printed: {address: size}, and the addresses that were never allocated."""
    text = path.read_text()
    rows = re.findall(r"^(0x[0-9a-f]+) +(0x[0-9a-f]+)  at ", text, re.MULTILINE)
    return {int(address, 16): int(size, 16) for address, size in rows}, \
        [int(address, 16) for address in re.findall(r"^- (0x[0-9a-f]+) (?:Free|Realloc) \d+ was never", text, re.MULTILINE)]


@pytest.mark.parametrize("name, blocks, size", [("mtrace", 159, 15948), ("mt2", 2, 0x10 + 0x186a0)])
def test_mtrace(tmp_path, name, blocks, size):
    lines = (DATA / f"{name}.log").read_text().splitlines()
    live, unknown = mtrace(lines)
    assert ({address: size for address, (_, size) in live.items()}, unknown) == not_freed(DATA / f"{name}.out")
    run = report(tmp_path / "out.mmt", "mtrace", DATA / f"{name}.log")
    totals = run["totals"]
    assert (totals["live_blocks"], totals["live_bytes"]) == (blocks, size) == (len(live), sum(size for _, size in live.values()))
    assert (totals["unmatched_frees"], totals["double_frees"]) == (len(unknown), 0)
    assert reported(run, lambda frame: (frame["module"], frame["offset"])) == by_caller(live.values())
    samples = [int(sample, 16) for group in run["groups"] for sample in group["examples"]]
    assert samples and set(samples) <= set(live)
    assert run["run"]["engine"] == "mtrace"


def test_mtrace_names(tmp_path):
    """A name in the log is the function's name."""
    run = report(tmp_path / "out.mmt", "mtrace", DATA / "mtrace.log")
    names = {frame["offset"]: frame["function"] for group in run["groups"] for frame in group["stack"]
             if frame["module"] == "/lib/x86_64-linux-gnu/libc.so.6"}
    assert names["0x9e9aa"] == "__strdup"


def test_mtrace_empty(tmp_path):
    run = report(tmp_path / "out.mmt", "mtrace", DATA / "empty.log")
    assert (run["totals"]["live_blocks"], run["groups"], run["run"]["events"]) == (0, [], 0)
