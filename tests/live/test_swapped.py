# SPDX-License-Identifier: MIT
"""Swapped memory stays swapped out, and what was not read is reported: on machines that have swap.

    dd if=/dev/zero of=swap bs=1M count=64; chmod 600 swap; mkswap swap; swapon swap      (as root)
"""
import ctypes
import os
import pathlib
import struct
import subprocess

import pytest

from harness import MMATTACH, wait_for
from test_pause import PAGE, Pauser, resident
from test_shares import Shares, shares  # noqa: F401
from test_verdicts import judged_by_us
from untouched import assert_untouched

PIDFD_OPEN, PROCESS_MADVISE = 434, 440
PAGEOUT = 21
LIBC = ctypes.CDLL(None, use_errno=True)


class Range(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("size", ctypes.c_size_t)]


def ask_to_page_out(pid, at, size):
    fd = LIBC.syscall(PIDFD_OPEN, pid, 0)
    assert fd >= 0, os.strerror(ctypes.get_errno())
    done = LIBC.syscall(PROCESS_MADVISE, fd, ctypes.byref(Range(at, size)), ctypes.c_size_t(1), PAGEOUT, 0)
    err = ctypes.get_errno()
    os.close(fd)
    if done < 0:
        pytest.skip(f"optional: process_madvise: {os.strerror(err)}")


def page_out(pid, at, size):
    """Make the kernel swap out that range, which the process uses at least in part; the process itself does
    nothing. Pages that are in use at the moment are skipped at first."""
    def gone():
        ask_to_page_out(pid, at, size)
        with open(f"/proc/{pid}/pagemap", "rb") as pagemap:
            pagemap.seek(at // PAGE * 8)
            return not any(entry >> 63 for (entry,) in struct.iter_unpack("<Q", pagemap.read(size // PAGE * 8)))

    wait_for(gone, "it is swapped out")


@pytest.fixture(autouse=True)
def swap():
    if "SwapFree:              0 kB" in pathlib.Path("/proc/meminfo").read_text():
        pytest.skip("optional: this machine has no swap")


def own(pid):
    """Resident memory without the kernel's own code (vdso), which is read for its names and takes no
    memory."""
    vdso = [line.split()[0] for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines() if line.endswith("[vdso]")]
    return {where: kib for where, kib in resident(pid).items() if where[0] not in vdso}


def swapped(pid):
    return {where: kib for where, kib in resident(pid).items() if where[1] == "Swap" and kib}


def test_swapped(victim):
    """A swapped block is a hole, and the reports of a scan, and of a watch, say how much was swapped out."""
    target = victim("still")
    target.ask("quiet")
    at, size, _ = max(target.ask("where")["blocks"], key=lambda b: b[1])
    page_out(target.pid, at, size)
    before = own(target.pid)
    out = sum(swapped(target.pid).values())
    assert out == size // 1024, swapped(target.pid)
    sentence = f"{out} KiB of memory were swapped out and not read: what only a pointer there holds is taken for lost"
    p = Pauser(target.pid)
    for _ in range(10):
        had = p.pause()
        assert (had["swapped"], had["missing"]) == (size, 0), had
    assert p.ask(f"word {at + size // 2}") == {"word": None, "kind": 3}
    p.end()
    said = subprocess.run([MMATTACH, "scan", "-p", str(target.pid)], capture_output=True, text=True, timeout=60)
    assert said.returncode == 0, said.stderr
    assert "NOT READ: swapped out" in said.stdout and sentence in said.stdout, said.stdout
    assert own(target.pid) == before
    assert_untouched(target)  # this reads code that was not resident
    said = subprocess.run([MMATTACH, "-p", str(target.pid), "-d", "0.2s", "--verdicts", "yes"], capture_output=True, text=True, timeout=60)
    assert said.returncode == 0 and sentence in said.stdout, said.stdout + said.stderr
    assert sum(swapped(target.pid).values()) == out
    assert_untouched(target)
    assert target.end() == {"damaged": 0, "eintr": 0}


def test_swapped_out_of_shared_memory(shares):  # noqa: F811
    """Then it has no page in the page table, like memory that was never used; and that is reported."""
    target = shares()
    m = target.maps["anonymous"]
    page_out(target.pid, m["map"], m["pages"] * PAGE)
    before = own(target.pid)
    ours, answer = judged_by_us(target.told(), target.pid)
    assert ours.sites["anonymous"] == {"definite": 1}
    assert ours.sites["sysv"] == {"reachable": 1}
    unseen = (4 * 8 + 8 + 2 * 16) * PAGE // 1024
    assert len(answer["doubts"]) == 1 and f"{unseen} KiB of shared memory have no page" in answer["doubts"][0], answer["doubts"]
    assert own(target.pid) == before
    assert_untouched(target)
    target.end()
