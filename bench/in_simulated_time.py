#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sampled watches (--budget) in simulated time: what share of them finds the leaks, accuses innocent code, and tells
intervals with the truth (tests/simulate).

    bench/in_simulated_time.py [SEEDS [SECONDS]]     the table of bench/RESULTS.md
"""
import pathlib
import sys

TOP = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(TOP / "tests"))
import simulated  # noqa: E402

SEEDS, SECONDS = 50, 60


def scenarios():
    listed = simulated.subprocess.run([simulated.PROGRAM, "list"], capture_output=True, text=True, check=True).stdout
    return dict(line.split("\t") for line in listed.splitlines())


def found(of):
    """{leak: the share of watches that report it as one}."""
    return {name: of.share(name, "stays") for name in of.said if of.leaks[name]}


def rows(plan):
    """Rows of run.py, as keyword arguments."""
    for name, what in scenarios().items():
        seconds = plan.seconds or SECONDS
        of = simulated.Results(simulated.many(name, SEEDS, seconds))
        accused, of_so_many = of.accused(seconds / 12)
        yield {"name": f"simulated/{name}/accused", "what": f"{what}: of places without a leak, reported as one", "unit": "%",
               "values": [100 * sum(accused.values()) / max(of_so_many, 1)], "at_most": 0.5}
        yield {"name": f"simulated/{name}/intervals", "what": "of all intervals of rates, with the truth", "unit": "%",
               "values": [100 * of.coverage(of.within)], "at_least": 90}
        yield {"name": f"simulated/{name}/worst", "what": "stopped in the worst ten seconds of all watches", "unit": "%",
               "values": [100 * of.worst()], "at_most": 1}


def table(seeds, seconds):
    print(f"{seeds} watches each, {seconds} s at 1 %:\n")
    print("| process | leaks found | others accused | intervals with the truth: of rates, of leaks | estimated / true |"
          " worst ten seconds |")
    print("|---|---|---|---|---|---|")
    for name, what in scenarios().items():
        of = simulated.Results(simulated.many(name, seeds, seconds))
        accused, of_so_many = of.accused(seconds / 3)
        leaks = ", ".join(f"{leak} {100 * share:.1f} %" for leak, share in found(of).items())
        blamed = ", ".join(f"{place} {n}" for place, n in accused.items())
        kept = of.coverage(of.kept)
        print(f"| {name}: {what} | {leaks} | {sum(accused.values())} of {of_so_many}{': ' + blamed if blamed else ''} "
              f"| {100 * of.coverage(of.within):.1f} %, {'none' if kept is None else f'{100 * kept:.1f} %'} "
              f"| {', '.join(f'{of.median_ratio(leak):.2f}' for leak in found(of))} | {100 * of.worst():.2f} % |", flush=True)


if __name__ == "__main__":
    table(int(sys.argv[1]) if len(sys.argv) > 1 else 100, int(sys.argv[2]) if len(sys.argv) > 2 else SECONDS)
