# SPDX-License-Identifier: MIT
"""MM_REQUIRE=1 makes a skipped test a failure: a run in which ptrace was forbidden must not look green.

But for reasons that begin with "optional:", of what is tested where it is there: Rust."""
import json
import os
import pathlib

import pytest

import schema


AUTOGROUP = pathlib.Path("/proc/self/autogroup")


def set_share(nice):
    try:
        AUTOGROUP.write_text(nice)
    except OSError:  # a kernel without it, or not allowed
        pass


def pytest_configure(config):
    """A session may have been given ten times the share of others. Victims would have it, and mmattach, in a session of its own, would starve beside them."""
    config.share_before = AUTOGROUP.read_text().split()[-1:] if AUTOGROUP.exists() else []
    set_share("0")


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
