# SPDX-License-Identifier: MIT
"""MM_REQUIRE=1 makes a skipped test a failure: a run in which ptrace was forbidden must not look green.

Reasons that begin with "optional:" are an exception: they are for what a machine cannot have. That something is not
installed is such a reason only if ./run could not install it (build/cannot-be-had).

With four workers (pytest-xdist, --dist loadgroup) two run the tests that watch a live process, file by file, one after
the other; a third those of them that mostly wait (marked `waiting`); the last, with a lower priority, the tests that
need nothing but a processor, in which the first three help when they are done. Which of the two runs a file is chosen
by how long it took in some earlier run (durations.txt: a whole run writes such a list to build/tests.durations), so
that both end at about the same time. Tests that mostly wait, but for what others must not delay (marked `quiet`), come
when all others have run, three at a time. While a test that is marked `alone`, because it measures time, is running,
nothing else runs at all. Without xdist all run one after the other."""
import contextlib
import datetime
import fcntl
import json
import os
import pathlib
import signal

import pytest

import again
import schema


AUTOGROUP = pathlib.Path("/proc/self/autogroup")
HERE = pathlib.Path(__file__).parent
# of the files in this folder, those whose tests share nothing
SINGLE = {"test_unit", "test_census", "test_fuzz"}
DURATIONS = HERE / "durations.txt"
LANES = 2       # of live tests, and one more of those that wait
SECONDS = 20    # of a file of them whose duration is not known
LEAST = 3236  # tests that pass in a whole run (MM_REQUIRE=1): a larger number with each that is added
BESIDE = 10  # the nice value of tests that run beside live tests
BUILD = HERE.parent / "build"
GATE = BUILD / "tests.gate"  # locked by each before LOCK, and while one waits for that
LOCK = BUILD / "tests.lock"  # locked by each worker for a test: shared, or exclusively
LOUD = BUILD / "tests.loud"  # locked by each for a test that is not quiet
WORKER = "PYTEST_XDIST_WORKER" in os.environ


def set_share(nice):
    try:
        AUTOGROUP.write_text(nice)
    except OSError:  # a kernel without autogroups, or no permission
        pass


def take_signals_as_usual():
    """A shell starts background jobs with these ignored, and the processes we start would inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_configure(config):
    """A session may have been given ten times the share of others. Victims would inherit it, and mmattach, in
    a session of its own, would starve beside them."""
    take_signals_as_usual()
    # which of several variants it is the turn of (test_census.of_the_day): the same for all workers, before and after midnight
    os.environ.setdefault("MM_DAY", str(datetime.date.today().toordinal()))
    if WORKER:
        os.setsid()  # a share of its own
    config.pluginmanager.register(Durations(), "durations")
    config.pluginmanager.register(Again())
    config.addinivalue_line("markers", "alone: measures time: no other test runs meanwhile")
    config.addinivalue_line("markers", "waiting: a live test that mostly waits, and bears that others run beside it")
    config.addinivalue_line("markers", "quiet: mostly waits, but needs a processor at once: only others like it run beside it")
    config.addinivalue_line("markers", "full: only with MM_FULL=1")
    config.share_before = AUTOGROUP.read_text().split()[-1:] if AUTOGROUP.exists() else []
    set_share("0")


def is_alone(item):
    return item.get_closest_marker("alone") is not None


def is_waiting(item):
    return item.get_closest_marker("waiting") is not None


def is_quiet(item):
    return item.get_closest_marker("quiet") is not None and not is_alone(item)


def is_live(item):
    return is_alone(item) or is_quiet(item) or item.path.parent != HERE


def name_of(path):
    return str(path.relative_to(HERE))


def lanes(paths):
    """{path of a file of live tests: its lane}: the longest first, each to the lane that has least so far."""
    recorded = {name: float(seconds) for seconds, name in map(str.split, DURATIONS.read_text().splitlines())}
    lasts = {path: recorded.get(name_of(path), SECONDS) for path in paths}
    sums, found = [0.0] * LANES, {}
    for path in sorted(lasts, key=lambda path: (-lasts[path], path)):
        found[path] = min(range(LANES), key=lambda lane: sums[lane])
        sums[found[path]] += lasts[path]
    return found


def group(item, lane_of):
    """The tests that one worker takes as a whole; None: any free worker takes it."""
    if is_quiet(item):
        return None
    if is_live(item):
        # as a group of their own they would keep a worker waiting from the beginning
        return f"lane {0 if is_alone(item) else LANES if is_waiting(item) else lane_of[item.path]}"
    # what such a file makes once for all its tests would otherwise be made in each worker
    return item.path.stem if item.path.stem not in SINGLE else None


def turn(item):
    """The order: live tests take longest, so they come first; then those that run alone, which wait until no other does.
    Small ones fill the rest, and quiet ones come last."""
    return 4 if is_quiet(item) else (1 if is_alone(item) else 0) if is_live(item) else 3 if item.path.stem in SINGLE else 2


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    if os.environ.get("MM_FULL") != "1":
        items[:] = [item for item in items if not item.get_closest_marker("full")]
    if not config.pluginmanager.hasplugin("xdist"):
        return
    lane_of = lanes({item.path for item in items
                     if is_live(item) and not is_alone(item) and not is_waiting(item) and not is_quiet(item)})
    for item in items:
        name = group(item, lane_of)
        if name:
            item.add_marker(pytest.mark.xdist_group(name))
    if WORKER:
        items.sort(key=turn)


def be_nice(nice):
    set_share(str(nice))
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, nice)


@contextlib.contextmanager
def locked(path, how):
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(fd, how)
        yield
    finally:
        fcntl.flock(fd, fcntl.LOCK_UN)  # a child of the test may have inherited the descriptor
        os.close(fd)


@contextlib.contextmanager
def held(how, soon=False):
    """Tests that run alone come when the others are done: one waits until no other runs, and as long as two workers have
    one test after the other, that is never so. Where it must be soon, no other begins meanwhile."""
    with contextlib.ExitStack() as stack:
        with locked(GATE, fcntl.LOCK_EX) if soon else locked(GATE, fcntl.LOCK_SH) if how == fcntl.LOCK_SH else contextlib.nullcontext():
            stack.enter_context(locked(LOCK, how))
        yield


@contextlib.contextmanager
def loud(item):
    """A quiet one waits until none runs that is not. As it comes last, none begins then."""
    if is_quiet(item):
        with locked(LOUD, fcntl.LOCK_EX):
            pass
    with contextlib.nullcontext() if is_quiet(item) else locked(LOUD, fcntl.LOCK_SH):
        yield


@contextlib.contextmanager
def held_for(item):
    """While this test runs: nothing else, if it is alone, and nothing loud, if it is quiet."""
    if not WORKER:
        yield
    elif is_alone(item):
        with held(fcntl.LOCK_EX):
            yield
    else:
        with loud(item), held(fcntl.LOCK_SH):
            yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    if WORKER:
        be_nice(0 if is_live(item) else BESIDE)
    with contextlib.nullcontext() if again.ON else held_for(item):
        yield


class Again:
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        if not again.ON:
            return None
        again.protocol(item, nextitem, lambda: held_for(item), lambda: held(fcntl.LOCK_EX, soon=True))
        return True


def is_whole_run(config):
    """All tests, where none may be skipped without a reason."""
    return not WORKER and os.environ.get("MM_REQUIRE") == "1" and config.args == ["tests"] and not config.getoption("keyword")


class Durations:
    """Of the files of live tests: how long they took in this run."""

    def __init__(self):
        self.seconds = {}

    def pytest_runtest_logreport(self, report):
        path = HERE.parent / report.nodeid.split("::")[0]
        if path.parent != HERE and not {"alone", "quiet"} & set(report.keywords):
            self.seconds[path] = self.seconds.get(path, 0) + report.duration

    def write(self):
        rows = sorted(self.seconds.items(), key=lambda row: -row[1])
        (BUILD / "tests.durations").write_text("".join(f"{seconds:.0f} {name_of(path)}\n" for path, seconds in rows))


def passed(terminalreporter):
    return len(terminalreporter.stats.get("passed", []))


def pytest_terminal_summary(terminalreporter):
    again.summary(terminalreporter)
    if is_whole_run(terminalreporter.config):
        terminalreporter.config.pluginmanager.get_plugin("durations").write()
        had = passed(terminalreporter)
        terminalreporter.write_line(f"{had} tests passed; {LEAST} at least must (LEAST in tests/conftest.py)", red=had < LEAST)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    """A run in which tests were not collected, or were skipped as something is not installed, is no success."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if exitstatus == 0 and reporter and is_whole_run(session.config) and passed(reporter) < LEAST:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(autouse=True)
def reports_are_as_documented(monkeypatch):
    """Each JSON document of mmattach that a test reads is checked against the schema that it prints."""
    raw_decode = json.JSONDecoder.raw_decode

    def checked(self, *args, **kwargs):
        """json.loads ends up here, and it is called directly for a document inside other text."""
        document, end = raw_decode(self, *args, **kwargs)
        if schema.is_ours(document):
            schema.check(document)
        return document, end
    monkeypatch.setattr(json.JSONDecoder, "raw_decode", checked)


def pytest_unconfigure(config):
    for nice in config.share_before:
        set_share(nice)


def is_excused(reason):
    """May a test be skipped for @reason where none may be without one?"""
    missing = "installed" in reason and not (BUILD / "cannot-be-had").exists()
    return reason.startswith(("optional:", "Skipped: optional:")) and not missing


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("MM_REQUIRE") == "1":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        if is_excused(str(reason)):
            return
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid}: skipped, and MM_REQUIRE=1 forbids that: {reason}"
