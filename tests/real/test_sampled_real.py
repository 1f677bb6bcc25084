# SPDX-License-Identifier: MIT
"""Busy services that leak (recipes/lossy.py), watched with a budget: the leak is found, the budget is kept,
and they continue to serve.

With 1 % that takes minutes, because a stop costs a tenth of a millisecond there: `make bench` does that
(bench/sampled.py). Here the budget is larger.
"""
import pytest

from lossy import lossy_mount, lossy_switch
from reports import functions
from untouched import assert_untouched

pytestmark = pytest.mark.quiet
SECONDS = 30
BUDGET = 0.1
COMMANDS_EVERY_S = 0.4  # a unit of load of the switch is three commands, which cost much more than the switch


def watched(lossy, watch, **kwargs):
    """The report, and how many blocks a minute were lost meanwhile."""
    def run():
        return watch("-p", lossy.service.pid, "--budget", f"{100 * BUDGET:g}%", "-d", f"{SECONDS}s", "--top", "0", *lossy.options).finish(
            sig=None, limit=SECONDS + 60)

    report, a_minute, served = lossy.during(run, **kwargs)
    assert_untouched(lossy.service)
    assert served > SECONDS / 4, "it was served meanwhile"
    return report, a_minute


def assert_price_kept(report):
    budget = report["run"]["budget"]
    assert report["run"]["mode"] == "sampled"
    assert budget["promise"] == BUDGET
    assert budget["spent"] <= BUDGET, budget
    assert budget["worst_ten_seconds"] <= 1.25 * BUDGET, budget


def assert_rate(groups, a_minute):
    """For all @groups together. Wider than the 95 % intervals, so that it holds nearly always."""
    rates = [g["allocs_per_minute"] for g in groups]
    bounded = all(high is not None for _, _, high in rates) and not any(g["estimate"]["at_least"] for g in groups)
    assert sum(low for _, low, _ in rates) / 1.6 <= a_minute, (rates, a_minute)
    assert not bounded or a_minute <= 1.6 * sum(high for _, _, high in rates), (rates, a_minute)


def test_a_translator_that_forgets(serve, watch, built, tmp_path):
    lossy = lossy_mount(serve, tmp_path, built("leaky_xlator.so").parent)
    report, a_minute = watched(lossy, watch)
    assert_price_kept(report)
    found = lossy.found(report)
    assert found, [functions(g)[:4] for g in report["groups"][:10]]
    # the contents of an inode that is never freed leak as well, at each translator's own site
    assert report["groups"].index(found[0]) < 8
    assert_rate(found[:1], a_minute)


def test_a_library_that_forgets(serve, watch, built, tmp_path):
    lossy = lossy_switch(serve, tmp_path, built("ovs_leak.so").parent)
    report, a_minute = watched(lossy, watch, every=COMMANDS_EVERY_S)
    assert_price_kept(report)
    found = lossy.found(report)
    assert found and report["groups"][0] is found[0], [functions(g)[:4] for g in report["groups"][:10]]
    assert found[0]["stack"][0]["module"].endswith("/ovs_leak.so")
    assert_rate(found, a_minute)


def test_a_rust_service_with_its_own_jemalloc(victim, watch, built):
    """Its calls go through slots without a name, and its blocks are those of a second malloc."""
    target = victim(str(built("jemallocated")))
    before = target.ask("truth")
    report = watch("-p", target.pid, "--budget", "5%", "-d", "20s", "--top", "0").finish(sig=None, limit=80)
    kept = target.ask("truth")["kept"] - before["kept"]
    assert_untouched(target)
    assert report["run"]["budget"]["worst_ten_seconds"] <= 1.25 * report["run"]["budget"]["promise"]
    # a list has them: so soon that may be a cache
    leaks = [g for g in report["groups"] if g["turnover"] == "stays" or g["why_unknown"] == "pointed_to"]
    assert leaks and "jemallocated::keep" in functions(leaks[0]), [functions(g)[:4] for g in report["groups"]]
    assert_rate(leaks[:1], 60 * kept / report["run"]["seconds"])
    target.end()
