#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What mmattach costs, as ratios.

Microseconds say little: the same stop costs 4 if tracer and target share a processor and 70 if each has to
wake an idle one. So everything is measured side by side in one run: a slice with one side, a slice with the
other, again and again, and the ratio is taken within a round. The output has the median and quartiles of the
rounds (of three or fewer, the least and the greatest), and the placement: how often a hot thread was on the
processor of its tracer. Where the placement of two sides differs much, so does the ratio; the row `pair1cpu`
has everything on one processor.
"""
import argparse
import contextlib
import dataclasses
import functools
import json
import os
import platform
import signal
import pathlib
import statistics
import sys

import budget
import busy_leak
import census
import engines
import events
import fleet
import flood
import growth
import in_gdb
import in_simulated_time
import many
import names
import others
import pauses
import real
import redis
import sampled
import script_stacks
import shell
import stacks
import wild
from sides import Bare, Failed, Mmattach, Placement, Quota, Target, cpus

UNTRACED_MS = 100  # the first calls run with cold caches
LIFTED_EVERY = 256  # without a tracer, reading the clock costs more than a pair


@dataclasses.dataclass
class Plan:
    """How long and how often to measure."""

    rounds: int
    slice_ms: int
    seconds: int = None  # of a watch that takes minutes; None: the default of each


@dataclasses.dataclass
class Row:
    """One line of the table: a value per round, and what it must not exceed or fall below."""

    name: str
    what: str
    values: list
    unit: str = ""
    at_most: float = None
    at_least: float = None
    placement: dict = dataclasses.field(default_factory=dict)

    @property
    def median(self):
        return statistics.median(self.values)

    @property
    def quartiles(self):
        if len(self.values) < 2:
            return self.values[0], self.values[0]
        low, _, high = statistics.quantiles(self.values, n=4, method="inclusive")
        return low, high

    @property
    def spread(self):
        """The quartiles; of a few values, the least and the greatest."""
        return self.quartiles if len(self.values) > 3 else (min(self.values), max(self.values))

    @property
    def missed(self):
        over = self.at_most is not None and self.median > self.at_most
        under = self.at_least is not None and self.median < self.at_least
        return over or under

    @property
    def bound(self):
        if self.at_most is not None:
            return f"<= {self.at_most:g}"
        return f">= {self.at_least:g}" if self.at_least is not None else ""

    @property
    def verdict(self):
        return ("MISSED" if self.missed else "ok") if self.bound else ""

    def as_json(self):
        return {"name": self.name, "what": self.what, "unit": self.unit, "median": self.median,
                "quartiles": self.quartiles, "values": self.values, "at_most": self.at_most,
                "at_least": self.at_least, "verdict": self.verdict, "placement": self.placement}


class Side:
    """The slices of one side: what a call cost, and where it ran."""

    def __init__(self, name):
        self.name = name
        self.ns = []
        self.shares = []
        self.runs = []

    def measure(self, tracer_class, target, plan, cpu=None, settled_s=None):
        """Attach, wait until it has settled, one slice, detach. Returns what the target reported for the time
        before the slice, and for the slice."""
        with tracer_class(target, cpu) as tracer:
            warming = target.run(tracer.traps, 1000 * (settled_s or tracer.settled_s))
            with Placement(target, tracer) as placement:
                result = target.run(tracer.traps, plan.slice_ms)
        self.ns.append(result["ns_per_call"])
        self.runs.append(tracer.run)
        if placement.share is not None:
            self.shares.append(placement.share)
        return warming, result

    def placement(self):
        return {"us_per_call": statistics.median(self.ns) / 1000,
                "same_cpu": statistics.mean(self.shares) if self.shares else None}


def placements(*sides):
    return {side.name: side.placement() for side in sides}


def ratios(numerator, denominator):
    return [a / b for a, b in zip(numerator.ns, denominator.ns)]


def in_turn(items, turn):
    """@items beginning with another one each time, so that none always profits from its position."""
    turn %= len(items)
    return items[turn:] + items[:turn]


def against_bare(plan, depth=12, cpu=None, settled_s=None):
    bare, pair = Side("bare"), Side("mmattach")
    with Target(depth=depth, cpu=cpu) as target:
        for turn in range(plan.rounds):
            for side, tracer in in_turn([(bare, Bare), (pair, Mmattach)], turn):
                side.measure(tracer, target, plan, cpu, settled_s if tracer is Mmattach else None)
    return ratios(pair, bare), placements(bare, pair), pair.runs


def not_kept_up(runs):
    """How often a thread waited because the controller was behind, and the number of incomplete stacks."""
    return [run["ring_waits"] + run["stacks_cut"] + run["stacks_lost"] for run in runs]


def measure_pair(plan):
    values, where, runs = against_bare(plan)
    return [Row("pair", "malloc+free, 12 frames / one bare stop", values, at_most=2.1, placement=where),
            Row("behind", "waits for the ring, stacks not whole", not_kept_up(runs), at_most=0)]


def measure_pair30(plan):
    values, where, runs = against_bare(plan, depth=30)
    return [Row("pair30", "the same, 30 frames", values, at_most=2.5, placement=where),
            Row("behind30", "waits for the ring, stacks not whole", not_kept_up(runs), at_most=0)]


def measure_pair1cpu(plan):
    """After ten seconds: a keeper that had learned to spin there took three times as long, from the second
    second on."""
    values, where, _ = against_bare(plan, cpu=cpus()[0], settled_s=10)
    return [
        Row("pair1cpu", "12 frames, all on one processor, after 10 s", values, at_most=2.8, placement=where)
    ]


def measure_cpuset(plan):
    """A service restricted to one processor, and mmattach beside it that may use all, against one bare stop
    on one processor."""
    if len(cpus()) < 2:
        return []
    bare, pair = Side("bare"), Side("mmattach")
    with Target(cpu=cpus()[0]) as target:
        for turn in range(plan.rounds):
            for side, tracer, cpu in in_turn([(bare, Bare, cpus()[0]), (pair, Mmattach, None)], turn):
                side.measure(tracer, target, plan, cpu)
    return [
        Row("cpuset", "only the target kept to one processor", ratios(pair, bare), at_most=3.2,
            placement=placements(bare, pair))
    ]


def measure_quota(plan):
    """All in a group that may use half a processor. Slices of at least two seconds, because a quota is
    accounted in tenths of a second."""
    plan = dataclasses.replace(plan, slice_ms=max(plan.slice_ms, 2000))
    with Quota(0.5) as group:
        if not group:
            print("bench: no control group can be given a quota here", file=sys.stderr)
            return []
        with group.inside():
            values, where, _ = against_bare(plan)
    return [Row("quota", "12 frames, all within half a processor", values, at_most=3.5, placement=where)]


def measure_idle(plan):
    """Threads that only sleep must not make a hit more expensive."""
    sides = [(idle, Side(f"{idle} idle")) for idle in (0, 1000, 3000)]
    with contextlib.ExitStack() as stack:
        targets = {idle: stack.enter_context(Target(idle=idle)) for idle, _ in sides}
        for turn in range(plan.rounds):
            for idle, side in in_turn(sides, turn):
                side.measure(Mmattach, targets[idle], plan)
    none, thousand, three = (side for _, side in sides)
    return [Row("idle1000", "pair with 1000 idle threads / with none", ratios(thousand, none), at_most=1.15,
                placement=placements(none, thousand)),
            Row("idle3000", "pair with 3000 idle threads / with none", ratios(three, none), at_most=1.4,
                placement=placements(none, three))]


def measure_fair(plan):
    """The longest wait is looked for in the first moments as well: a thread's first hit could be missed
    there."""
    side, served, longest = Side("mmattach"), [], []
    with Target(hot=8, idle=1000) as target:
        for _ in range(plan.rounds):
            warming, result = side.measure(Mmattach, target, plan)
            calls = [t["calls"] for t in result["threads"]]
            served.append(min(calls) / max(calls))
            longest.append(max(t["longest_ns"] for t in warming["threads"] + result["threads"]) / 1e6)
    return [
        Row("served", "8 hot among 1000: least / most served", served, at_least=0.8,
            placement=placements(side)),
        Row("wait", "8 hot among 1000: longest wait for a pair", longest, "ms", at_most=10.0,
            placement=placements(side))
    ]


def measure_stacks(plan):
    return [Row(**row) for row in stacks.measure(plan)]


def measure_python(plan):
    for row in script_stacks.rows(plan, "python"):
        yield Row(**row)


def measure_ruby(plan):
    if not pathlib.Path("/usr/bin/ruby").exists():
        return
    for row in script_stacks.rows(plan, "ruby"):
        yield Row(**row)


def measure_names(plan):
    return [Row(**row) for row in names.measure(plan)]


def measure_events(plan):
    return [Row(**row) for row in events.rows(plan)]


def measure_fleet(plan):
    return [Row(**row) for row in fleet.rows(plan)]


def measure_census(plan):
    return [Row(**row) for row in census.rows(plan)]


def measure_flood(plan):
    return [Row(**row) for row in flood.rows(plan)]


def measure_growth(plan):
    return [Row(**row) for row in growth.rows(plan)]


def measure_pauses(plan):
    return [Row(**row) for row in pauses.rows(plan)]


def measure_budget(plan):
    return [Row(**row) for row in budget.rows(plan)]


def measure_others(plan):
    """Five rounds at most: a minute each."""
    return [Row(**row) for row in others.rows(dataclasses.replace(plan, rounds=min(plan.rounds, 5)))]


def measure_rounds(plan):
    return [Row(**row) for row in budget.many_rounds(plan)]


def measure_seeds(plan):
    return [Row(**row) for row in sampled.seeds(plan)]


def measure_malloc(plan, name):
    return [Row(**row) for row in sampled.other_malloc(plan, name)]


def measure_redis_leak(plan):
    """A leak in a busy redis."""
    return [Row(**row) for row in busy_leak.redis_rows(dataclasses.replace(plan, rounds=min(plan.rounds, 5)))]


def measure_rust_leak(plan):
    """And in a busy Rust program, with a jemalloc of its own."""
    return [Row(**row) for row in busy_leak.rust_rows(dataclasses.replace(plan, rounds=min(plan.rounds, 5)))]


def measure_wild(plan):
    """Real leaks in released programs, three rounds at most: three minutes a program, way and round."""
    for row in wild.rows(plan):
        yield Row(**row)


def measure_simulated(plan):
    """Of watches in simulated time."""
    return [Row(**row) for row in in_simulated_time.rows(plan)]


def measure_services(plan):
    return [Row(**row) for row in sampled.services(plan)]


def measure_gdb(plan):
    return [Row(**row) for row in in_gdb.measure(plan)]


def measure_redis(plan):
    """Five rounds at most, as for the other services."""
    return [Row(**row) for row in redis.rows(dataclasses.replace(plan, rounds=min(plan.rounds, 5)))]


def measure_real(plan):
    """Five rounds at most: three sides alternate at each of two services."""
    return [Row(**row) for row in real.measure(dataclasses.replace(plan, rounds=min(plan.rounds, 5)))]


def measure_engines(plan, parts=engines.PARTS):
    """Three rounds at most: the watches alternate."""
    plan = dataclasses.replace(plan, rounds=min(plan.rounds, 3))
    for part in parts:
        for row in engines.PARTS[part](plan):
            yield Row(**row)


def measure_many(plan):
    """Three rounds at most: forty processes are attached to in each."""
    for row in many.rows(dataclasses.replace(plan, rounds=min(plan.rounds, 3))):
        yield Row(**row)


def measure_shell(plan):
    return [Row(**row) for row in shell.rows(plan)]


def untraced_ns(target, plan):
    """A pair's cost without a tracer: the best of five slices, because other processes on the machine can
    only add to it."""
    return min(target.run("pairs", plan.slice_ms // 5, LIFTED_EVERY)["ns_per_call"] for _ in range(5))


def measure_lifted(plan):
    """A target that was never attached to, compared with the same one after detaching."""
    values = []
    for _ in range(plan.rounds):
        with Target() as target:
            target.run("pairs", UNTRACED_MS, LIFTED_EVERY)
            before = untraced_ns(target, plan)
            with Mmattach(target):
                target.run("pairs", 1000 * Mmattach.settled_s)
            values.append(untraced_ns(target, plan) / before)
    return [Row("lifted", "pair after detach / before attach", values, at_most=1.05)]


def measure_attach(plan):
    """Attaching and detaching while the hot thread works; detaching ends when the last thread is released."""
    coming, leaving = [], []
    with Target(idle=3000) as target:
        for _ in range(plan.rounds):
            target.begin("pairs", plan.slice_ms)
            with Mmattach(target) as tracer:
                pass
            target.result()
            coming.append(tracer.attach_s * 1000)
            leaving.append(tracer.detach_s * 1000)
    return [Row("attach", "from start to watching, 3000 threads", coming, "ms"),
            Row("detach", "from SIGINT to untraced, 3000 threads", leaving, "ms")]


MEASUREMENTS = {
    "pair": measure_pair, "pair30": measure_pair30, "pair1cpu": measure_pair1cpu, "cpuset": measure_cpuset,
    "quota": measure_quota, "redis": measure_redis, "redis_leak": measure_redis_leak, "rust_leak": measure_rust_leak,
    "idle": measure_idle, "fair": measure_fair,
    "lifted": measure_lifted, "attach": measure_attach, "stacks": measure_stacks, "names": measure_names,
    "events": measure_events, "fleet": measure_fleet, "census": measure_census, "flood": measure_flood,
    "growth": measure_growth, "pauses": measure_pauses, "budget": measure_budget, "gdb": measure_gdb,
    "real": measure_real, "rounds": measure_rounds, "seeds": measure_seeds, "services": measure_services,
    "engines": measure_engines, "many": measure_many, "python": measure_python, "ruby": measure_ruby,
    "shell": measure_shell, "simulated": measure_simulated, "wild": measure_wild,
    **{name: functools.partial(measure_malloc, name=name) for name in sampled.MALLOCS},
    **{f"engines/{part}": functools.partial(measure_engines, parts=[part]) for part in engines.PARTS}
}
# minutes each: only if asked for
LONG = ["wild", "rounds", "seeds", *sampled.MALLOCS, "redis_leak", "rust_leak", "services", "many", "engines", *(f"engines/{part}" for part in engines.PARTS)]
QUICK = ["pair", "fair", "lifted"]


def describe_placement(where):
    def one(name, side):
        share = side["same_cpu"]
        same = "?" if share is None else f"{100 * share:.0f} %"
        return f"{name} {side['us_per_call']:.1f} us, same CPU {same}"
    return "; ".join(one(name, side) for name, side in where.items())


def print_row(row):
    low, high = row.spread
    value = f"{row.median:.2f} {row.unit}".strip()
    spread = f"{low:.2f} - {high:.2f}"
    print(f"{row.name:28} {row.what:58} {value:>10} {row.bound:>7} {row.verdict:7} {spread:>17}"
          f"  {describe_placement(row.placement)}".rstrip(), flush=True)


def print_head(plan):
    print(f"{platform.release()}, {len(cpus())} processors, load {os.getloadavg()[0]:.2f}; "
          f"medians of {plan.rounds} rounds, slices of {plan.slice_ms} ms")
    print(f"{'':28} {'':58} {'median':>10} {'bound':>7} {'':7} {'quartiles':>17}  placement")


def parse_arguments():
    parser = argparse.ArgumentParser(description="what mmattach costs, as ratios")
    parser.add_argument("--quick", action="store_true", help="some measurements, 3 rounds of 200 ms")
    parser.add_argument("--rounds", type=int, help="slices of each side (9; with --quick 3)")
    parser.add_argument("--only", metavar="NAME", action="append", choices=MEASUREMENTS,
                        help=f"only this measurement, may be repeated: {', '.join(MEASUREMENTS)} "
                             f"({', '.join(LONG)}: minutes, and only so)")
    parser.add_argument("--seconds", type=int, help="length of each watch of seeds (45), of other mallocs (45) and services (180)")
    parser.add_argument("--json", metavar="FILE", help="write the rows there as well")
    parser.add_argument("--gate", action="store_true", help="exit 1 if a bound is missed")
    parser.add_argument("--mmattach", metavar="PATH", help="the program to measure (./mmattach)")
    args = parser.parse_args()
    if args.rounds is not None and args.rounds < 1:
        parser.error("--rounds must be at least 1")
    if args.seconds is not None and args.seconds < 1:
        parser.error("--seconds must be at least 1")
    return args


def main():
    # a shell starts background jobs with SIGINT ignored, and the children would inherit that; then
    # measurements could not be ended
    signal.signal(signal.SIGINT, signal.default_int_handler)
    args = parse_arguments()
    plan = Plan(rounds=args.rounds or (3 if args.quick else 9), slice_ms=200 if args.quick else 1000,
                seconds=args.seconds)
    if args.mmattach:
        Mmattach.program = args.mmattach
    rows = []
    print_head(plan)
    for name in args.only or (QUICK if args.quick else [name for name in MEASUREMENTS if name not in LONG]):
        for row in MEASUREMENTS[name](plan):
            print_row(row)
            rows.append(row)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump([row.as_json() for row in rows], out, indent=1)
    return 1 if args.gate and any(row.missed for row in rows) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failed, OSError) as err:
        sys.exit(f"bench: {err}")
