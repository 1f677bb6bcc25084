# SPDX-License-Identifier: MIT
"""What --budget 1% finds, and whether it is true: minutes of watching, so it runs only if named with --only.

seeds: tests/victims/sampled (200,000 pairs a second, 53 allocation sites, three of which leak), ten runs with
different random seeds. jemalloc, tcmalloc, mimalloc: the same with Debian's library of that, preloaded; musl:
the same program, built with musl. services: glusterfs and ovs-vswitchd, which leak while they are busy
(tests/real/recipes/lossy.py).
"""
import contextlib
import pathlib
import statistics
import sys
import tempfile
import time

import budget
import real  # from here on the recipes' folder is on the path
from pauses import Talk
from sides import TOP

from lossy import lossy_mount, lossy_switch  # noqa: E402
from service import missing  # noqa: E402

SEEDS = 10
SEED_S, SERVICE_S = 45, 180  # of a watch, unless given
LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")
MUSL_VICTIM = TOP / "build/victims/sampled_musl"
# the program, and what is preloaded
MALLOCS = {"jemalloc": (budget.VICTIM, LIBRARIES / "libjemalloc.so.2"), "tcmalloc": (budget.VICTIM, LIBRARIES / "libtcmalloc_minimal.so.4"),
           "mimalloc": (budget.VICTIM, LIBRARIES / "libmimalloc.so.2"), "musl": (MUSL_VICTIM, None)}
LEAKS = ("site_leak_fast", "site_leak_middle", "site_leak_slow")


class Sampling(budget.Sampling):
    """With the options that a service needs."""

    def __init__(self, service, *options):
        self.options = [*budget.Sampling.options, "--top", "0", *options]
        super().__init__(service)


class Service(Talk):
    def __init__(self, seed, program, preload):
        super().__init__("env", f"LD_PRELOAD={preload or ''}", program, "-s", seed)
        self.pid = int(self.first.split()[1])


def inside(interval, at_least, truth):
    """An estimate that is only a lower bound has no upper end."""
    _, low, high = interval
    return low <= truth and (at_least or high is None or truth <= high)


def told_of(report, place):
    """The group of @place, if it is reported as leaking."""
    leaks = (g for g in report["groups"] if g["turnover"] == "stays")
    return next((g for g in leaks if any(f["function"] == place for f in g["stack"])), None)


def one_seed(seed, seconds, program, preload):
    """For each leak: None (not found), or whether the truth is in its interval; other groups that are reported
    as leaking; and the run."""
    with Service(seed, program, preload) as service:
        before, began = budget.made(service)
        with Sampling(service) as tracer:
            time.sleep(seconds)
            after, ended = budget.made(service)
    had = []
    for place in LEAKS:
        group, rate = told_of(tracer.report, place), (after[place] - before[place]) / (ended - began)
        had.append(group
                   and inside(group["allocs_per_minute"], group["estimate"]["at_least"], rate))
    others = sum(g["turnover"] == "stays" and not any(f["function"] in LEAKS for f in g["stack"])
                 for g in tracer.report["groups"])
    return had, others, tracer.run["budget"]


def seeds(plan, name="seeds", program=budget.VICTIM, preload=None):
    """The rows of the table, as keyword arguments of run.py's Row."""
    seconds = plan.seconds or SEED_S
    runs = [one_seed(seed, seconds, program, preload) for seed in range(1, SEEDS + 1)]
    judged = [had for leaks, _, _ in runs for had in leaks if had is not None]
    what = f"--budget 1%, {SEEDS} seeds of {seconds} s"
    yield {
        "name": f"{name}/found", "what": f"{what}: of the three leaks, found",
        "values": [sum(had is not None for had in leaks) for leaks, _, _ in runs]
    }
    yield {
        "name": f"{name}/others", "what": "of the other groups, reported as leaking",
        "values": [others for _, others, _ in runs]
    }
    if judged:
        yield {
            "name": f"{name}/intervals", "what": "of the intervals of those found, with the truth in them",
            "unit": "%", "values": [100 * statistics.mean(judged)], "at_least": 90
        }
    yield {
        "name": f"{name}/worst", "what": "stopped in the worst ten seconds of all of them, as told",
        "unit": "%", "values": [100 * max(run["worst_ten_seconds"] for _, _, run in runs)],
        "at_most": budget.PROMISE
    }


def other_malloc(plan, name):
    """The rows, if that library is there."""
    absent = [path for path in MALLOCS[name] if path and not path.exists()]
    if absent:
        print(f"bench: not there: {absent[0]}", file=sys.stderr)
    else:
        yield from seeds(plan, name, *MALLOCS[name])


def busy(begin, seconds):
    """(the groups of its leak, the report, blocks leaked a minute) of a lossy service."""
    with contextlib.ExitStack() as stack, tempfile.TemporaryDirectory(prefix="mm-bench-") as folder:
        def start(recipe, **kwargs):
            return stack.enter_context(recipe(folder, **kwargs))

        lossy = begin(start, folder, TOP / "build/real")

        def watch():
            with Sampling(lossy.service, *lossy.options) as tracer:
                time.sleep(seconds)
            return tracer.report

        report, a_minute, _ = lossy.during(watch)
        stack.close()  # the folder is in use until then
    return lossy.found(report), report, a_minute


def rows_of(name, what, begin, seconds):
    found, report, a_minute = busy(begin, seconds)
    had = report["run"]["budget"]
    if found:
        told = sum(g["allocs_per_minute"][0] for g in found)
        yield {
            "name": f"{name}/place",
            "what": f"{what}, --budget 1%, {seconds} s: the leak's place in the report",
            "values": [1 + report["groups"].index(found[0])]
        }
        yield {
            "name": f"{name}/rate", "what": "the same: blocks lost a minute, estimated / true",
            "values": [told / a_minute]
        }
    else:
        print(f"bench: {name}: the leak was not found in {seconds} s", file=sys.stderr)
    yield {
        "name": f"{name}/used", "what": "the same: stopped", "unit": "%", "values": [100 * had["spent"]],
        "at_most": budget.PROMISE
    }
    yield {
        "name": f"{name}/worst", "what": "the same: in the worst ten seconds", "unit": "%",
        "values": [100 * had["worst_ten_seconds"]], "at_most": budget.PROMISE
    }


def services(plan):
    """The rows. A service that is not installed has none, and a message says so."""
    for name, what, recipe, begin in [("gluster", "a leaky GlusterFS mount", real.Gluster, lossy_mount),
                                      ("ovs", "a leaky ovs-vswitchd", real.Ovs, lossy_switch)]:
        if missing(*recipe.needs):
            print(f"bench: not installed: {' '.join(missing(*recipe.needs))}", file=sys.stderr)
            continue
        yield from rows_of(name, what, begin, plan.seconds or SERVICE_S)
