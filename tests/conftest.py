# SPDX-License-Identifier: MIT
"""MM_REQUIRE=1 makes a skipped test a failure: a run in which ptrace was forbidden must not look green.

But for reasons that begin with "optional:", of what is tested where it is there: Rust.

With two workers (pytest-xdist, --dist loadgroup) one runs all tests that watch a live process, one after the other, and the
other runs beside it, at a lower priority, what needs nothing but a processor. While a test that is marked
`alone`, as it measures time, nothing else runs at all. Without xdist all run one after the other."""
import contextlib
import fcntl
import json
import os
import pathlib
import signal

import pytest

import schema


AUTOGROUP = pathlib.Path("/proc/self/autogroup")
HERE = pathlib.Path(__file__).parent
SINGLE = {"test_unit", "test_census", "test_fuzz"}  # of the files right here those whose tests share nothing
BESIDE = 10  # how nice it is, what runs beside live tests
LOCK = HERE.parent / "build/tests.lock"  # held by each worker for a test: shared, or alone
WORKER = "PYTEST_XDIST_WORKER" in os.environ


def set_share(nice):
    try:
        AUTOGROUP.write_text(nice)
    except OSError:  # a kernel without it, or not allowed
        pass


def take_signals_as_usual():
    """A shell starts what it puts into the background with these ignored, and what we start would inherit it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_configure(config):
    """A session may have been given ten times the share of others. Victims would have it, and mmattach, in a session of its own, would starve beside them."""
    take_signals_as_usual()
    if WORKER:
        os.setsid()  # a share of its own
    config.addinivalue_line("markers", "alone: measures time: no other test runs meanwhile")
    config.share_before = AUTOGROUP.read_text().split()[-1:] if AUTOGROUP.exists() else []
    set_share("0")


def is_alone(item):
    return item.get_closest_marker("alone") is not None


def is_live(item):
    return is_alone(item) or item.path.parent != HERE


def group(item):
    """What one worker takes as a whole; None: whoever is free takes it."""
    if is_live(item):
        return "live"
    # what such a file makes once for all its tests, it would make in each worker
    return item.path.stem if item.path.stem not in SINGLE else None


def turn(item):
    """The live ones take longest; of these, those that run alone when the others are done. Small ones fill what is left."""
    return (1 if is_alone(item) else 0) if is_live(item) else 3 if item.path.stem in SINGLE else 2


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        if group(item):
            item.add_marker(pytest.mark.xdist_group(group(item)))
    if WORKER:
        items.sort(key=turn)


def be_nice(nice):
    set_share(str(nice))
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, nice)


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
    if not WORKER:
        yield
        return
    be_nice(0 if is_live(item) else BESIDE)
    with held(fcntl.LOCK_EX if is_alone(item) else fcntl.LOCK_SH):
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
