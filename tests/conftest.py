# SPDX-License-Identifier: MIT
"""MM_REQUIRE=1 makes a skipped test a failure: a run in which ptrace was forbidden must not look green.

Reasons that begin with "optional:" are an exception: they are for what is tested only where it is installed,
as Rust.

With four workers (pytest-xdist, --dist loadgroup) one runs the tests that watch a live process, one after the
other; two more those of the live ones that wait rather than compute (WAITING); and the last one, with a
lower priority, the tests that need nothing but a processor, in which the others help when they are done. While
a test that is marked `alone`, because it measures time, is running, nothing else runs at all. Without xdist all
run one after the other."""
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
# of the files in this folder, those whose tests share nothing
SINGLE = {"test_unit", "test_census", "test_fuzz"}
# files of live tests in which no test depends on how fast it is served
WAITING = {"test_terminal", "test_references", "test_following", "test_follow", "test_scan_core",
           "test_exact", "test_metrics", "test_sampled_trace", "test_reload", "test_gdb_commands",
           "test_gdb_ends", "test_gdb_review", "test_gdb_same", "test_gdb_session", "test_gdb_targets",
           "test_uprobe_start", "test_sample", "test_allocators", "test_limits", "test_containers", "test_many",
           "test_ruby_stacks", "test_container_tools", "test_reused"}
WAITING_TOO = {"test_tutorials", "test_python_stacks", "test_scan_allocators", "test_pooled", "test_talloc", "test_pools",
               "test_postgres_contexts", "test_scan_python", "test_nginx_pools", "test_apr", "test_kill", "test_whole", "test_free_stacks",
               "test_top", "test_soak", "test_ganesha", "test_memory", "test_trace"}
LEAST = 3150  # tests that pass in a whole run (MM_REQUIRE=1): a larger number with each that is added
BESIDE = 10  # the nice value of tests that run beside live tests
LOCK = HERE.parent / "build/tests.lock"  # locked by each worker for a test: shared, or exclusively
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
    """The tests that one worker takes as a whole; None: any free worker takes it."""
    if is_live(item):
        stem = None if is_alone(item) else item.path.stem
        return "waiting" if stem in WAITING else "waiting too" if stem in WAITING_TOO else "live"
    # what such a file makes once for all its tests would otherwise be made in each worker
    return item.path.stem if item.path.stem not in SINGLE else None


def turn(item):
    """The order: live tests take longest, so they come first; the live ones that run alone come after the
    other live ones. Small ones fill the rest."""
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
        fcntl.flock(fd, fcntl.LOCK_UN)  # a child of the test may have inherited the descriptor
        os.close(fd)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    if WORKER:
        be_nice(0 if is_live(item) else BESIDE)
    # while this test runs: nothing else, if it is alone
    with held(fcntl.LOCK_EX if is_alone(item) else fcntl.LOCK_SH) if WORKER else contextlib.nullcontext():
        yield


def is_whole_run(config):
    """All tests, where none may be skipped without a reason."""
    return not WORKER and os.environ.get("MM_REQUIRE") == "1" and config.args == ["tests"] and not config.getoption("keyword")


def passed(terminalreporter):
    return len(terminalreporter.stats.get("passed", []))


def pytest_terminal_summary(terminalreporter):
    if is_whole_run(terminalreporter.config):
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
