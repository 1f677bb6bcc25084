# SPDX-License-Identifier: MIT
"""Which checks there are for a kernel, in the order in which they are run. A name is that of its group, and what it is
done with."""
from functools import partial

import counts
import deaths
import expected
import others
import watches


def of_ptrace(release, rounds):
    yield "ptrace", partial(watches.groups, "ptrace", "ptrace")


def of_uprobe(release, rounds):
    """auto is uprobe; with no way to use the kernel's probes it is ptrace, and --engine uprobe is refused."""
    has = bool(expected.ways(release))
    yield "uprobe auto", partial(watches.groups, "auto", "uprobe" if has else "ptrace")
    if not has:
        yield "uprobe refused", partial(watches.refused, "uprobe")


def of_exact(release, rounds):
    yield "exact ptrace", partial(counts.exact, "ptrace", rounds)
    for way in expected.SINCE:
        has = way in expected.ways(release)
        yield f"exact {way}", partial(counts.exact, way, rounds) if has else partial(counts.refused, way)


def of_sample(release, rounds):
    for way in expected.ways(release):
        yield f"sample {way}", partial(counts.sample, way, rounds)


def of_kill(release, rounds):
    for engine in expected.engines(release):
        yield f"kill {engine}", partial(deaths.kill, engine, rounds)
    yield "kill keeper", deaths.kill_keeper


def of_budget(release, rounds):
    yield "budget", watches.budget


def of_scan(release, rounds):
    yield "scan", others.scanned


def of_follow(release, rounds):
    yield "follow ptrace", watches.follow_by_ptrace
    if expected.ways(release):
        yield "follow uprobe", watches.follow_by_uprobe


def of_storm(release, rounds):
    for engine in expected.engines(release):
        yield f"storm {engine}", partial(watches.storm, engine)


def of_scripts(release, rounds):
    for engine in expected.engines(release):
        yield f"scripts python {engine}", partial(others.python, engine)
        yield f"scripts ruby {engine}", partial(others.ruby, engine)


def of_container(release, rounds):
    for engine in expected.engines(release):
        yield f"container {engine}", partial(others.container, engine)


def of_repair(release, rounds):
    yield "repair", deaths.repaired


GROUPS = {"ptrace": of_ptrace, "uprobe": of_uprobe, "exact": of_exact, "sample": of_sample, "kill": of_kill, "budget": of_budget, "scan": of_scan,
          "follow": of_follow, "storm": of_storm, "scripts": of_scripts, "container": of_container, "repair": of_repair}


def checks(release, chosen, rounds):
    """(name, function) of each."""
    for group in chosen:
        yield from GROUPS[group](release, rounds)
