# SPDX-License-Identifier: MIT
"""Estimates of a sample by bytes, compared with the truth of the victim bysize."""
import math

from harness import LIMIT, Watch, lost
from untouched import assert_untouched

INTERVAL = 65536
TURNS = 400
SITES = ["leak_small", "leak_page", "leak_resized", "leak_aligned", "leak_large", "leak_shared"]
DEVIATIONS = 4.5  # one of some hundred thousand estimates is further away by chance
LEAST = 16        # bytes that a block counts with at least


def watching(target, *args, limit=LIMIT):
    return Watch("-p", str(target.pid), "--sample", str(INTERVAL), "--top", "0", *args).wait_watching(limit)


def by_site(report):
    """{site: (blocks, bytes, blocks seen, interval of bytes)}, of what is live."""
    found = {}
    for group in report["groups"]:
        for frame in group["stack"]:
            if frame["function"] in SITES and group["blocks"]:
                blocks, size, seen, _ = found.get(frame["function"], (0, 0, 0, None))
                found[frame["function"]] = (blocks + group["blocks"], size + group["bytes"],
                                            seen + group["sampled_blocks"], group["bytes_between"])
                break
    return found


def deviation(blocks, size):
    """Of the estimated number of blocks, of which there are @blocks of @size bytes."""
    share = -math.expm1(-max(size, LEAST) / INTERVAL)
    return math.sqrt(blocks * (1 - share) / share)


def run(target, *args, limit=LIMIT):
    """A watch while the victim works: (the report, {site: (blocks, bytes)} of what has leaked meanwhile)."""
    before = target.ask("leak 0")
    watch = watching(target, *args, limit=limit)
    target.ask(f"leak {TURNS}", limit=limit)
    target.ask("grow 40", limit=limit)
    after = target.ask(f"share {5 * TURNS}", limit=limit)
    report = watch.finish(limit=limit)
    assert_untouched(target)
    assert lost(report) == {}
    return report, {site: (after[site][0] - before[site][0], after[site][1] - before[site][1]) for site in SITES}


def assert_estimated(report, truth):
    """Each site's estimate; returns how many of the intervals contain the truth, and of how many."""
    found, held = by_site(report), 0
    for site, (blocks, size) in truth.items():
        each = size // blocks
        estimated, bytes_estimated, seen, (low, high) = found.get(site, (0, 0, 0, (0, 3 * INTERVAL)))
        assert abs(estimated - blocks) <= DEVIATIONS * deviation(blocks, each) + 1, (site, blocks, found)
        assert bytes_estimated == estimated * each
        assert seen <= blocks
        held += low <= size <= high
    return held, len(truth)
