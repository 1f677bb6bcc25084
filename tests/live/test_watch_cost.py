# SPDX-License-Identifier: MIT
"""What a watch costs one thread is said, however many idle ones there are beside it: in the first lines of the
report, and while the watch goes on."""
import json
import os
import re

from test_trace import report
from untouched import assert_untouched

BY_KERNEL = os.environ.get("MM_ENGINE") == "uprobe"


def test_one_thread_of_many(victim, watch, tmp_path):
    target = victim("hot", 1, 60)
    w = watch("-p", target.pid, "-d", "6s", "-o", tmp_path / "t.mmt", "--report", tmp_path / "r", json_report=False)
    assert w.wait() == 0, w.said()
    assert_untouched(target)
    run = json.loads(report(tmp_path / "t.mmt"))["run"]
    share = run["worst_thread_stopped_s"] / run["worst_thread_s"]
    assert run["worst_thread_s"] < run["seconds"] + 1 and 0.01 < share <= 1
    if BY_KERNEL:
        assert run["probed_s"] >= run["worst_thread_stopped_s"]
    else:
        assert run["stopped_s"] < 0.03 * run["thread_s"] and share > 0.1
    [first] = re.findall(r"^the watch slowed the process: .* of \S+ \((\d+)%\)", (tmp_path / "r").read_text(), re.M)
    assert abs(int(first) - 100 * share) < 2
    said = w.said().count("this watch slows the target much")
    assert said == 1 if share > 0.3 else said <= 1
    assert not said or "--budget 1%" in w.said()
    target.end()


def test_nothing_to_say(victim, watch):
    """A thread that calls now and then loses little of its time."""
    target = victim("paced", 1, 20)
    w = watch("-p", target.pid, "-d", "4s", json_report=False)
    assert w.wait() == 0 and "slows the target" not in w.said()
    assert_untouched(target)


def test_times_beside_the_watch(victim, watch):
    """-d is the time of the watch; what it took to begin and to end it is told apart."""
    target = victim("leaky_service")
    w = watch("-p", target.pid, "-d", "2s", "--verbose")
    run = w.finish(sig=None)["run"]
    assert 1.9 < run["seconds"] < 4
    assert re.search(r"^mmattach: attaching took \S+, and \S+ after the watch were for leaving, names and the report$", w.said(), re.M)
    assert_untouched(target)
