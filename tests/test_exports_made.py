# SPDX-License-Identifier: MIT
"""The formats of other tools, of traces that no program of the tests makes: a trillion calls, two modules at one
address, names that are no XML, growth that is not known."""
import re
import resource
import xml.etree.ElementTree

import pytest

from mmt_made import Trace
from test_exports import MMATTACH, export, gauges, heaptrack, raw, run, size

SEVERAL = 4_000_000  # allocations that a heaptrack file has at most


def trace():
    made = Trace(mode="exact")
    made.put("TARGET", pid=42, comm="svc", exe="/bin/svc", args=["svc"])
    made.put("FAMILY_NAME", family=0, name="libc")
    return made


def written(made, path):
    made.put("END", 10_000_000)
    path.write_bytes(made.bytes())
    return path


def called_so_often(path, calls):
    """As `mmattach shrink` keeps it: sums instead of events."""
    made = trace()
    made.stack(0, "hot", "main")
    made.put("PLACE", 1_000_000, stack=0, allocs=calls, frees=calls - 1, span_us=1_000_000, points=[64] * 10, bytes=calls * 64)
    made.put("HELD", stack=0, address=0x5000, size=64, birth_us=0)
    return written(made, path)


def module(made, number, path, build_id, bias):
    made.put("MODULE", number=number, file=number + 1, bias=bias, low=bias or 0x400000, high=(bias or 0x400000) + 0x100000, path=path,
             build_id=build_id)


def allocation(made, number, pc, function, its_module, amount):
    made.put("FRAME", number=number, pc=pc, module=its_module)
    made.put("NAMES", frame=number, names=[function])
    made.put("NODE", number=number + 1, caller=0, frame=number)
    made.put("STACK", number=number, node=number + 1)
    made.put("ALLOC", address=0x5000 + 0x1000 * number, size=amount, stack=number)


def converted(form, path, *options):
    out = path.with_suffix("." + form)
    run(MMATTACH, "report", "--format", form, "-o", out, *options, path)
    return out


# --- heaptrack: a list of events, made from sums ---

@pytest.mark.parametrize("calls", [1000, 10**8, 1 << 50])
def test_heaptrack_has_a_limit(calls, tmp_path):
    """The file does not grow with the number of calls, nor does the memory that it takes to make it."""
    path = called_so_often(tmp_path / "t.mmt", calls)
    out = tmp_path / "t.heaptrack"
    run(MMATTACH, "report", "--format", "heaptrack", "-o", out, path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)))
    assert out.stat().st_size < 50e6
    found, _ = heaptrack(out)
    each = re.search(r"^# each allocation stands for (\d+)$", out.read_text(), re.M)
    assert bool(each) == (calls > SEVERAL)
    assert int(found["calls"]) * (int(each[1]) if each else 1) == pytest.approx(calls, rel=1e-5)
    assert size(found["leaked"]) == 64


@pytest.mark.parametrize("name", ["service_later", "started", "service", "verdicts"])
def test_heaptrack_makes_no_peak(name, tmp_path):
    """What passes is freed before something else is allocated: the peak is the one that massif has."""
    found, _ = heaptrack(export(name, "heaptrack", tmp_path))
    peak = max(int(line[len("mem_heap_B="):]) for line in export(name, "massif", tmp_path).read_text().splitlines() if line.startswith("mem_heap_B="))
    assert size(found["peak"]) == pytest.approx(peak, rel=0.02, abs=5000)


# --- pprof: a location is an address, of a module, with its names ---

def test_pprof_of_two_modules_at_one_address(tmp_path):
    """A plugin was unloaded, and another one loaded at the same place."""
    made = trace()
    for number, letter in enumerate("ab"):
        module(made, number, f"/lib/lib{letter}.so", 2 * letter, 0x7f0000000000)
        allocation(made, number, 0x7f0000001234, f"{letter}_alloc", number, 1000 + number)
    text = raw(converted("pprof", written(made, tmp_path / "t.mmt")))
    samples = dict(re.findall(r"^ +\d+ +(\d+) +\d+ +\d+: (\d+) *$", text, re.M))
    names = dict(re.findall(r"^ +(\d+): 0x\w+ M=\d+ (\S+) ", text, re.M))
    assert {amount: names[location] for amount, location in samples.items()} == {"1000": "a_alloc", "1001": "b_alloc"}


def test_pprof_has_the_host(tmp_path):
    """So that profiles of many machines can be merged, and distinguished."""
    made = Trace(mode="exact", host="web-1")
    made.put("TARGET", pid=42, comm="svc", exe="/bin/svc", args=["svc"])
    made.put("FAMILY_NAME", family=0, name="libc")
    made.stack(0, "grow", "main")
    made.put("ALLOC", 1000, address=0x5000, size=64, stack=0)
    assert "host:[web-1]" in raw(converted("pprof", written(made, tmp_path / "t.mmt"))).replace('"', "")


def test_pprof_of_two_builds(tmp_path):
    """A program at fixed addresses, built again: what is at an address of the old one is not what is there in the new."""
    for which, function, amount in ("aa", "old_function", 5000), ("bb", "new_function", 7000):
        made = trace()
        module(made, 0, "/bin/svc", which, 0)
        allocation(made, 0, 0x401234, function, 0, amount)
        written(made, tmp_path / f"{which}.mmt")
    out = tmp_path / "diff.pb"
    run(MMATTACH, "diff", "--format", "pprof", "-o", out, tmp_path / "aa.mmt", tmp_path / "bb.mmt")
    text = raw(out)
    names = dict(re.findall(r"^ +(\d+): 0x\w+ M=\d+ (\S+) ", text, re.M))
    samples = {names[location]: amount for amount, location in re.findall(r"^ +-?\d+ +(-?\d+): (\d+) *$", text, re.M)}
    assert samples == {"old_function": "-5000", "new_function": "7000"}


# --- valgrind's XML, OpenMetrics ---

def test_names_that_are_no_xml(tmp_path):
    made = trace()
    allocation(made, 0, 0x1000, "x\ufffe\uffff<&>\x0b\"", None, 24)
    made.put("NOTE", note="n\ufffe")
    root = xml.etree.ElementTree.parse(converted("valgrind", written(made, tmp_path / "t.mmt"))).getroot()
    assert root.findtext("error/stack/frame/fn") == 'x\ufffd\ufffd<&>\\x0b"'


def test_growth_that_is_not_known_has_no_value(tmp_path):
    made = trace()
    allocation(made, 0, 0x1000, "once", None, 24)
    made.put("END", 1000)
    (tmp_path / "t.mmt").write_bytes(made.bytes())
    found = gauges(converted("openmetrics", tmp_path / "t.mmt").read_text())
    assert [value for (key, _), value in found.items() if key == "group_live_bytes"] == [24]
    assert not [key for key, _ in found if "growth" in key]
