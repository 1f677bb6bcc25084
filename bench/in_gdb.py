# SPDX-License-Identifier: MIT
"""The cost of a hit under gdbscripts/mmleak.py, compared with a Python breakpoint that does nothing
(in_gdb_bare.py).

Both are measured in one gdb and on one target, alternating in slices, at the same addresses: those where the
watch has its breakpoints. gdb's own cost of a stop is then the same for both, and many times what either
script adds.
"""
import pathlib
import re
import sys

from sides import Failed, Mmattach, Target

TOP = pathlib.Path(__file__).parent.parent
sys.path[1:1] = [str(TOP / "tests/live"), str(TOP / "tests/gdb")]
from session import GDB, SCRIPT, Gdb  # noqa: E402  it knows how to talk to gdb

WARM_MS = 100
EVERY = 10  # pairs between two readings of the clock


def attached(target):
    gdb = Gdb("-ex", f"attach {target.pid}", "-ex", f"source {SCRIPT}")
    gdb.do(f"source {TOP / 'bench/in_gdb_bare.py'}")
    gdb.do(f"set mmleak program {Mmattach.program}")
    return gdb


def planted(gdb):
    """The addresses of the watch's breakpoints: the internal ones that are not gdb's own."""
    lines = gdb.do("maint info breakpoints").splitlines()
    return re.findall(r"^-\d+\s+breakpoint\s+keep\s+y\s+(0x[0-9a-f]+)", "\n".join(lines), re.M)


def slice_ns(gdb, target, ms):
    """The cost of a pair with the breakpoints as they are."""
    gdb.go()
    target.run("pairs", WARM_MS, EVERY)
    told = target.run("pairs", ms, EVERY)
    gdb.stop()
    return told["ns_per_call"]


def watched_ns(gdb, target, ms):
    """The cost of a pair under a watch; and the addresses of its breakpoints."""
    said = gdb.mmleak("start")
    addresses = planted(gdb)
    if not addresses:
        raise Failed(f"no watch in gdb: {said}")
    ns = slice_ns(gdb, target, ms)
    gdb.mmleak("stop")
    return ns, addresses


def bare_ns(gdb, target, ms, addresses):
    gdb.do(f"python planted = plant({addresses})")
    ns = slice_ns(gdb, target, ms)
    gdb.do("python lift(planted)")
    return ns


def one_round(gdb, target, ms):
    watched, addresses = watched_ns(gdb, target, ms)
    return watched, bare_ns(gdb, target, ms, addresses)


def measure(plan):
    """The rows of the table, as keyword arguments of run.py's Row."""
    if not GDB:
        raise Failed("gdb is not installed")
    ms = max(100, plan.slice_ms // 3)
    with Target(depth=12) as target:
        gdb = attached(target)
        try:
            pairs = [one_round(gdb, target, ms) for _ in range(plan.rounds)]
        finally:
            gdb.do("detach")
            gdb.leave()
    return [{
        "name": "gdb", "what": "in gdb: hit under mmleak / under a Python breakpoint",
        "values": [w / b for w, b in pairs], "at_most": 1.5
    }, {
        "name": "gdb/us", "what": "the same: a hit under mmleak", "unit": "us",
        "values": [w / 2000 for w, _ in pairs]
    }]
