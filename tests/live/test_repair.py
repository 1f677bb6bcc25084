# SPDX-License-Identifier: MIT
"""`mmattach repair PID`: an int3 that is not in the file is removed; any other difference is left alone, and
reported."""
import pytest

from harness import Watch
from untouched import assert_untouched, code_differences, code_mappings

INT3 = 0xCC


def repair(pid):
    run = Watch("repair", pid, json_report=False)
    status = run.wait()
    return status, run.out.text() + run.err.text()


def poke(pid, address, value):
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as mem:
        mem.seek(address)
        mem.write(bytes([value]))


def peek(pid, address):
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as mem:
        mem.seek(address)
        return mem.read(1)[0]


def code_addresses(pid, n):
    """@n addresses of code, spread over the target's modules. No zeros: they may lie beyond the end of a
    segment."""
    found = []
    for lo, hi, _, _ in code_mappings(pid):
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as mem:
            mem.seek(lo)
            memory = mem.read(hi - lo)
        found += [lo + at for at in range(len(memory) // 3, len(memory), len(memory) // 3) if memory[at] not in (0, INT3)]
    assert len(found) >= n
    return found[:n]


def test_int3s_are_put_back(victim):
    target = victim("hot", 0, 2)
    addresses = code_addresses(target.pid, 5)
    for address in addresses:
        poke(target.pid, address, INT3)
    assert len(code_differences(target.pid)) == len(addresses)
    status, said = repair(target.pid)
    assert status == 0, said
    assert said.count("+0x") >= len(addresses), f"each place is named: {said}"
    assert_untouched(target)
    target.end()


def test_other_bytes_are_left_alone(victim):
    target = victim("hot", 0, 2)
    foreign, ours = code_addresses(target.pid, 2)
    old = peek(target.pid, foreign)
    poke(target.pid, foreign, old ^ 1 if old ^ 1 != INT3 else old ^ 2)
    differs = code_differences(target.pid)
    poke(target.pid, ours, INT3)
    status, said = repair(target.pid)
    assert code_differences(target.pid) == differs, said
    assert "left alone" in said or "left as" in said, said
    poke(target.pid, foreign, old)
    assert_untouched(target)
    target.end()


def test_nothing_to_repair(victim):
    target = victim("hot", 2)
    status, said = repair(target.pid)
    assert status == 0 and said.strip(), said
    assert_untouched(target)
    target.end()


def test_a_watched_target_is_refused(victim, attach):
    """Its int3s are in use: removing them would lose calls."""
    target = victim("hot", 2)
    watch = attach(target)
    status, said = repair(target.pid)
    assert status == 1 and str(watch.keeper()) in said, said
    assert watch.finish()["totals"]["allocs"] > 0
    assert_untouched(target)
    target.end()


@pytest.mark.parametrize("argument, status", [("999999999", 1), ("nonsense", 2)])
def test_no_such_process(argument, status):
    got, said = repair(argument)
    assert got == status and argument in said
