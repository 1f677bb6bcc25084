# SPDX-License-Identifier: MIT
"""Real services under full watching: how much slower their load is served, compared with bpftrace doing
similar work.

Three sides alternate at one running service: no tracer, mmattach (family libc), and bpftrace with a map of
live blocks and their stacks, as far as the kernel can unwind them. A value is the load served without a
tracer over the load served under the tracer in the same round. The load comes from one client that waits for
each answer, so a value is what a caller of the service would notice.
"""
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from sides import LIMIT, TOP, Failed, Mmattach, end

sys.path[:0] = [str(TOP / "tests/live"), str(TOP / "tests/real/recipes")]

from gluster import Gluster  # noqa: E402
from openvswitch import Ovs  # noqa: E402
from service import missing  # noqa: E402

LIBC = "/lib/x86_64-linux-gnu/libc.so.6"
SCRIPT = """
interval:ms:100 { printf("attached\\n"); }
uprobe:LIBC:malloc { @size[tid] = arg0 + 1; }
uprobe:LIBC:calloc { @size[tid] = arg0 * arg1 + 1; }
uprobe:LIBC:realloc { @size[tid] = arg1 + 1; delete(@live[arg0]); }
uprobe:LIBC:aligned_alloc { @size[tid] = arg1 + 1; }
uprobe:LIBC:posix_memalign { @size[tid] = arg2 + 1; @where[tid] = arg0; }
uretprobe:LIBC:malloc, uretprobe:LIBC:calloc, uretprobe:LIBC:realloc, uretprobe:LIBC:aligned_alloc /@size[tid]/ {
	@live[retval] = (@size[tid], ustack(perf, 12));
	@allocs = count();
	delete(@size[tid]);
}
uretprobe:LIBC:posix_memalign /@size[tid]/ {
	@live[*(uint64 *)@where[tid]] = (@size[tid], ustack(perf, 12));
	@allocs = count();
	delete(@size[tid]);
	delete(@where[tid]);
}
uprobe:LIBC:free { delete(@live[arg0]); }
END { print(@allocs); clear(@live); clear(@size); clear(@where); clear(@allocs); }
"""


def unwatched(_):
    """The service without a tracer."""
    return contextlib.nullcontext()


class Watched(Mmattach):
    """mmattach. glusterfs has a handler for SIGTRAP, and works without it as well."""

    options = ["--lose-sigtrap"]


class Bpftrace:
    """Uprobes on the same functions, of the C library or of service.library."""

    def __init__(self, service):
        environment = {**os.environ, "BPFTRACE_MAP_KEYS_MAX": "1000000"}
        script = SCRIPT.replace("LIBC", getattr(service, "library", LIBC))
        self.process = subprocess.Popen(
            ["bpftrace", "-p", str(service.pid), "-e", script], env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace")
        self.attached = threading.Event()
        self.said = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            if line == "attached\n":
                self.attached.set()
            else:
                self.said.append(line)
        self.attached.set()

    def __enter__(self):
        if not self.attached.wait(LIMIT) or self.process.poll() is not None:
            self.process.kill()
            raise Failed(f"bpftrace did not attach\n{''.join(self.said)}")
        return self

    def __exit__(self, *exc):
        self.process.send_signal(signal.SIGINT)
        end(self.process)
        self.reader.join()
        if not any(line.startswith("@allocs: ") and line.strip() != "@allocs: 0" for line in self.said):
            raise Failed(f"bpftrace saw no call\n{''.join(self.said)}")


class BenchOvs(Ovs):
    """Its load is one that keeps its daemon busy, not the start of the controller's programs."""

    FLOWS = 200

    def begin(self):
        process = super().begin()
        self.flows = self.folder / "flows"
        self.flows.write_text("".join(f"priority={i},in_port=1,ip,nw_dst=198.51.100.{i},actions=output:2\n"
                                      for i in range(1, self.FLOWS + 1)))
        return process

    def work(self, turn):
        self.call("ovs-ofctl", "add-flows", f"unix:{self.bridge}", self.flows)
        self.call("ovs-ofctl", "dump-flows", f"unix:{self.bridge}")
        self.call("ovs-ofctl", "del-flows", f"unix:{self.bridge}")


def rate(service, seconds):
    """Units of load per second."""
    begin = time.monotonic()
    return service.load(seconds) / (time.monotonic() - begin)


def turns(service, sides, plan):
    """{side: [rate of each round]}, in a rotating order."""
    rates = {side: [] for side in sides}
    for turn in range(plan.rounds):
        at = turn % len(sides)
        for side in sides[at:] + sides[:at]:
            with side(service):
                rates[side].append(rate(service, plan.slice_ms / 1000))
    return rates


def rows_of(name, what, recipe, sides, plan):
    with tempfile.TemporaryDirectory(prefix="mm-bench-") as folder, recipe(folder) as service:
        service.load(0.5)
        rates = turns(service, [unwatched, *sides], plan)
    names = {Watched: "mmattach", Bpftrace: "bpftrace"}
    for side in sides:
        yield {"name": f"{name}_{names[side]}", "what": f"{what}: load alone / under {names[side]}",
               "values": [alone / under for alone, under in zip(rates[unwatched], rates[side])]}


def measure(plan):
    """The rows. A service that is not installed has none, and a message says so."""
    sides = [Watched, Bpftrace]
    if not shutil.which("bpftrace"):
        print("bench: bpftrace is not installed", file=sys.stderr)
        sides.remove(Bpftrace)
    for name, what, recipe in [("gluster", "a GlusterFS mount", Gluster),
                               ("ovs", "ovs-vswitchd, flows", BenchOvs)]:
        if missing(*recipe.needs):
            print(f"bench: not installed: {' '.join(missing(*recipe.needs))}", file=sys.stderr)
            continue
        yield from rows_of(name, what, recipe, sides, plan)
