# SPDX-License-Identifier: MIT
"""nfs-ganesha under NFS load: it continues to serve, its session state is not reported as growth, stacks are
complete."""
import pytest

from ganesha import Ganesha
from harness import last_for, lost
from reports import blocks, of_family, whole_share
from untouched import assert_untouched

# in less time, memory that is filled and emptied with each lease cannot be distinguished from growth
SECONDS = 60
LEASE = 4  # seconds
EVERY = 0.25  # seconds: a steady load, or the memory of the sessions would go up and down with it
LEVELS_OFF = ["level", "once", "falls"]  # the last one if the run ends when sessions have just been removed
GROWS = ["grows", "slows"]  # else "unknown": it rose to the end by what may be chance, as it does in some runs
AT_ONCE = LEASE / 2  # seconds of load: groups with the blocks of so much load hold them for the sessions


@pytest.fixture
def ganesha(serve):
    service = serve(Ganesha, lease=LEASE)
    service.load(1)
    return service


def modules(group):
    return {frame["module"].rpartition("/")[2].partition(".so")[0] for frame in group["stack"]}


def test_it_serves_on_and_session_state_is_young(ganesha, watch):
    run = watch("-p", ganesha.pid).wait_watching()
    with ganesha.busy(every=EVERY) as served:
        last_for(SECONDS)
        report = run.finish(limit=60)
    # two sessions and a file each; sixteen times as many where nothing else runs
    assert len(served) >= SECONDS / 4
    assert lost(report) == {}
    assert_untouched(ganesha)

    groups = of_family(report, "libc")
    assert report["totals"]["allocs"] > 100 * len(served)
    assert whole_share(report) > 0.999
    deep = [g for g in groups if {"libganesha_nfsd", "libntirpc", "libc"} <= modules(g)]
    assert blocks(g for g in deep if g["stack_end"] == "whole") > 0.9 * blocks(groups)

    # the cache of answers to requests, which lasts for ten minutes, belongs to no session
    sessions = [g for g in deep if g["frees"] > 0 and g["blocks"] > AT_ONCE * len(served) / SECONDS
                and g["oldest_s"] < 3 * LEASE]
    assert len(sessions) > 5, [(g["blocks"], g["oldest_s"]) for g in deep]
    for group in sessions:
        assert group["youngest_s"] < 2
        assert group["growth"]["shape"] not in GROWS, group
    level = [group for group in sessions if group["growth"]["shape"] in LEVELS_OFF]
    assert len(level) > len(sessions) / 2, [group["growth"] for group in sessions]
