# SPDX-License-Identifier: MIT
"""MM_REQUIRE=1 makes a skipped test a failure: a run in which ptrace was forbidden must not look green."""
import os

import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("MM_REQUIRE") == "1":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid}: skipped, and MM_REQUIRE=1 forbids that: {reason}"
