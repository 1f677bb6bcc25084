# SPDX-License-Identifier: MIT
"""MM_REQUIRE=1 makes a skipped test a failure: a run in which ptrace was forbidden must not look green.

But for reasons that begin with "optional:", of what is tested where it is there: Rust.

With several workers (pytest-xdist, --dist loadgroup) tests run side by side, but for two kinds. Those marked `alone` measure
time, and run when no other test does. Of those marked `crowd`, whose threads or children all want the processors, two run at
a time. Without xdist all run one after the other."""
import contextlib
import fcntl
import json
import os
import pathlib

import pytest

import schema


AUTOGROUP = pathlib.Path("/proc/self/autogroup")
HERE = pathlib.Path(__file__).parent
SINGLE = {"test_unit", "test_census", "test_fuzz"}  # of the files right here those whose tests share nothing
CROWDS = 2
LOCK = HERE.parent / "build/tests.lock"  # held by each worker for a test: shared, or alone


def set_share(nice):
    try:
        AUTOGROUP.write_text(nice)
    except OSError:  # a kernel without it, or not allowed
        pass


def pytest_configure(config):
    """A session may have been given ten times the share of others. Victims would have it, and mmattach, in a session of its own, would starve beside them."""
    config.addinivalue_line("markers", "alone: measures time: no other test runs meanwhile")
    config.addinivalue_line("markers", "crowd: a crowd that wants the processors: few of these run at a time")
    config.share_before = AUTOGROUP.read_text().split()[-1:] if AUTOGROUP.exists() else []
    set_share("0")


def kind(item):
    """alone, crowd, or None: what is neither runs beside all but the first."""
    return next((name for name in ("alone", "crowd") if item.get_closest_marker(name)), None)


def group(item, number):
    """What one worker takes as a whole; None: whoever is free takes it."""
    if kind(item):
        return "alone" if kind(item) == "alone" else f"crowd{number % CROWDS}"
    # what such a file makes once for all its tests, it would make in each worker
    return item.path.stem if item.path.parent == HERE and item.path.stem not in SINGLE else None


def turn(item):
    """The long ones first, and small ones fill what is left; those that run alone when the others are done."""
    if kind(item):
        return {"crowd": 0, "alone": 4}[kind(item)]
    if item.path.parent == HERE:
        return 3 if item.path.stem in SINGLE else 1
    return 2 if item.path.parent.name != "real" else 1


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for i, item in enumerate(items):
        if group(item, i):
            item.add_marker(pytest.mark.xdist_group(group(item, i)))
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=turn)


@contextlib.contextmanager
def held(how):
    fd = os.open(LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(fd, how)
        yield
    finally:
        fcntl.flock(fd, fcntl.LOCK_UN)  # a child of the test's may have the descriptor, too
        os.close(fd)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    if "PYTEST_XDIST_WORKER" not in os.environ:
        yield
        return
    with held(fcntl.LOCK_EX if kind(item) == "alone" else fcntl.LOCK_SH):
        yield


@pytest.fixture(autouse=True)
def reports_are_as_documented(monkeypatch):
    """Each JSON document of mmattach that a test reads is held against the schema in doc/."""
    raw_decode = json.JSONDecoder.raw_decode

    def checked(self, *args, **kwargs):
        """What json.loads comes to, and what is called where a document stands within other text."""
        document, end = raw_decode(self, *args, **kwargs)
        if schema.is_ours(document):
            schema.check(document)
        return document, end
    monkeypatch.setattr(json.JSONDecoder, "raw_decode", checked)


def pytest_unconfigure(config):
    for nice in config.share_before:
        set_share(nice)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("MM_REQUIRE") == "1":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        if str(reason).startswith(("optional:", "Skipped: optional:")):
            return
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid}: skipped, and MM_REQUIRE=1 forbids that: {reason}"
