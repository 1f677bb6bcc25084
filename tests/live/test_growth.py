# SPDX-License-Identifier: MIT
"""--growth: which code ran when memory grew, by the whole program: to the byte what /proc/PID/maps shows."""
import csv
import io
import json
import pathlib
import re
import sys

import pytest

from harness import Watch, hits, lost
from test_trace import mmattach, report
from untouched import assert_untouched

pytestmark = pytest.mark.waiting

MIB = 1 << 20
PAGE = 4096
STACK = 8 * MIB  # of a thread: it is no heap, and not counted


def writable(pid):
    """Bytes of writable anonymous memory, and of the heap."""
    total = 0
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        lo, hi, perms, inode, name = re.match(r"(\w+)-(\w+) (\S+) \S+ \S+ (\d+) *(.*)", line).groups()
        if "w" in perms and inode == "0" and name in ("", "[heap]"):
            total += int(hi, 16) - int(lo, 16)
    return total


def where(group):
    return group["stack"][group["wrappers"]]["function"]


def by_place(got, key="bytes"):
    found = {}
    for group in got["groups"]:
        found[where(group)] = found.get(where(group), 0) + group[key]
    return found


def total(got):
    return sum(group["bytes"] for group in got["groups"])


@pytest.fixture
def seen(victim, attach):
    """seen(ORDERS, OPTION...): the report, by how much the heap has grown according to the victim, and by how
    much all memory has according to its maps."""
    def run(orders, *options, name="grower"):
        target = victim(name)
        before = writable(target.pid)
        watch = attach(target, "--growth", *options)
        answers = [target.ask(order) for order in orders]
        grown = writable(target.pid) - before
        got = watch.finish()
        assert_untouched(target)
        target.end()
        assert lost(got) == {}
        return got, answers[-1]["heap"], grown

    return run


def test_heap_by_sbrk(seen):
    """A leak among short-lived blocks: it fills the heap, and its code reaches the end of it."""
    got, heap, grown = seen(["leak 20000", "idle", "leak 20000"])
    assert heap == grown == total(got) == got["totals"]["live_bytes"] > 38 * MIB
    assert by_place(got)["lose_some"] > 0.95 * heap
    assert got["run"]["mode"] == "growth"
    assert got["run"]["verdicts"]["known"] is False
    assert {group["family"] for group in got["groups"]} == {"growth"}
    # malloc itself is not trapped: its 80,000 calls did not stop the target
    assert got["run"]["events"] == hits(got, "alloc sbrk") < 1000


def test_who_asks_for_more_at_once_meets_the_end(seen):
    """As the note in each report says: the code that reaches the end of the heap need not be the code that
    filled it."""
    got, heap, _ = seen(["unfair 20000"])
    assert by_place(got)["turn_over"] > 0.9 * heap
    assert any("large" in note for note in got["notes"])
    assert any("musl's own calls of brk" in note for note in got["notes"]), "a part of its heap, and nobody would know"


def test_arenas_of_threads(seen):
    """They grow by mprotect of reserved memory, page by page."""
    got, heap, grown = seen(["threads 3"])
    assert total(got) == grown - 3 * STACK and grown - 3 * STACK > 3 * MIB
    found = by_place(got)
    assert found["fill_arena"] >= 3 * MIB
    assert set(found) <= {"fill_arena"} | set(place for place in found if found[place] == heap)


def test_mapped_blocks(seen):
    got, _, grown = seen(["map 5", "unmap 2"])
    assert total(got) == grown == 3 * (4 * MIB + PAGE)
    group = next(g for g in got["groups"] if where(g) == "take_mapped")
    assert group["bytes_allocated"] == 5 * (4 * MIB + PAGE)
    assert group["bytes_freed"] == 2 * (4 * MIB + PAGE)
    assert (group["allocs"], group["frees"], group["blocks"]) == (5, 2, 3)


def test_resized_blocks(seen):
    """A resized range keeps its old size at the old site; the added size belongs to the code that resized
    it."""
    got, _, grown = seen(["hold", "grow 8", "grow 2"])
    assert by_place(got) == {"take_growing": 4 * MIB + PAGE, "grow_mapped": 10 * MIB}
    assert total(got) == grown


def test_trimmed(seen):
    """All of it is returned, including memory from before the watch: that does not count."""
    got, heap, grown = seen(["leak 40000", "trim"])
    assert heap <= 0 and grown == heap
    assert got["groups"] == [] and got["totals"]["live_bytes"] == 0
    assert got["totals"]["allocs"] == got["totals"]["frees"] > 100


def test_parts(seen):
    got, _, grown = seen(["pages", "cut"])
    assert grown == 12 * PAGE
    group = next(g for g in got["groups"] if where(g) == "take_pages")
    assert (group["bytes"], group["blocks"], group["allocs"], group["frees"]) == (12 * PAGE, 2, 1, 0)
    assert (group["bytes_allocated"], group["bytes_freed"]) == (16 * PAGE, 4 * PAGE)
    got, _, grown = seen(["pages", "cut", "drop"])
    assert got["groups"] == [] and grown == 0
    assert got["totals"]["allocs"] == 1 and got["totals"]["frees"] == 2


def test_a_storm(seen):
    """Threads that map, move and unmap at once, each other's addresses among them: nothing is lost, nothing
    is left over."""
    got, _, grown = seen(["storm 1500"])
    assert total(got) == grown - 4 * STACK
    assert hits(got, "realloc mremap") > 10 and hits(got, "free munmap") > 10 and hits(got, "protect mprotect") > 10
    assert got["totals"]["unmatched_frees"] == got["totals"]["double_frees"] == 0


def test_set_apart(seen):
    got, _, grown = seen(["apart"])
    assert got["groups"] == [] and grown == 0
    got, _, grown = seen(["apart", "use"])
    assert by_place(got) == {"use_apart": 64 << 10} and grown == 64 << 10


def test_set_apart_before(victim, attach):
    target = victim("grower")
    target.ask("apart")
    watch = attach(target, "--growth")
    target.ask("use")
    got = watch.finish()
    assert by_place(got) == {"use_apart": 64 << 10}
    assert_untouched(target)
    target.end()


def test_static_program(seen):
    got, heap, grown = seen(["leak 40000", "map 2", "pages", "cut"], name="grower_static")
    assert total(got) == grown
    found = by_place(got)
    assert found["lose_some"] > 0.95 * heap
    assert found["take_mapped"] == 2 * (4 * MIB + PAGE) and found["take_pages"] == 12 * PAGE


def test_allocators_own_frames(victim, attach):
    """They are there, but only printed on request."""
    target = victim("grower")
    watch = attach(target, "--growth", "--wrappers", "show")
    target.ask("leak 10000")
    got = watch.finish()
    group = max(got["groups"], key=lambda g: g["bytes"])
    names = [frame["function"] for frame in group["stack"]]
    assert group["wrappers"] == 0 and names.index("lose_some") > 1
    target.end()


def test_trace_and_text(victim, attach, tmp_path):
    """Live, from the trace, and shrunk: the same."""
    target = victim("grower")
    trace = tmp_path / "g.mmt"
    watch = attach(target, "--growth", "-o", trace)
    for order in ("leak 20000", "map 3", "unmap 1", "hold", "grow 2", "pages", "cut", "trim"):
        target.ask(order)
    live = watch.finish()
    target.end()
    saved = json.loads(report(trace))
    small = tmp_path / "s.mmt"
    mmattach("shrink", trace, "-o", small)
    shrunken = json.loads(report(small))
    for got in (saved, shrunken):
        assert got["groups"] == live["groups"] and got["totals"] == live["totals"] and got["run"]["mode"] == "growth"
    rows = {row["function"]: row for row in csv.DictReader(io.StringIO(report(trace, form="csv").decode()))}
    taken = next(g for g in live["groups"] if where(g) == "take_mapped")
    assert (int(rows["take_mapped"]["bytes_allocated"]), int(rows["take_mapped"]["bytes_freed"])) == (taken["bytes_allocated"], taken["bytes_freed"])
    text = report(trace, form="text").decode()
    assert re.match(r"grower \(\d+\) grew by \S+ [KM]iB in ", text)
    assert re.search(r" 3 allocated here, 12\.0 MiB in all, 4\.0 MiB returned to the kernel", text)
    assert "(through" in text and "#0 take_mapped" in text


def test_of_one_thread_only(victim, attach, tmp_path):
    """Memory of other threads is not part of the reported growth, and the headline does not include it."""
    target = victim("grower")
    trace = tmp_path / "g.mmt"
    watch = attach(target, "--growth", "--thread", "nobody", "-o", trace)
    target.ask("map 3")
    got = watch.finish()
    assert got["groups"] == [] and got["run"]["ranges_left_out"] == 3
    assert "was allocated by other threads or modules than those selected" in report(trace, form="text").decode()
    watch = attach(target, "--growth", "--thread", str(target.pid), "-o", trace)
    target.ask("map 2")
    target.ask("threads 1")
    got = watch.finish()
    text = report(trace, form="text").decode()
    target.end()
    assert got["run"]["ranges_left_out"] >= 1 and by_place(got)["take_mapped"] == 2 * (4 * MIB + PAGE)
    left_out = got["run"]["ranges_left_out"]
    assert re.match(rf"grower \(\d+\), the part that was selected, grew by \S+ MiB in \S+: .* that it allocated, not {left_out} of others", text), text


def test_difference_of_two_runs(victim, attach, tmp_path):
    """The difference is in ranges, not blocks."""
    traces = [tmp_path / "old.mmt", tmp_path / "new.mmt"]
    for trace, orders in zip(traces, (["map 1"], ["map 3"])):
        target = victim("grower")
        watch = attach(target, "--growth", "-o", trace)
        for order in orders:
            target.ask(order)
        watch.finish()
        target.end()
    text = mmattach("diff", *traces).decode()
    assert re.match(r"grower: 12\.0 MiB in 3 ranges are still live, 8\.0 MiB more than before \(4\.0 MiB in 1 range\)", text), text
    assert "[1] +8.0 MiB: 12.0 MiB in 3 ranges, before 4.0 MiB in 1 range\n" in text and "block" not in text


def test_nothing_grows(victim, watch):
    target = victim("grower")
    w = watch("--growth", "-p", str(target.pid), json_report=False).wait_watching()
    target.ask("idle")
    w.interrupt()
    assert w.wait() == 0
    assert "The functions below allocated no memory" in w.out.text()
    w = watch("--growth", "-p", str(target.pid), json_report=False).wait_watching()
    target.ask("map 1")
    target.ask("unmap 1")
    w.interrupt()
    assert w.wait() == 0
    assert "grew by 0 B in" in w.out.text() and "was returned to the kernel" in w.out.text()
    target.end()


def test_interim_reports(victim, attach):
    target = victim("grower")
    watch = attach(target, "--growth", "--interval", "1s")
    target.ask("leak 20000")
    assert watch.out.find('"mode": "growth"')
    assert watch.alive()
    watch.interrupt()
    assert watch.wait() == 0
    target.end()


def test_program_from_its_start(tmp_path):
    """python3: its interpreted frames are not unwound, so the interpreter's functions are named."""
    script = tmp_path / "grow.py"
    script.write_text("kept = []\n\ndef fill():\n    for i in range(200000):\n        kept.append(str(i) * 20)\n\nfill()\n")
    w = Watch("--growth", "--", sys.executable, script)
    assert w.wait(60) == 0, w.said()
    got = json.loads(w.out.text())
    assert got["run"]["mode"] == "growth" and total(got) == got["totals"]["live_bytes"]
    assert got["totals"]["allocs"] > 20 and sum(g["bytes_allocated"] for g in got["groups"]) > 10 * MIB
    assert all(where(g) not in ("sysmalloc", "_int_malloc", "malloc") for g in got["groups"])


def test_with_blocks(victim, attach):
    """Beside another family it is one of several, and the run is exact."""
    target = victim("grower")
    watch = attach(target, "--family", "libc,growth")
    target.ask("leak 2000")
    got = watch.finish()
    sums = {family: sum(g["bytes"] for g in got["groups"] if g["family"] == family) for family in ("libc", "growth")}
    assert got["run"]["mode"] == "exact"
    assert 2000 * 1000 <= sums["libc"] < sums["growth"] + 200000
    assert all(("bytes_freed" in g) == (g["family"] == "growth") for g in got["groups"])
    assert all(g["verdict"] == "unknown" for g in got["groups"] if g["family"] == "growth")
    target.end()
