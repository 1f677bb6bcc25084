# SPDX-License-Identifier: MIT
"""The cost of --budget, by the clocks of the watched program: tests/victims/sampled, busy without pause,
alternately unwatched and watched.

Speed is pairs per second of the time that the thread ran or was stopped. Time in which it waited for a
processor because other programs ran is left out, and so is time in which the host of a virtual machine ran
something else: on a shared machine that is ten times what is measured. The stopped time is given for each
second, so that the worst ten seconds can be found; what is counted as stopped while unwatched is subtracted.
(tests/victims/sampled_clock.h)

And what it yields: the estimated allocation rate of each allocation site, beside the true rate.
"""
import statistics
import time

from pauses import Talk
from sides import TOP, Mmattach

VICTIM = TOP / "build/victims/sampled"
PROMISE = 1.0  # percent
UNWATCHED_S, WATCHED_S = 3, 12  # of a round
RATES_S = 30
WINDOW = 10
ROUNDS = 5
# times as many rounds as elsewhere: what other programs do to the machine averages out
MANY = 4


class Sampling(Mmattach):
    options = ["--budget", f"{PROMISE:g}%"]


class Service(Talk):
    def __init__(self):
        super().__init__(VICTIM, "-f")
        self.pid = int(self.first.split()[1])

    def stretch(self, seconds):
        """What it did in so many seconds: (pairs a second of running or being stopped, share stopped, pairs a
        second of wall time)."""
        before = self.ask("pairs")
        time.sleep(seconds)
        after = self.ask("pairs")
        did = {key: after[key] - before[key] for key in after}
        return (did["pairs"] / (did["cpu_ns"] + did["stood_ns"] - did["stood_cpu_ns"]) * 1e9,
                did["stood_ns"] / did["wall_ns"], did["pairs"] / did["wall_ns"] * 1e9)

    def stood(self, since):
        """Nanoseconds that it was stopped in each second from @since (by its clock) until now."""
        thread = self.ask("gaps")["threads"][0]
        return [second["stood_ns"] for second in thread["seconds"][max(0, since - thread["first_s"]):]]

    def now_s(self):
        return self.ask("pairs")["now_ns"] // 1_000_000_000


def worst(seconds):
    """The largest share in any @WINDOW consecutive seconds."""
    return max(sum(seconds[i:i + WINDOW]) for i in range(max(1, len(seconds) - WINDOW + 1))) / (WINDOW * 1e9)


def watched(service):
    """A watched period: what the service did, its worst ten seconds, and what the report says about the
    budget."""
    began = service.now_s()
    with Sampling(service) as tracer:
        did = service.stretch(WATCHED_S)
    return {"did": did, "worst": worst(service.stood(began)), "run": tracer.run}


def all_rounds(service, n):
    """Watched periods, each with the unwatched ones before and after it: a shared machine gets faster and
    slower all the time."""
    alone, rounds = service.stretch(UNWATCHED_S), []
    for _ in range(n):
        had = watched(service)
        before, alone = alone, service.stretch(UNWATCHED_S)
        rounds.append(dict(had, alone=[statistics.mean(both) for both in zip(before, alone)]))
    return rounds


def lost(had, of):
    """By how many percent the watched service did less."""
    return 100 * (1 - had["did"][of] / had["alone"][of])


def made(service):
    """What each site has allocated: {its function: blocks}, and when."""
    truth = service.ask("truth")
    return {site["name"]: site["allocs"] for site in truth["sites"]}, truth["now_ns"] / 60e9


def estimates(report):
    """Blocks a minute of each site: {its function: [value, low, high]}; several stacks of one site are
    added."""
    sums = {}
    for group in report["groups"]:
        place = next((f["function"] for f in group["stack"] if str(f.get("function")).startswith("site_")),
                     None)
        rate = group["allocs_per_minute"]
        if place and None not in rate:
            sums[place] = [a + b for a, b in zip(sums.get(place, [0, 0, 0]), rate)]
    return sums


def compared(service):
    """(estimate / truth, truth within the interval) of each site that allocated."""
    before, began = made(service)
    with Sampling(service) as tracer:
        time.sleep(RATES_S)
        after, ended = made(service)
    rates = {place: (after[place] - before[place]) / (ended - began) for place in after}
    return [(value / rates[place], low <= rates[place] <= high)
            for place, (value, low, high) in estimates(tracer.report).items() if rates.get(place)]


def rows(plan):
    """The rows of the table, as keyword arguments of run.py's Row."""
    with Service() as service:
        service.stretch(1)
        rounds = all_rounds(service, min(plan.rounds, ROUNDS))
        places = compared(service)
    idle = statistics.median(had["alone"][1] for had in rounds)
    share = [100 * (had["worst"] - idle) for had in rounds]
    told = [100 * had["run"]["budget"]["worst_ten_seconds"] for had in rounds]
    return [{
        "name": "budget/lost", "what": "--budget 1%, 200,000 pairs a second: speed lost", "unit": "%",
        "values": [lost(had, 0) for had in rounds], "at_most": 1.5
    }, {
        "name": "budget/stopped", "what": "the same: stopped in the worst ten seconds", "unit": "%",
        "values": share, "at_most": PROMISE
    }, {
        "name": "budget/told", "what": "the same, as mmattach tells it", "unit": "%", "values": told,
        "at_most": PROMISE
    }, {
        "name": "budget/account", "what": "the same, by the target's clock / as mmattach reports it",
        "at_most": 1.15, "values": [own / of_it for own, of_it in zip(share, told)]
    }, {
        "name": "budget/wall", "what": "pairs a second of wall lost, to any process", "unit": "%",
        "values": [lost(had, 2) for had in rounds]
    }, {
        "name": "budget/rates", "what": f"{RATES_S} s: allocations a minute of a place, estimated / true",
        "values": [ratio for ratio, _ in places]
    }, {
        "name": "budget/intervals",
        "what": "the same: of the intervals of 95 %, those with the truth in them", "unit": "%",
        "values": [100 * statistics.mean(inside for _, inside in places)]
    }]


def many_rounds(plan):
    """The least certain row of rows(), with many more rounds: each takes a quarter of a minute."""
    with Service() as service:
        service.stretch(1)
        rounds = all_rounds(service, MANY * plan.rounds)
    return [{
        "name": "budget/rounds",
        "what": f"--budget 1%, 200,000 pairs a second: speed lost, {len(rounds)} rounds", "unit": "%",
        "values": [lost(had, 0) for had in rounds], "at_most": 1.5
    }]
