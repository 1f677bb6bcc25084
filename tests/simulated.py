# SPDX-License-Identifier: MIT
"""Sampled watches in simulated time (tests/simulate): many of them with random seeds, and what their reports say of
what was true. For the tests, and for bench/in_simulated_time.py."""
import collections
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess

PROGRAM = pathlib.Path(__file__).parent.parent / os.environ.get("MM_BUILD", "build/release") / "tools/simulate"


def runs(scenario, seeds, seconds=60, first=1, **options):
    """What @seeds watches of @seconds say; @options by their letters, as simulate's head names them."""
    more = [text for letter, value in options.items() for text in (f"-{letter}", str(value))]
    done = subprocess.run([PROGRAM, scenario, "-s", str(first), "-n", str(seeds), "-d", str(seconds), *more],
                          capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def many(scenario, seeds, seconds=60, workers=2, **options):
    """The same by several processes."""
    share = -(-seeds // workers)
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        parts = [pool.submit(runs, scenario, min(share, seeds - i * share), seconds, 1 + i * share, **options)
                 for i in range(workers) if seeds > i * share]
        return [run for part in parts for run in part.result()]


def holds(told, true):
    """Is the truth within [value, low, high]? A high end of -1 is none."""
    _, low, high = told
    return low <= true and (high < 0 or true <= high)


class Results:
    """Of all runs of a scenario, by the name of the place."""

    def __init__(self, all_runs):
        self.runs = all_runs
        self.said = collections.defaultdict(collections.Counter)
        self.kind, self.life_s, self.leaks = {}, {}, {}
        self.within = collections.defaultdict(list)     # is the true rate within the interval?
        self.kept = collections.defaultdict(list)       # the same of what leaks, where that is said
        self.told = collections.defaultdict(list)       # the rates
        self.ratio = collections.defaultdict(list)      # of the rate that is told to the true one
        for run in all_runs:
            for place in run["places"]:
                self.add(place)

    def add(self, place):
        name = place["name"]
        self.kind[name], self.life_s[name] = place["kind"], place["life_s"]
        self.leaks[name] = place["leaks"] > 0
        self.said[name][place.get("turnover", "nothing")] += 1
        if "turnover" not in place:
            return
        told, true = place["allocs_per_minute"], 60 * place["rate"]
        self.within[name].append(holds(told, true) or (place["allocs_per_minute_at_least"] and told[1] <= true))
        self.told[name].append(told)
        self.ratio[name].append(told[0] / true)
        if place["turnover"] == "stays" and place["leaks"]:
            self.kept[name].append(holds(place["kept_per_minute"], 60 * place["leaks"])
                                   or (place["kept_per_minute_at_least"] and place["kept_per_minute"][1] <= 60 * place["leaks"]))

    def share(self, name, said):
        """How often the report says that of the place."""
        return self.said[name][said] / len(self.runs)

    def accused(self, longest_s):
        """(how often, of what) a leak was reported at places without one whose blocks live no longer than that."""
        innocent = [name for name in self.said if not self.leaks[name] and self.life_s[name] <= longest_s and self.kind[name] != "table"]
        return {name: self.said[name]["stays"] for name in innocent if self.said[name]["stays"]}, len(innocent) * len(self.runs)

    def coverage(self, of):
        """The share of intervals with the truth, over all places."""
        all_of_them = [hit for hits in of.values() for hit in hits]
        return sum(all_of_them) / len(all_of_them) if all_of_them else None

    def median_ratio(self, name):
        return statistics.median(self.ratio[name])

    def worst(self):
        """The largest share of ten seconds in which threads stood."""
        return max(run["worst_ten_seconds"] for run in self.runs)

    def untold(self):
        """The most by which a watch tells less of its worst ten seconds than there was: their ratio."""
        return max(run["worst_ten_seconds"] / run["told_worst"] for run in self.runs)

    def median_width(self, name):
        """Of the intervals of rates: the upper end by the lower; an open one counts as infinite."""
        return statistics.median(high / low if high >= 0 and low > 0 else float("inf") for _, low, high in self.told[name])

    def closed_s(self):
        return max(run["closed_s"] for run in self.runs)
