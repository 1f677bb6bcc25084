# SPDX-License-Identifier: MIT
"""Real services scanned twenty times each while they work: the figures add up each time, and they continue to
serve."""
import pathlib

import pytest

from gluster import Gluster
from harness import rounds, wait_for
from interpreter import Python
from openvswitch import Ovs
from scans import assert_adds_up, assert_schema, scan
from untouched import assert_untouched

SCANS = rounds(6, 20)


def maps(pid):
    return pathlib.Path(f"/proc/{pid}/maps").read_text()


@pytest.mark.parametrize("recipe", [Python, Gluster, Ovs])
def test_twenty_times_under_load(serve, recipe):
    service = serve(recipe)
    with service.busy() as served:
        for _ in range(SCANS):
            before = len(served)
            report = scan("-p", service.pid, "--max-pause", "5s").json()
            assert_schema(report)
            assert_adds_up(report)
            assert report["run"]["verdicts"]["known"]
            # both begin their blocks with a header and point after it, so much is possibly lost; nothing is
            # definitely
            verdicts = report["run"]["verdicts"]["all"]
            assert verdicts["definite"]["blocks"] + verdicts["indirect"]["blocks"] <= report["totals"]["live_blocks"] // 100
            assert service.alive(), service.said()
            wait_for(lambda: len(served) > before, "it serves on", 30)
    assert_untouched(service)


def test_nothing_is_mapped_by_a_scan(serve):
    """The memory layout of a service without load does not change: a scan adds no page and no mapping."""
    service = serve(Ovs)
    scan("-p", service.pid).json()
    before = maps(service.pid)
    for _ in range(3):
        scan("-p", service.pid).json()
    assert maps(service.pid) == before
    assert_untouched(service)
