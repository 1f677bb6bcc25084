# SPDX-License-Identifier: MIT
"""A report of very many groups: what is found out for each of them must not go through all of them again.

A ratio in one run, of processor time: a busy machine changes both.
"""
import copy
import resource
import subprocess

import pytest

import mmt
from mmt_made import Trace
from test_exports import MMATTACH

GROUPS = 50_000
AT_ONCE = 1_000     # groups in a block of the trace
SECOND = 1_000_000


def put_stacks(made):
    """A stack of two frames for each group."""
    for at in range(GROUPS):
        if at % AT_ONCE == 0:
            made.end_block()
        made.put("FRAME", number=at, pc=0x1000 + 16 * at)
        made.put("NAMES", frame=at, names=[f"function_{at}"])
        made.put("NODE", number=at + 1, caller=min(at, 1), frame=at)
        made.put("STACK", number=at, node=at + 1)


@pytest.fixture(scope="module")
def begun():
    """A trace in which only what a test adds is missing, and its end."""
    made = Trace(mode="exact")
    made.put("TARGET", pid=42, comm="svc", exe="/bin/svc")
    made.put("FAMILY_NAME", family=0, name="libc")
    put_stacks(made)
    put_blocks(made)
    return made


def many(begun, put_rest):
    made = copy.deepcopy(begun)
    put_rest(made)
    made.put("END", 60 * SECOND)
    return made.bytes()


def put_blocks(made):
    for at in range(GROUPS):
        if at % AT_ONCE == 0:
            made.end_block()
        made.put("ALLOC", 1000 * at, address=0x10000 + 0x40 * at, size=16 + at % 48, stack=at)


def put_nothing(_made):
    """No verdicts."""


def put_judged(made):
    """Each second block is lost with the one before it."""
    sums = [{"blocks": blocks, "bytes": 32 * blocks} for blocks in (0, GROUPS // 2, GROUPS // 2, 0, 0)]
    made.put("VERDICTS", number=1, flags=mmt.MMT["MMT_VERDICTS_TAKEN"] | mmt.MMT["MMT_VERDICTS_CENSUS"], judged=GROUPS, had_ns=1000, sums=sums)
    for verdict in (mmt.MMT["MMT_VERDICT_DEFINITE"], mmt.MMT["MMT_VERDICT_INDIRECT"]):
        for first in range(0, GROUPS, 2 * AT_ONCE):
            made.end_block()
            blocks = range(first + verdict - 1, first + 2 * AT_ONCE, 2)
            made.put("JUDGED", 50 * SECOND, verdict=verdict,
                     blocks=[{"address": 0x10000 + 0x40 * at, "with_blocks": 1,
                              "with_bytes": 32 if verdict == 1 else 0x10000 + 0x40 * (at - 1)} for at in blocks])


def seconds(path, top, expected):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    shown = subprocess.run([MMATTACH, "report", "--no-pager", "--top", str(top), path], capture_output=True, timeout=300, check=True).stdout
    assert shown.count(b"\n[") == expected
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


@pytest.mark.parametrize("put", [put_nothing, put_judged])
def test_all_groups_take_little_longer_than_ten(begun, tmp_path, put):
    path = tmp_path / "many.mmt"
    path.write_bytes(many(begun, put))
    some, all_of_them = seconds(path, 10, 10), seconds(path, 0, GROUPS)
    assert all_of_them <= 3 * some
