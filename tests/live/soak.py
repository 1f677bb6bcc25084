# SPDX-License-Identifier: MIT
"""A long watch with a budget: mmattach's own memory stays flat, and the report of a trace in pieces is that
of the run.

	python3 tests/live/soak.py [SECONDS]		an hour by default

tests/victims/sampled leaks all the time. The memory of both processes of mmattach is read at intervals. It
may grow in the first third, until the number of tracked blocks has reached its limit; after that it must not.
MM_BUILD selects the variant (harness.py).
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

from harness import MMATTACH, Victim, Watch
from untouched import assert_untouched

BUDGET = 0.02
ROTATE = 65536  # the least; a minute writes 120 to 180 kB, half of that on a slow machine
MORE_KB = 2048  # tables grow by doubling, and malloc does not return what it had at its peak
LOOKS = 60
LONG = 600  # after this time blocks that live for 20 seconds are known to be freed
LEAKS = ["site_leak_fast", "site_leak_middle", "site_leak_slow"]


def resident_kb(pid):
    """0: the process has ended."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS:")), 0)


def report_of(*pieces):
    made = subprocess.run([MMATTACH, "report", "--format", "json", "--top", "0", *pieces], capture_output=True, check=True)
    return json.loads(made.stdout)


class Soak:
    """One run of so many seconds, with its trace in @folder."""

    def __init__(self, folder, seconds, rate=20000):
        self.folder, self.seconds, self.rate = folder, seconds, rate
        self.looks = []  # (seconds since the beginning, kB of the controller, kB of the keeper)

    def run(self):
        target = Victim("sampled", "-r", str(self.rate))
        try:
            self.watch(target)
            assert_untouched(target)
            target.end()
        finally:
            target.kill()
        self.pieces = sorted(self.folder.glob("t.*.mmt"))
        return self

    def watch(self, target):
        last = self.folder / "report.json"
        interval = max(1, self.seconds // LOOKS)
        watch = Watch("-p", target.pid, "--budget", f"{100 * BUDGET:g}%", "-d", f"{self.seconds}s", "--top", "0", "--report", last,
                      "--interval", f"{interval}s", "--raw", "-o", self.folder / "t.mmt", "--rotate", ROTATE).wait_watching()
        keeper, began = watch.keeper(), time.monotonic()
        try:
            while watch.alive() and time.monotonic() - began < self.seconds + 120:
                self.look(watch.pid, keeper, time.monotonic() - began)
                time.sleep(interval)
            assert watch.wait() == 0 and time.monotonic() - began > self.seconds - interval, watch.said()
        finally:
            if watch.alive():
                watch.interrupt()  # its keeper leaves the target
                watch.wait()
        self.report = json.loads(last.read_text())

    def look(self, *who_and_when):
        controller, keeper, at = who_and_when
        found = at, resident_kb(controller), resident_kb(keeper)
        if at < self.seconds and all(found[1:]):
            self.looks.append(found)

    def memory(self):
        """(maximum in the second third, maximum in the last) of the controller, and of the keeper, in kB."""
        middle = [look for look in self.looks if 1 / 3 <= look[0] / self.seconds < 2 / 3]
        late = [look for look in self.looks if look[0] / self.seconds >= 2 / 3]
        return [(max(look[who] for look in middle), max(look[who] for look in late)) for who in (1, 2)]

    def assert_memory_flat(self):
        for who, (middle, late) in zip(("controller", "keeper"), self.memory()):
            assert late <= middle + MORE_KB, f"the {who}'s memory: {middle} kB in the second third, {late} in the last: {self.looks}"

    def assert_pieces_bounded(self):
        assert len(self.pieces) > 1
        # each repeats names of modules and live blocks, and a block of the file is written as a whole
        assert max(piece.stat().st_size for piece in self.pieces) < 3 * ROTATE, [piece.stat().st_size for piece in self.pieces]

    def assert_told_exactly(self):
        """All pieces together give the report of the run itself."""
        run, told = self.report, report_of(*self.pieces)
        assert told["run"]["mode"] == run["run"]["mode"] == "sampled"
        for name in ("duty", "budget", "seconds", "events", "lost"):
            assert told["run"][name] == run["run"][name], name
        assert told["totals"] == run["totals"]
        assert told["groups"] == run["groups"]
        alone = [report_of(piece) for piece in self.pieces]
        assert {piece["run"]["mode"] for piece in alone} == {"sampled"}
        for name in ("allocs", "frees"):
            assert sum(piece["totals"][name] for piece in alone) == run["totals"][name], name

    def assert_promise_kept(self):
        budget = self.report["run"]["budget"]
        assert budget["promise"] == BUDGET
        assert budget["spent"] <= BUDGET

    def assert_only_leaks_stay(self):
        """Sites that free their blocks at once, so that the leaks reuse the addresses, are not reported as
        leaks."""
        told = {g["stack"][0]["function"]: g["turnover"] for g in self.report["groups"]}
        assert told[LEAKS[0]] == "stays" and {name for name, turnover in told.items() if turnover == "stays"} <= set(LEAKS), told
        assert not [name for name in LEAKS if told.get(name) in ("goes", "table")], told

    def told(self):
        budget, (controller, keeper) = self.report["run"]["budget"], self.memory()
        return (f"{self.seconds} s: controller {controller[0]} kB, then {controller[1]}; keeper {keeper[0]} kB, then {keeper[1]}; {len(self.pieces)} pieces, "
                f"the largest of {max(piece.stat().st_size for piece in self.pieces)} bytes; {100 * budget['spent']:.2f} % used, "
                f"{100 * budget['worst_ten_seconds']:.2f} % in the worst ten seconds")


def soak(folder, seconds):
    run = Soak(folder, seconds).run()
    run.assert_memory_flat()
    run.assert_pieces_bounded()
    run.assert_told_exactly()
    run.assert_promise_kept()
    if seconds >= LONG:
        run.assert_only_leaks_stay()
    return run


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="mm-soak-") as where:
        print(soak(pathlib.Path(where), int(sys.argv[1]) if len(sys.argv) > 1 else 3600).told())
