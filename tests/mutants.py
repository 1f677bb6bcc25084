#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do the tests bite? Small faults are put into the code, one at a time, and the tests of that module must fail.

    tests/mutants.py [-n N] [-s SEED] [-j JOBS] [-l SECONDS] [MODULE...]      make mutants

A fault is a changed condition, constant or sign, or a call that is left out, at a place drawn at random. Each is
built in a copy of the tree (build/mutants), and run against the unit tests of the module's folders and the tests
that the table below names. What no test notices is listed, with its line: it needs a test, or a reason
(tests/mutants.txt: a mutant there is known, and is not counted).
"""
import argparse
import concurrent.futures
import dataclasses
import filecmp
import hashlib
import importlib.util
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import threading
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
WORK = TOP / "build/mutants"
KNOWN = TOP / "tests/mutants.txt"
PYTHON = sys.executable


@dataclasses.dataclass
class Module:
    """Where faults are put, and by what they should be found."""

    folders: list
    tests: list = dataclasses.field(default_factory=list)   # arguments of pytest, besides the unit tests of the folders
    units: list = dataclasses.field(default_factory=list)   # folders of further unit tests
    targets: list = dataclasses.field(default_factory=list)  # of make, besides these unit tests
    but: list = dataclasses.field(default_factory=list)     # folders in `folders` that are another module's


MODULES = {
    "budget": Module(["attach/keeper/budget"], ["tests/test_simulated.py"], targets=["tools/simulate"]),
    "keeper": Module(["attach/keeper/traps", "attach/keeper/shared", "attach/keeper/copies", "attach/keeper/pause"],
                     ["tests/live/test_exact.py", "tests/live/test_life.py", "tests/live/test_following.py",
                      "tests/live/test_pause.py"], targets=["mmattach", "tools/pauser"]),
    "sampling": Module(["attach/sampling", "report/sampling"], ["tests/test_simulated.py"], ["report/model"],
                       ["tools/simulate"], but=["attach/sampling/blocks", "attach/sampling/heaps"]),
    "blocks": Module(["attach/sampling/blocks", "attach/sampling/heaps"], ["tests/live/test_following.py"], targets=["tools/fates"]),
    "census": Module(["heap"], ["tests/test_census.py", "tests/test_core.py"], targets=["tools/censor", "mmattach"]),
    "verdicts": Module(["heap/reach", "attach/verdicts"], ["tests/live/test_verdicts.py"], targets=["mmattach", "tools/verdicts"]),
    "ledger": Module(["report/ledger", "report/groups"], ["tests/test_golden.py"], ["report/model"], ["mmattach"]),
    "formats": Module(["report/fields", "report/json", "report/csv", "report/text", "report/model", "report/names"],
                      ["tests/test_golden.py", "tests/test_json.py", "tests/test_report.py"], ["report/text"], ["mmattach"]),
    "trace": Module(["trace", "base"], ["tests/test_trace_format.py", "tests/test_golden.py"], targets=["mmattach"]),
}

# What is replaced, and by what: conditions, signs, constants. Not in comments, strings, declarations.
CHANGES = [
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "),
    (r" && ", " || "), (r" \|\| ", " && "), (r" \+ ", " - "), (r" - ", " + "), (r" \+= ", " -= "), (r"\bif \((?=[^!])", "if (!"),
    (r"\breturn true;", "return false;"), (r"\breturn false;", "return true;"), (r"\+\+", "--"),
    (r"(?<![\w.\[])([1-9][0-9]*)u?\b(?![\w.])", lambda m: str(int(m[1]) + 1)),
]
CALL = re.compile(r"^\t+(?:\(void\)!?)?[a-z_]\w*\([^;{}]*\);$")
NOT_THESE = re.compile(r"^\s*(/?\*|//|#|static |struct |const |enum |_Static_assert|extern |uint|int |bool |log_|case )|\"|//|/\*|__attribute__")


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A line of a file, as it is and as it becomes."""

    path: str
    line: int
    old: str
    new: str

    def key(self):
        """The same as long as the line is."""
        return hashlib.sha1(f"{self.path}:{self.old.strip()}:{self.new.strip()}".encode()).hexdigest()[:10]

    def __str__(self):
        return f"{self.key()} {self.path}:{self.line}: {self.old.strip()}  =>  {self.new.strip() or '(left out)'}"


def changes_of(path, number, text):
    if NOT_THESE.search(text):
        return
    if CALL.match(text):
        yield Mutant(path, number, text, "")
    for pattern, becomes in CHANGES:
        for found in re.finditer(pattern, text):
            new = becomes(found) if callable(becomes) else becomes
            yield Mutant(path, number, text, text[:found.start()] + new + text[found.end():])


def all_mutants(module):
    files = sorted({p for folder in module.folders for p in (TOP / folder).rglob("*.c")
                    if not any((TOP / other) in p.parents for other in module.but)})
    return [m for p in files for number, text in enumerate(p.read_text().split("\n"), 1)
            for m in changes_of(str(p.relative_to(TOP)), number, text)]


def drawn(module, n, chance):
    """@n mutants, from as many files as possible: first a file, then a place in it."""
    by_file = {}
    for mutant in all_mutants(module):
        by_file.setdefault(mutant.path, []).append(mutant)
    names = sorted(by_file)
    chosen = []
    while len(chosen) < n and names:
        name = chance.choice(names)
        chosen.append(by_file[name].pop(chance.randrange(len(by_file[name]))))
        if not by_file[name]:
            names.remove(name)
    return chosen


class Tree:
    """A copy in which one mutant at a time is built and tested."""

    def __init__(self, number):
        self.top = WORK / str(number)
        tracked = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, check=True, capture_output=True).stdout.decode().split("\0")
        for name in filter(None, tracked):
            here, there = TOP / name, self.top / name
            if here.exists() and not (there.exists() and filecmp.cmp(here, there, shallow=False)):
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(here, there, follow_symlinks=False)
        # as new as the sources that it was made of; a source that was copied later is newer
        for path in (TOP / "build").iterdir() if not (self.top / "build").exists() else ():
            if path.name != WORK.name:
                (self.top / "build").mkdir(exist_ok=True)
                subprocess.run(["cp", "-a", "--reflink=auto", path, self.top / "build/"], check=True)
                subprocess.run(["find", f"build/{path.name}", "-exec", "touch", "-h", "{}", "+"], cwd=self.top, check=True)

    def run(self, command, limit):
        """Whether it succeeded; None: not within so many seconds."""
        env = dict(os.environ, MM_BUILD="build/release", PYTHONDONTWRITEBYTECODE="1", MM_LOOPS="0.3")
        with subprocess.Popen(command, cwd=self.top, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, start_new_session=True) as process:
            try:
                return process.wait(limit) == 0
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                return None

    def units(self, module):
        names = [p.stem for folder in [*module.folders, *module.units] for p in (self.top / "tests/unit" / folder).rglob("test_*.c")]
        return sorted(set(names))

    def judge(self, module, mutant, limit):
        """What became of it: "unbuilt", "caught", "late" (something took too long, which is noticed, too), or "survived"."""
        path = self.top / mutant.path
        lines = (TOP / mutant.path).read_text().split("\n")
        lines[mutant.line - 1] = mutant.new
        path.write_text("\n".join(lines))
        try:
            units = self.units(module)
            targets = [f"build/release/{name}" for name in [*module.targets, *(f"unit/{u}" for u in units)]]
            if not self.run(["make", "-s", "-j1", *targets], 300):
                return "unbuilt"
            tests = [([f"build/release/unit/{unit}"], 60) for unit in units]
            tests += [([PYTHON, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", test], limit) for test in module.tests]
            for command, seconds in tests:
                passed = self.run(command, seconds)
                if not passed:
                    return "late" if passed is None else "caught"
            return "survived"
        finally:
            shutil.copy2(TOP / mutant.path, path)
            os.utime(path)


def known():
    """{key: reason} of tests/mutants.txt."""
    if not KNOWN.exists():
        return {}
    lines = [line.split(None, 1) for line in KNOWN.read_text().splitlines() if line.strip() and not line.startswith("#")]
    return {key: reason for key, reason in lines}


def check_unchanged(tree, module, limit):
    """Without a fault all must pass, or nothing is shown."""
    path = next(iter(all_mutants(module))).path
    same = Mutant(path, 1, "", (TOP / path).read_text().split("\n")[0])
    return tree.judge(module, same, limit / 2) == "survived"


def main():
    parser = argparse.ArgumentParser(description="faults put into the code, to see whether the tests find them")
    parser.add_argument("-n", type=int, default=15, help="how many of each module")
    parser.add_argument("-s", type=int, default=1, help="the seed")
    parser.add_argument("-j", type=int, default=2, help="so many at a time")
    parser.add_argument("-l", type=int, default=240, help="seconds for each file of tests")
    parser.add_argument("module", nargs="*", choices=[[], *MODULES], help="of which; all, if none is named")
    wanted = parser.parse_args()
    if not importlib.util.find_spec("pytest"):
        sys.exit(f"mutants: {PYTHON} has no pytest: /usr/bin/python3 tests/mutants.py")
    trees = [Tree(number) for number in range(wanted.j)]
    free, lock, reasons = list(trees), threading.Lock(), known()
    survivors, bad = [], False

    def judge(name, mutant):
        with lock:
            tree = free.pop()
        began = time.monotonic()
        result = tree.judge(MODULES[name], mutant, wanted.l)
        with lock:
            free.append(tree)
        if result == "survived" and mutant.key() in reasons:
            result = "known"
        print(f"{name:9} {result:9} {time.monotonic() - began:5.1f} s  {mutant}", flush=True)
        return result, mutant

    for name in wanted.module or MODULES:
        module = MODULES[name]
        if not check_unchanged(trees[0], module, wanted.l):
            print(f"{name}: its tests fail without a fault, or take more than half of the limit (-l)", flush=True)
            bad = True
            continue
        with concurrent.futures.ThreadPoolExecutor(wanted.j) as pool:
            results = list(pool.map(lambda m: judge(name, m), drawn(module, wanted.n, random.Random(f"{wanted.s} {name}"))))  # noqa: B023
        counts = {what: sum(r == what for r, _ in results) for what in ("caught", "late", "survived", "known", "unbuilt")}
        noticed = counts["caught"] + counts["late"]
        tried = noticed + counts["survived"]
        print(f"{name}: {noticed} of {tried} noticed ({counts['late']} by time), {counts['known']} known, {counts['unbuilt']} do not compile", flush=True)
        bad |= tried and noticed < 0.9 * tried
        survivors += [mutant for result, mutant in results if result == "survived"]
    print("\nno test notices:" if survivors else "\nall are noticed")
    for mutant in survivors:
        print(f"    {mutant}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
