# SPDX-License-Identifier: MIT
"""MM_REQUIRE=1 makes a skipped test a failure: a run in which ptrace was forbidden must not look green.

But for reasons that begin with "optional:", of what is tested where it is there: Rust."""
import os

import pytest


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
