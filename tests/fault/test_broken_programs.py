# SPDX-License-Identifier: MIT
"""Programs of the second engine that are wrong (broken.bpf.c): the engine refuses itself before anything is probed, or
says how much is missing, and the target goes on."""
import os
import pathlib
import random
import re
import sys

import pytest

LIVE = pathlib.Path(__file__).resolve().parents[1] / "live"
sys.path.insert(0, str(LIVE))

from engines import has_uprobe  # noqa: E402
from harness import MMATTACH, Watch, hits, lost, rounds  # noqa: E402
from test_exact import MARKS, OPS, assert_equal  # noqa: E402
from untouched import assert_untouched  # noqa: E402

WAYS = ["uprobe-session", "uprobe-multi", "uprobe-perf"]
INEXACT = r"does not record calls exactly: of \d+ in a test, there is no record, or a wrong one, of (the end of )?call \d+"
SHARED = r"keeps the stacks of the programs where threads would overwrite each other's"


@pytest.fixture(autouse=True, scope="module")
def _engine():
    if not has_uprobe():
        pytest.skip("clang or libbpf-dev is not installed")


def broken(kind):
    if kind == "shares" and pathlib.Path("/proc/sys/kernel/kptr_restrict").read_text().strip() == "2":
        pytest.skip("the compiled code cannot be read here: the programs would run, which may crash the kernel")
    return MMATTACH.parent / "fault" / kind / "mmattach"


def are_right_here(kind):
    """Not each kernel of these versions gives such programs stacks that threads share: there they are not wrong. That it
    is noticed where they are, tests/unit/attach/uprobe has for the code of other kernels."""
    if kind != "shares":
        return False
    run = Watch("-p", os.getpid(), "-d", "1s", "--engine", "uprobe", program=broken(kind))
    return run.wait() == 0 and "watching" in run.err.text()


@pytest.mark.parametrize("kind, reason", [("loses", INEXACT), ("shares", SHARED)])
@pytest.mark.parametrize("way", WAYS)
def test_it_refuses_itself(victim, kind, reason, way):
    if are_right_here(kind):
        return
    target = victim("hot", 2, 3)
    for _ in range(rounds(3, 100)):
        run = Watch("-p", target.pid, "-d", "1s", "--engine", way, program=broken(kind))
        assert run.wait() == 1
        assert re.search(f"cannot watch with --engine {way}: this kernel .*{reason}", run.err.text())
        assert "watching" not in run.err.text()
        assert_untouched(target)
    target.end()


@pytest.mark.parametrize("kind, reason", [("loses", INEXACT), ("shares", SHARED)])
def test_auto_takes_ptrace(victim, kind, reason):
    """And that is exact."""
    if are_right_here(kind):
        return
    target = victim("exact", OPS)
    watch = Watch("-p", target.pid, "--engine", "auto", *MARKS, program=broken(kind)).wait_watching()
    told = target.ask(f"go {random.getrandbits(40)}", limit=120)
    report = watch.finish()
    assert re.search(f"by ptrace, as the kernel's probes cannot be had: .*{reason}", watch.err.text())
    assert report["run"]["engine"] == "ptrace"
    assert_equal(report, told)
    assert_untouched(target)
    target.end()


@pytest.mark.parametrize("sample", [[], ["--sample", "64K"]])
def test_what_is_missing_is_said(victim, sample):
    """The self-test finds nothing, since only the target's hits are lost."""
    target = victim("exact", OPS)
    watch = Watch("-p", target.pid, "--engine", "uprobe", *sample, program=broken("loses_later")).wait_watching()
    for _ in range(3):
        target.ask(f"go {random.getrandbits(40)}", limit=120)
    report = watch.finish()
    missing = lost(report)["hits of which the kernel has no record"]
    if not sample:
        seen = sum(hits(report, f"{rule}") for rule in ("alloc malloc", "free free"))
        assert missing >= seen // 2000
    assert missing > 0
    assert_untouched(target)
    target.end()
