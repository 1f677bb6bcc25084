#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records the inputs of tests/golden/run.py: small traces of the victims, and a core file with its program.

    make all victims && python3 tests/golden/record.py [NAME ...]

Needed only for adding a new kind of trace to the goldens: recording an input again changes every golden made
of it. The folder in which this is run is in the traces (paths of sources); it was /src/mmattach.
"""
import lzma
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path[:0] = [str(TOP / "tests/live"), str(TOP / "tests/gdb")]
from harness import Victim, Watch  # noqa: E402
from session import Gdb, sourced  # noqa: E402

INPUTS = HERE / "inputs"


def watch(name, victim, *options, orders=(), seconds=0.0, end=True):
    """INPUTS/NAME.mmt: @victim (its name and arguments) watched with @options while it carries out
    @orders."""
    v = Victim(*victim, cwd=TOP)
    try:
        w = Watch("-p", v.pid, "-o", INPUTS / f"{name}.mmt", *options, json_report=False, cwd=TOP).wait_watching()
        for order in orders:
            v.ask(order)
        time.sleep(seconds)
        w.interrupt()
        w.wait()
        return w.out.text()
    finally:
        v.kill()


def service():
    watch("service", ["leaky_service"], seconds=0.7)


def service_later():
    watch("service_later", ["leaky_service"], seconds=1.2)


def pieces():
    watch("pieces", ["leaky_service"], "--rotate", "64K", seconds=3.5)


def unjudged():
    watch("unjudged", ["leaky_service"], "--verdicts", "no", "--sizes", "exact", seconds=0.4)


def verdicts():
    watch("verdicts", ["loser"], orders=["lose 30", "keep 20", "inside 5", "chain 4", "head 3", "ends 3"])


def medley():
    watch("medley", ["medley"], "--free-stacks", orders=["go"])


def wrappers():
    watch("wrappers", ["wrappers"], seconds=0.5)


def refs():
    watch("refs", ["refs"], "--ref", "object_ref:object_unref:arg1:birth=object_new,object_create",
          orders=["run 60", "make 3", "more 2", "hidden 2"])


def counted_refs():
    watch("counted_refs", ["refs"], "--ref", "object_ref:object_unref:arg1:count=+0x50/4:birth=object_new,object_create",
          orders=["make 2", "run 40", "hidden 3"])


def families():
    watch("families", ["fds"], "--family", "libc,fd", orders=["go 3", "go 2"])


def growth():
    watch("growth", ["grower"], "--growth", orders=["leak 3000", "threads 2", "map 3", "unmap 1", "hold", "grow 2", "pages", "cut", "apart", "use"])


def scopes():
    watch("scopes", ["scopes", TOP / "build/victims/libscope.so"], "--in", "inside", orders=["0 in 4", "1 in 2", "2 keep 3"])


def jit():
    watch("jit", ["jit"], orders=["framed 4", "bare 3", "tiers 5"])


def sampled():
    watch("sampled", ["sampled"], "--budget", "5%", seconds=25)


def children():
    watch("children", ["twins"], orders=["take 3", "fork 10", "child", "give 1"])


def started():
    """From its first instruction to its end."""
    w = Watch("-o", INPUTS / "started.mmt", "--", "build/victims/losses", "build/victims/liblosses.so", json_report=False, cwd=TOP)
    w.wait()


def unloaded():
    """Code of a module that is unloaded when the watch ends."""
    watch("unloaded", [TOP / "build/victims/dl"], orders=["open", "call 5", "close", "open", "call 2"])


def in_gdb():
    """The other frontend."""
    v = Victim("loser", cwd=TOP)
    gdb = sourced(Gdb())
    try:
        gdb.do(f"attach {v.pid}")
        gdb.mmleak("start", "-o", INPUTS / "in_gdb.mmt")
        gdb.during(v, "lose 6", "keep 4", "chain 2")
        gdb.mmleak("stop")
    finally:
        gdb.kill()
        v.kill()


def core():
    """A core of a static program, so that nothing of this machine's libraries is in its scan."""
    folder = TOP / "build/golden"
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["g++", "-O2", "-g", "-pthread", "-D_GNU_SOURCE", "-static", "-s", "-I", TOP / "tests/victims",
                    "-o", folder / "held", TOP / "tests/victims/held.cc"], check=True)
    v = Victim(folder / "held", "1", "60", "7")
    try:
        subprocess.run(["gdb", "-nx", "-batch", "-p", str(v.pid), "-ex", f"generate-core-file {folder / 'core'}"],
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    finally:
        v.kill()
    for name in ("held", "core"):
        with open(folder / name, "rb") as plain, lzma.open(INPUTS / f"{name}.xz", "wb", preset=9) as packed:
            shutil.copyfileobj(plain, packed)
    # the goldens include a scan without --exe whose program is gone
    shutil.rmtree(folder)


RECORDINGS = [service, service_later, pieces, unjudged, verdicts, medley, wrappers, refs, counted_refs, families, growth, scopes, jit,
              sampled, children, started, unloaded, in_gdb, core]


def main():
    INPUTS.mkdir(exist_ok=True)
    for recording in RECORDINGS:
        if len(sys.argv) == 1 or recording.__name__ in sys.argv[1:]:
            print(recording.__name__, flush=True)
            recording()


if __name__ == "__main__":
    main()
