# SPDX-License-Identifier: MIT
"""What the suite does of itself (conftest.py): which skips are excused, and how files are shared out."""
import importlib.util
import pathlib
import threading
import time

import pytest

import chance

# by its path: other folders have a conftest of their own
_spec = importlib.util.spec_from_file_location("suite", pathlib.Path(__file__).parent / "conftest.py")
suite = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(suite)


@pytest.mark.parametrize("reason, had, excused", [
    ("optional: this machine has no swap", True, True),
    ("Skipped: optional: redis-server is not installed", True, False),
    ("Skipped: optional: redis-server is not installed", False, True),
    ("ptrace is not permitted here", False, False),
])
def test_which_skips_are_excused(tmp_path, monkeypatch, reason, had, excused):
    """@had: all packages could be installed."""
    monkeypatch.setattr(suite, "BUILD", tmp_path)
    if not had:
        (tmp_path / "cannot-be-had").write_text("redis-server\n")
    assert suite.is_excused(reason) == excused


def test_lanes_are_equally_long(tmp_path, monkeypatch):
    """The longest file has a lane of its own; one of unknown duration counts, too."""
    names = ["live/test_long.py", "live/test_short.py", "live/test_new.py", "live/test_other.py"]
    (tmp_path / "durations").write_text("50 live/test_long.py\n5 live/test_short.py\n25 live/test_other.py\n")
    monkeypatch.setattr(suite, "DURATIONS", tmp_path / "durations")
    found = suite.lanes({suite.HERE / name for name in names})
    assert [found[suite.HERE / name] for name in names] == [0, 1, 1, 1]


class Item:
    """What is asked of a test."""

    def __init__(self, path, *marks):
        self.path, self.marks = suite.HERE / path, marks

    def get_closest_marker(self, name):
        return name if name in self.marks else None


@pytest.mark.parametrize("item, group", [
    (Item("live/test_a.py"), "lane 1"), (Item("live/test_a.py", "waiting"), "lane 2"), (Item("live/test_a.py", "alone"), "lane 0"),
    (Item("live/test_a.py", "waiting", "alone"), "lane 0"), (Item("test_a.py"), "test_a"), (Item("test_unit.py"), None),
    (Item("live/test_a.py", "quiet"), None), (Item("test_a.py", "quiet"), None),
])
def test_who_runs_a_test(item, group):
    """What waits has a lane of its own, beside those of live tests; what runs alone is in the first one; what is quiet
    is taken by any that has nothing else."""
    assert suite.group(item, {suite.HERE / "live/test_a.py": 1}) == group


def test_quiet_ones_come_last():
    names = ["test_unit.py", "live/test_a.py", "test_a.py"]
    items = [Item(name, *marks) for name in names for marks in [(), ("quiet",), ("alone",)]]
    assert [suite.is_quiet(item) for item in sorted(items, key=suite.turn)] == [False] * 6 + [True] * 3


def test_a_quiet_one_waits_for_the_others(tmp_path, monkeypatch):
    """But not for another quiet one, nor does it hold others up as it waits."""
    for name in ("GATE", "LOCK", "LOUD"):
        monkeypatch.setattr(suite, name, tmp_path / name)
    monkeypatch.setattr(suite, "WORKER", True)
    began, ends = [], threading.Event()

    def run(*marks):
        with suite.held_for(Item("test_a.py", *marks)):
            began.append(marks)
            ends.wait(20)
    threads = [threading.Thread(target=run, args=marks) for marks in ((), ("quiet",), ("quiet",))]
    with suite.held_for(Item("test_a.py")):
        threads[0].start()
        wait_until(lambda: began == [()])
        for thread in threads[1:]:
            thread.start()
        assert not wait_until(lambda: len(began) > 1, 0.3)
    assert not wait_until(lambda: len(began) > 1, 0.3), "another loud one still runs"
    ends.set()
    threads[0].join()
    assert wait_until(lambda: began == [(), ("quiet",), ("quiet",)])
    for thread in threads[1:]:
        thread.join()


def wait_until(condition, limit=10):
    end = time.monotonic() + limit
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


@pytest.mark.parametrize("expected, most", [(0, 0), (0.2, 3), (1.5, 7), (30.85, 51), (100, 134)])
def test_what_is_chance(expected, most):
    """The quantiles of Poisson's distribution."""
    assert chance.at_most(expected) == most


def test_durations_are_of_files_that_exist():
    names = [line.split()[1] for line in suite.DURATIONS.read_text().splitlines()]
    assert len(names) == len(set(names)) and all((suite.HERE / name).exists() for name in names)
