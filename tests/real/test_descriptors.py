# SPDX-License-Identifier: MIT
"""Leaked descriptors (fds.c) and threads that are never joined (threads_unjoined.c), exactly."""
from harness import hits, lost
from reports import functions, of_family, where
from untouched import assert_untouched


def kept(report, family):
    """{function of the victim that leaks, or the allocation site: number of live blocks}."""
    found = {}
    for group in of_family(report, family):
        blamed = [name for name in functions(group) if name and name.startswith(("lose_", "forget"))]
        name = blamed[0] if blamed else where(group)
        found[name] = found.get(name, 0) + group["blocks"]
    return found


def test_leaked_descriptors(victim, attach):
    target = victim("fds")
    run = attach(target, "--family", "fd")
    told = target.ask("go 20", limit=60)
    report = run.finish()
    assert kept(report, "fd") == told
    assert report["totals"]["unmatched_frees"] == report["totals"]["double_frees"] == 0
    assert lost(report) == {}
    assert_untouched(target)
    target.end()


def test_descriptors_older_than_the_watch(victim, attach):
    target = victim("fds")
    run = attach(target, "--family", "fd")
    closed = target.ask("close")["closed"]
    told = target.ask("go 3", limit=60)
    report = run.finish()
    assert kept(report, "fd") == told
    assert report["totals"]["unmatched_frees"] == closed
    target.end()


def test_unjoined_threads(victim, attach):
    target = victim("threads_unjoined")
    run = attach(target, "--family", "thread")
    told = target.ask("go 40", limit=60)
    report = run.finish()
    assert kept(report, "thread") == told
    assert lost(report) == {}
    assert_untouched(target)
    target.end()


def test_threads_that_detach_themselves_at_once(victim, attach):
    """Sometimes before pthread_create has returned: then they are reported as live, as packs/thread.probes
    explains."""
    target = victim("threads_unjoined")
    run = attach(target, "--family", "thread")
    target.ask("hasty 200", limit=60)
    told = target.ask("go 5", limit=60)
    report = run.finish()
    assert hits(report, "alloc pthread_create") > 200
    found = kept(report, "thread")
    assert found.pop("begin", 0) <= 20
    assert found == told
    assert_untouched(target)
    target.end()
