# SPDX-License-Identifier: MIT
"""Both engines side by side: what a call costs, what mmattach itself uses, how long attaching and detaching take,
and what is left of a service's speed.

Time is that of the watched program's own clock. Beside other programs a thread waits for a processor, which no
engine can help: that time (schedstat) is left out, and the rows .../wall have it. The first two seconds of each
watch are left out, too. What an entry into the kernel costs differs several times between machines; so there
are also the rows .../probe, the cost of a hit of a uprobe that does nothing (bench/probe.c), and .../probes,
a pair as a multiple of it.

Each watch's losses are a row: what its report calls lost, and what is neither in there nor in its counts,
though the program has done it.
"""
import contextlib
import functools
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import real  # from here on the recipes' folder is on the path
import redis
from pauses import Talk
from sides import PROGRAMS, Failed, Mmattach, Target, end, read_line

from service import Service, missing, run  # noqa: E402

# The watches that are compared. One that mmattach does not know is left out.
WATCHES = {
    "uprobe": ["--engine", "uprobe"],
    "ptrace": ["--engine", "ptrace", "--lose-sigtrap"],
    "sampled": ["--engine", "uprobe", "--sample", "512K"],
}
# As on kernels before 6.14, which have no return probe that is safe: each exit of malloc is probed.
OF_A_PAIR = {"no_returns": ["--engine", "uprobe-multi"]}
OPTIONS = {**WATCHES, **OF_A_PAIR}
COUNTS_ALL = ["uprobe", "ptrace", "no_returns"]  # their counts are those of all calls, not estimates

# {shape: (what, hot threads, frames, {watch: microseconds a pair at most})}
PAIRS = {
    "pair12": ("12 frames", 1, 12, {"uprobe": 3.0, "sampled": 1.9}),
    "pair30": ("30 frames", 1, 30, {"uprobe": 3.5, "sampled": 1.9}),
    "two": ("two threads", 2, 12, {"uprobe": 4.0}),
}
OF_PTRACE = 0.15  # at most, of what the first engine costs
SETTLED_S = 2
EVERY = 64  # pairs between two readings of the clock
COST_S = 10  # of a watch whose CPU time and memory are taken
IDLE = 3000
SERVED_SLICES = 3  # in a row, of a service
TICKS = os.sysconf("SC_CLK_TCK")  # a second


class Watch(Mmattach):
    """mmattach with the options of the watch @name. Has ended after the block, not only left the target;
    .peak_mb and .cpu_s are of all its processes."""

    def __init__(self, name, target, *more):
        self.name = name
        self.options = [*OPTIONS[name], *more]
        super().__init__(target)

    def find_keeper(self):
        return self.process.pid

    def pids(self):
        return [self.process.pid, *children(self.process.pid)]

    def __exit__(self, *exc):
        self.peak_mb = sum(peak_kb(pid) for pid in self.pids()) / 1024
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        super().__exit__(*exc)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.cpu_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        if not OPTIONS[self.name][1].startswith(self.run["engine"]):
            raise Failed(f"{self.name} was by {self.run['engine']}")

    @property
    def lost(self):
        return sum(self.run["lost"].values())

    def missed(self, calls):
        """Events lost, and those that are in no count of the report, though the program has made @calls
        pairs."""
        n = self.lost + (abs(2 * calls - self.run["events"] - self.lost) if self.name in COUNTS_ALL else 0)
        if n:
            print(f"bench: {self.name}: of {2 * calls} events it has {self.run['events']}; lost {self.run['lost']}, "
                  f"gaps {self.run['gaps']}, {self.report['notes']}", file=sys.stderr)
        return n


def children(pid):
    """Of a process whose main thread has started them."""
    return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def peak_kb(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(errors="replace")
    return int(status.split("VmHWM:")[1].split()[0])


def cpu_s(pids):
    """What these processes have used until now (proc(5): fields 14 and 15 of stat)."""
    stats = [pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split() for pid in pids]
    return sum(int(stat[11]) + int(stat[12]) for stat in stats) / TICKS


def known():
    """The watches that this mmattach knows."""
    done = subprocess.run([Mmattach.program, "help", "all"], capture_output=True, text=True, check=True)
    options = done.stdout.split()
    return [name for name, words in WATCHES.items() if all(word in options for word in words if word[:2] == "--")]


def in_turn(items, turn):
    at = turn % len(items)
    return items[at:] + items[:at]


# --- a pair ---


class Probe:
    """A uprobe that does nothing, at bare_hit of @target's first hot thread."""

    def __init__(self, target):
        words = [PROGRAMS / "probe", target.tids[0], *file_of(target.pid, target.bare_hit)]
        self.process = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, bufsize=0)

    def __enter__(self):
        if read_line(self.process.stdout, "probe") != "ready\n":
            raise Failed(f"probe ended: status {end(self.process)}")
        return self

    def __exit__(self, *exc):
        self.process.stdin.close()
        hits = int(read_line(self.process.stdout, "probe") or 0)
        end(self.process)
        self.process.stdout.close()
        if not hits:
            raise Failed("the uprobe that does nothing was not hit")


def file_of(pid, address):
    """(file, offset in it) of an address that is in a mapping of code."""
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines():
        words = line.split(maxsplit=5)
        begin, over = (int(word, 16) for word in words[0].split("-"))
        if begin <= address < over:
            return words[-1], address - begin + int(words[2], 16)
    raise Failed(f"no mapping of {pid} has {address:#x}")


def microseconds(result):
    """(of its own and of the tracer, by the wall) of a call of each thread."""
    return (result["ns_per_call"] - result["ready_ns_per_call"]) / 1000, result["ns_per_call"] / 1000


def calls_of(result):
    return sum(thread["calls"] for thread in result["threads"])


def watched_pairs(name, target, plan):
    """(microseconds, microseconds by the wall, events missed)"""
    with Watch(name, target) as watch:
        warming = target.run("pairs", 1000 * SETTLED_S, EVERY)
        result = target.run("pairs", plan.slice_ms, EVERY)
    return (*microseconds(result), watch.missed(calls_of(warming) + calls_of(result)))


def unwatched_pairs(target, plan):
    return (*microseconds(target.run("pairs", plan.slice_ms, EVERY)), 0)


def empty_hits(target, plan):
    with Probe(target):
        target.run("bare", 100, EVERY)
        return (*microseconds(target.run("bare", plan.slice_ms, EVERY)), 0)


def all_pairs(hot, depth, plan):
    """{side: [(microseconds, by the wall, missed) of each round]}"""
    sides = {"alone": unwatched_pairs, "probe": empty_hits}
    for name in [*known(), *OF_A_PAIR]:
        sides[name] = lambda target, plan, name=name: watched_pairs(name, target, plan)
    if hot > 1:
        del sides["probe"]
    had = {name: [] for name in sides}
    with Target(hot=hot, depth=depth) as target:
        target.run("pairs", 200, EVERY)
        for turn in range(plan.rounds):
            for name in in_turn(list(sides), turn):
                had[name].append(sides[name](target, plan))
    return had


def pair(plan):
    for shape, (what, hot, depth, bars) in PAIRS.items():
        had = all_pairs(hot, depth, plan)
        us = {name: [value[0] for value in values] for name, values in had.items()}
        probe = us.pop("probe", None)
        if probe:
            yield {"name": f"engines/{shape}/probe", "what": "a hit of a uprobe that does nothing", "unit": "us",
                   "values": probe}
        for name, values in us.items():
            row = f"engines/{shape}/{name}"
            yield {"name": row, "what": f"malloc+free, {what}: {name}", "unit": "us", "values": values,
                   "at_most": bars.get(name)}
            if name == "alone":
                continue
            yield {"name": f"{row}/wall", "what": "the same, with waiting for a processor", "unit": "us",
                   "values": [value[1] for value in had[name]]}
            if probe:
                yield {"name": f"{row}/probes", "what": "the same, in hits of a uprobe that does nothing",
                       "values": [a / b for a, b in zip(values, probe)]}
            if name != "ptrace":
                yield {"name": f"{row}/ptrace", "what": f"{name} / ptrace", "at_most": OF_PTRACE,
                       "values": [a / b for a, b in zip(values, us["ptrace"])]}
            yield {"name": f"{row}/missed", "what": "events lost, or in no count", "at_most": 0,
                   "values": [value[2] for value in had[name]]}


# --- mmattach itself ---


def used(name):
    """Of one watch: (peak MB; seconds of CPU per million events, in all; the same without start and report)"""
    with Target() as target:
        with Watch(name, target) as watch:
            before = cpu_s(watch.pids())
            target.run("pairs", 1000 * COST_S, EVERY)
            hits_s = cpu_s(watch.pids()) - before
    millions = watch.run["events"] / 1e6
    return watch.peak_mb, watch.cpu_s / millions, hits_s / millions


def cost(plan):
    names = known()
    had = {name: [] for name in names}
    for turn in range(plan.rounds):
        for name in in_turn(names, turn):
            had[name].append(used(name))
    for name, values in had.items():
        rss, cpu, hits = zip(*values)
        if name in COUNTS_ALL:  # of a sample the events are those of few calls
            yield {"name": f"engines/cpu/{name}", "what": f"CPU time of mmattach per million events: {name}", "unit": "s",
                   "values": list(hits)}
            yield {"name": f"engines/cpu/{name}/all", "what": f"the same, with start and report ({COST_S} s of hits)",
                   "unit": "s", "values": list(cpu)}
        yield {"name": f"engines/rss/{name}", "what": "peak memory of all its processes, nothing live",
               "unit": "MB", "values": list(rss)}


# --- coming and going ---


def attach(plan):
    names = known()
    had = {name: [] for name in names}
    with Target(idle=IDLE) as target:
        for turn in range(plan.rounds):
            for name in in_turn(names, turn):
                target.begin("pairs", 2000, EVERY)
                with Watch(name, target, "--verdicts", "no") as watch:
                    time.sleep(0.5)
                target.result()
                had[name].append((1000 * watch.attach_s, 1000 * watch.detach_s))
    for name, values in had.items():
        coming, leaving = zip(*values)
        yield {"name": f"engines/attach/{name}", "what": f"from start to watching, {IDLE} threads: {name}",
               "unit": "ms", "values": list(coming), "at_most": 150}
        yield {"name": f"engines/detach/{name}", "what": "from SIGINT to mmattach's end, with a report",
               "unit": "ms", "values": list(leaving), "at_most": 100}


# --- services ---

NGINX = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/log;
events {{ worker_connections 64; }}
http {{
	access_log off; keepalive_requests 1000000000;
	client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
	uwsgi_temp_path {folder}; scgi_temp_path {folder};
	server {{ listen 127.0.0.1:8080; location / {{ root {folder}; }} }}
}}
"""


PATHS = "LD_LIBRARY_PATH"


@contextlib.contextmanager
def own_library(folder, library):
    """Programs that are started in the block use a copy of @library, which it yields. bpftrace, whose -p does not
    keep it from probing all processes that use a file, then probes the service alone, and not its clients."""
    copies = pathlib.Path(folder, "lib")
    copies.mkdir()
    os.environ[PATHS] = str(copies)
    try:
        yield shutil.copy(library, copies)
    finally:
        as_ever()


def as_ever():
    """From here on, programs use the system's libraries."""
    os.environ.pop(PATHS, None)


class Switch(real.BenchOvs):
    def begin(self):
        process = super().begin()
        self.env.pop(PATHS, None)
        return process


class Recipe:
    """One of the real services, with its load."""

    def __init__(self, recipe, folder):
        self.service = recipe(folder)

    def __enter__(self):
        self.service.__enter__()
        self.pid = self.service.pid
        return self

    def __exit__(self, *exc):
        self.service.__exit__(*exc)

    def rate(self, seconds):
        return real.rate(self.service, seconds)


class Redis(redis.Redis):
    """Debian's uses jemalloc."""

    def __enter__(self):
        as_ever()
        return super().__enter__()


class Nginx(Service):
    """One process in a network namespace, and ab in there with it, over loopback."""

    def begin(self):
        (self.folder / "page").write_text("x" * 2000)
        config = self.folder / "nginx.conf"
        config.write_text(NGINX.format(folder=self.folder))
        process = self.start("unshare", "-n", "sh", "-c", 'ip link set lo up; exec "$@"', "sh", "nginx", "-c", config)
        self.process = process
        self.wait_ready((self.folder / "pid").exists, "nginx listens")
        return process

    def rate(self, seconds):
        said = run("nsenter", "-t", self.process.pid, "-n", "ab", "-q", "-k", "-c", "8",
                   "-t", max(1, round(seconds)), "-n", "10000000", "http://127.0.0.1:8080/page")
        return float(said.split("Requests per second:")[1].split()[0])


class Cxx(Talk):
    """bench/cxx_service.cc; its clients see to their libraries themselves."""

    def __init__(self, _):
        super().__init__(PROGRAMS / "cxx_service", "4")
        self.pid = int(self.first.split()[1])

    def rate(self, seconds):
        began, before = time.monotonic(), self.ask("served")["served"]
        time.sleep(seconds)
        return (self.ask("served")["served"] - before) / (time.monotonic() - began)


JEMALLOC = "/lib/x86_64-linux-gnu/libjemalloc.so.2"

# {name: (what, how it is started, its allocator, what else it needs, {watch: times slower at most})}
SERVICES = {
    "gluster": ("a GlusterFS mount", functools.partial(Recipe, real.Gluster), real.LIBC, real.Gluster.needs,
                {"uprobe": 2.0}),
    "ovs": ("ovs-vswitchd, flows", functools.partial(Recipe, Switch), real.LIBC, Switch.needs, {"uprobe": 4.0}),
    "redis": ("redis with jemalloc, SET", Redis, JEMALLOC, redis.NEEDS, {}),
    "nginx": ("nginx, a small file", Nginx, real.LIBC, ["nginx", "ab", "unshare", "nsenter", "ip"], {}),
    "cxx": ("a service in C++, 4 threads", Cxx, real.LIBC, [], {}),
}


class Served:
    """What a service did in a slice under a side."""

    def __init__(self, side, service, plan):
        with side(service) as self.watch:
            if side is not real.unwatched:
                service.rate(SETTLED_S)
            before, began = cpu_s([service.pid]), time.monotonic()
            self.rate = service.rate(SERVED_SLICES * plan.slice_ms / 1000)
            seconds, used_s = time.monotonic() - began, cpu_s([service.pid]) - before
        self.cpu_s = max(used_s, 1 / TICKS) / (self.rate * seconds)  # per unit of load

    @property
    def lost_percent(self):
        return 100 * self.watch.lost / max(1, self.watch.lost + self.watch.run["events"])


def all_served(start, library, plan):
    """{side: [Served of each round]}"""
    sides = {"alone": real.unwatched}
    if shutil.which("bpftrace"):
        sides["bpftrace"] = real.Bpftrace
    for name in known():
        sides[name] = functools.partial(Watch, name)
    had = {name: [] for name in sides}
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="mm-bench-"))
        with own_library(folder, library) as copy:
            service = stack.enter_context(start(folder))
        if str(copy) not in pathlib.Path(f"/proc/{service.pid}/maps").read_text(errors="replace"):
            raise Failed(f"the service does not use {copy}")
        service.library = copy
        service.rate(1)
        for turn in range(plan.rounds):
            for name in in_turn(list(sides), turn):
                had[name].append(Served(sides[name], service, plan))
    return had


def slower(had, fast, slow):
    return [a.rate / b.rate for a, b in zip(had[fast], had[slow])]


def dearer(had, cheap, dear):
    return [b.cpu_s / a.cpu_s for a, b in zip(had[cheap], had[dear])]


def service_rows(name, what, had, bars):
    yield {"name": f"engines/{name}", "what": f"{what}: load a second, alone",
           "values": [served.rate for served in had["alone"]]}
    for side in list(had)[1:]:
        row = f"engines/{name}/{side}"
        yield {"name": row, "what": f"the same: alone / under {side}", "values": slower(had, "alone", side),
               "at_most": bars.get(side)}
        if side != "ptrace":  # time in a stop is not CPU time
            yield {"name": f"{row}/cpu", "what": f"its CPU time per unit of load: under {side} / alone",
                   "values": dearer(had, "alone", side)}
        if side in ("uprobe", "sampled") and "bpftrace" in had:
            yield {"name": f"{row}/ahead", "what": f"load under bpftrace / under {side}", "at_most": 1.0,
                   "values": slower(had, "bpftrace", side)}
            yield {"name": f"{row}/ahead-cpu", "what": f"CPU time per unit of load: under {side} / under bpftrace",
                   "at_most": 1.0, "values": dearer(had, "bpftrace", side)}
        if side in WATCHES:
            yield {"name": f"{row}/lost", "what": "events lost", "unit": "%",
                   "values": [served.lost_percent for served in had[side]]}


def services(plan):
    """The rows. A service that is not installed has none, and a message says so."""
    if not shutil.which("bpftrace"):
        print("bench: bpftrace is not installed", file=sys.stderr)
    for name, (what, start, library, needs, bars) in SERVICES.items():
        if missing(library, *needs):
            print(f"bench: {name}: not installed: {' '.join(missing(library, *needs))}", file=sys.stderr)
            continue
        yield from service_rows(name, what, all_served(start, library, plan), bars)


PARTS = {"pair": pair, "cost": cost, "attach": attach, "services": services}
