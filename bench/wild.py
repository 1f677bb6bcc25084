# SPDX-License-Identifier: MIT
"""Real leaks in released programs (bench/wild): which of them each way of watching finds.

A program is started anew for each watch. Of the report it is asked whether a right row is called a leak, and its rank
among all rows; which rows that are not right are called leaks; and how much was served meanwhile, of what was served
before. valgrind and heaptrack start the program; of them it is only asked how much is served.

    bench/run.py --only wild		all programs that are installed, in each way; the table of bench/RESULTS.md
    bench/wild.py NAME... --way WAY	some of them, and what was printed goes to --keep FOLDER
"""
import argparse
import contextlib
import ctypes
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from sides import LIMIT, Failed, Mmattach, read_line

FOLDER = pathlib.Path(__file__).resolve().parent / "wild"
PR_SET_CHILD_SUBREAPER = 36
BEFORE_S = 10
SETTLED_S = 3
STARTED_S = 20
ATTACHED = {
    "exact": ["-d", "30s"],
    "uprobe": ["--engine", "uprobe", "-d", "30s"],
    "budget1": ["--budget", "1%", "-d", "120s"],
    "budget5": ["--budget", "5%", "-d", "60s"],
    "ptrace1": ["--engine", "ptrace", "--budget", "1%", "-d", "120s"],
    "scan": None,
}
STARTED = {"valgrind": "valgrind -q --leak-check=full --log-file=valgrind.log", "heaptrack": "heaptrack -o heaptrack"}
WAYS = [*ATTACHED, *STARTED]


def names():
    return sorted(path.parent.name for path in FOLDER.glob("*/about.json"))


def about(name):
    return json.loads((FOLDER / name / "about.json").read_text(encoding="utf-8"))


def descendants(pid):
    """All processes below @pid."""
    parents = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text(errors="replace").rpartition(")")[2].split()[1])
    found = {pid}
    while True:
        more = {child for child, parent in parents.items() if parent in found} - found
        if not more:
            return found - {pid}
        found |= more


class Program:
    """One of them, and its load. .pid is what is to be watched."""

    def __init__(self, name, wrap=""):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"mm-wild-{name}-"))
        self.folder.chmod(0o777)
        # what is left when a parent has ended is ours, and can be found
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.before = descendants(os.getpid())
        script = FOLDER / name / "start"
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen(
                ["unshare", "--net", "sh", "-c", f"ip link set lo up && exec sh '{script}'"], cwd=self.folder,
                env={**os.environ, "WRAP": wrap, "HERE": str(FOLDER / name)}, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=log, bufsize=0)
        try:
            self.pid = self.await_ready(name)
        except Failed:
            self.__exit__()
            raise

    def await_ready(self, name):
        line = "begun"
        while line and not line.startswith("ready "):
            line = read_line(self.process.stdout, name)
        if line:
            return int(line.split()[1])
        text = (self.folder / "log").read_text(errors="replace")
        raise Failed(f"{name} did not start: {text[-2000:]}")

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        end = time.monotonic() + LIMIT
        while (left := descendants(os.getpid()) - self.before) and time.monotonic() < end:
            for pid in left:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            time.sleep(0.01)
        self.process.stdout.close()
        self.process.poll()
        shutil.rmtree(self.folder, ignore_errors=True)

    def served(self):
        """Requests so far, and how many failed."""
        with contextlib.suppress(OSError, ValueError):
            text = (self.folder / "served").read_text().split()
            return int(text[0]), int(text[1])
        return 0, 0

    def rate(self, seconds):
        """How many were served a second."""
        began, before = time.monotonic(), self.served()[0]
        time.sleep(seconds)
        return (self.served()[0] - before) / (time.monotonic() - began)

    def alive(self):
        return pathlib.Path(f"/proc/{self.pid}").exists()


@dataclasses.dataclass
class Outcome:
    """Of one watch of one program."""

    rank: int  # of the first right row; 0: there is none
    leaks: bool  # is a right row called a leak?
    named: str  # the first right row's name
    false: list  # rows that are not right, and called leaks
    rows: int
    kept: float  # requests served, of those before
    failed: int
    alive: bool
    head: str  # the first line of the text report

    def line(self):
        verdict = "found" if self.leaks else "listed" if self.rank else "missed"
        text = f"{verdict}, row {self.rank or '-'} of {self.rows}, {len(self.false)} false, kept {self.kept:.2f}"
        if self.failed:
            text += f", {self.failed} failed"
        if not self.alive:
            text += ", DIED"
        return text + (f": {self.named}" if self.named else "")


def frame_text(frame):
    module = pathlib.PurePath(frame.get("module") or frame["file"]).name
    return f"{frame['function']} {module}+{frame.get('offset', '')}"


def is_one_of(patterns, row, report):
    texts = [frame_text(f) for g in row["groups"] for f in report["groups"][g].get("stack", [])]
    return any(re.search(pattern, text) for pattern in patterns for text in texts)


def is_leak(its, group):
    """Does the report call it a leak? Of a watch with a budget: does it say how much stays? Where blocks are kept without
    bound, that it grows is all that can be said."""
    estimate = group.get("estimate")
    if estimate:
        return (estimate["leaked_blocks_per_minute"][0] or 0) > 0
    if its["kind"] == "growth" and group["growth"]["shape"] == "grows":
        return True
    return group["verdict"] == "definite"


def leaks(its, row, report):
    return any(is_leak(its, report["groups"][g]) for g in row["groups"])


def scanned(its, rows, report, program, served):
    """A scan has no stacks: what it calls lost is the leak, where there is one."""
    lost = [row for row in rows if any(report["groups"][g]["verdict"] == "definite" for g in row["groups"])]
    there = its["kind"] != "none"
    return Outcome(rank=rows.index(lost[0]) + 1 if lost and there else 0, leaks=bool(lost) and there,
                   named=lost[0]["name"] if lost and there else "", false=[] if there else [row["name"] for row in lost],
                   rows=len(rows), kept=served[1] / served[0] if served[0] else 0, failed=served[2], alive=program.alive(), head="")


def outcome(its, way, report, head, program, served):
    """@served: requests a second before, and while it was watched; how many failed then."""
    rows = report["rows"]
    if way == "scan":
        return scanned(its, rows, report, program, served)
    right = [row for row in rows if is_one_of(its.get("right", []), row, report)]
    known = [*its.get("right", []), *its.get("also", [])]
    false = [row["name"] for row in rows if leaks({"kind": "leak"}, row, report) and not is_one_of(known, row, report)]
    first = right[0] if right else None
    return Outcome(rank=rows.index(first) + 1 if first else 0, leaks=any(leaks(its, row, report) for row in right),
                   named=first["name"] if first else "", false=false, rows=len(rows),
                   kept=served[1] / served[0] if served[0] else 0, failed=served[2], alive=program.alive(),
                   head=head)


def command(its, way, pid, trace):
    options = ATTACHED[way]
    if options is None:
        return [Mmattach.program, "scan", "-p", str(pid), "--format", "json"]
    return [Mmattach.program, "-p", str(pid), *options, *its.get("options", []), "--verbose", "-o", str(trace), "--format", "json"]


def watch(name, way, keep=None):
    """Start @name, and watch it; what was printed goes to the folder @keep, if given."""
    its = about(name)
    with Program(name) as program:
        time.sleep(SETTLED_S)
        before = program.rate(BEFORE_S)
        trace = program.folder / "watch.mmt"
        began, (served, failed) = time.monotonic(), program.served()
        done = subprocess.run(command(its, way, program.pid, trace), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", timeout=600)
        then = program.served()
        meanwhile = (then[0] - served) / (time.monotonic() - began)
        if not done.stdout:
            raise Failed(f"{name}, {way}: {done.stderr[-1000:]}")
        report = json.loads(done.stdout)
        text = "" if ATTACHED[way] is None else subprocess.run(
            [Mmattach.program, "report", str(trace)], capture_output=True, text=True, errors="replace").stdout
        if keep:
            keep = pathlib.Path(keep)
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{name}.{way}.json").write_text(done.stdout)
            (keep / f"{name}.{way}.txt").write_text(text)
            (keep / f"{name}.{way}.err").write_text(done.stderr)
            if trace.exists():
                shutil.copy(trace, keep / f"{name}.{way}.mmt")
        head = text.split("\n\n")[0].splitlines()
        return outcome(its, way, report, head[0] if head else "", program, (before, meanwhile, then[1] - failed))


def started(name, way, before):
    """How much of @before, the requests a second without it, is served where the tool starts the program."""
    with Program(name, STARTED[way]) as program:
        time.sleep(SETTLED_S)
        return program.rate(STARTED_S) / before if before else 0


def missing(name):
    packages = about(name).get("packages", [])
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *packages], text=True,
                          capture_output=True)
    there = {line.split()[0] for line in done.stdout.splitlines() if line.endswith(" installed")}
    return sorted(set(packages) - there)


def here():
    """Those that are installed; the others are named."""
    found = []
    for name in names():
        if missing(name):
            print(f"bench: {name} needs {' '.join(missing(name))}", file=sys.stderr)
        else:
            found.append(name)
    return found


def outcomes(way, rounds):
    """{name: its outcomes}, each printed as soon as it is known."""
    found = {}
    for name in here():
        for _ in range(rounds):
            try:
                result = watch(name, way)
            except (Failed, ValueError, subprocess.TimeoutExpired) as err:
                print(f"{name:18} {way:8} {err}", flush=True)
                continue
            print(f"{name:18} {way:8} {result.line()}", flush=True)
            found.setdefault(name, []).append(result)
    return found


def share(values):
    return sum(values) / len(values) if values else 0


def rows(plan):
    """Of each way: the share of leaks that are found, of the groups called leaks the right ones, what was served."""
    for way in ATTACHED:
        found = outcomes(way, min(plan.rounds, 3))
        leaks = [one for name, all_of_it in found.items() for one in all_of_it if about(name)["kind"] != "none"]
        right, false = sum(one.leaks for one in leaks), sum(len(one.false) for all_of_it in found.values() for one in all_of_it)
        yield {"name": f"wild/{way}/recall", "what": f"of {len(leaks)} watches of programs that leak: leak found",
               "values": [share([one.leaks for one in leaks])]}
        yield {"name": f"wild/{way}/first", "what": "likewise: it is the first row",
               "values": [share([one.leaks and one.rank == 1 for one in leaks])]}
        yield {"name": f"wild/{way}/precision", "what": "leaks found, of these and the rows that are wrongly called leaks",
               "values": [right / (right + false) if right + false else 1]}
        yield {"name": f"wild/{way}/kept", "what": "requests served, of those before",
               "values": [one.kept for all_of_it in found.values() for one in all_of_it] or [0]}


def parse_arguments():
    parser = argparse.ArgumentParser(description="watch programs with real leaks in the ways that a user has")
    parser.add_argument("names", nargs="*", default=names(), help=f"{', '.join(names())} (all)")
    parser.add_argument("--way", action="append", choices=WAYS, help="only this way, may be repeated")
    parser.add_argument("--rounds", type=int, default=1, help="so often each (1)")
    parser.add_argument("--keep", metavar="FOLDER", help="where what was printed goes")
    parser.add_argument("--mmattach", metavar="PATH", help="the program to measure (./mmattach)")
    args = parser.parse_args()
    if unknown := set(args.names) - set(names()):
        parser.error(f"no such program: {' '.join(sorted(unknown))}")
    return args


def print_one(name, way, args):
    if way in STARTED:
        with Program(name) as program:
            time.sleep(SETTLED_S)
            before = program.rate(BEFORE_S)
        print(f"{name:18} {way:9} kept {started(name, way, before):.2f}", flush=True)
        return
    result = watch(name, way, args.keep)
    print(f"{name:18} {way:9} {result.line()}", flush=True)
    for row in result.false:
        print(f"{'':28} false: {row}", flush=True)
    if result.head:
        print(f"{'':28} {result.head}", flush=True)


def main():
    args = parse_arguments()
    if args.mmattach:
        Mmattach.program = args.mmattach
    for name in args.names:
        if missing(name):
            print(f"{name:18} needs {' '.join(missing(name))}", flush=True)
            continue
        for way in [way for way in args.way or ATTACHED for _ in range(args.rounds)]:
            try:
                print_one(name, way, args)
            except (Failed, ValueError, subprocess.TimeoutExpired) as err:
                print(f"{name:18} {way:9} {err}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except Failed as err:
        sys.exit(f"bench: {err}")
