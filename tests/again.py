# SPDX-License-Identifier: MIT
"""MM_AGAIN=1: a test that fails is run twice more while nothing else runs. If both pass, it passes, and its failure
is listed at the end of the run: such a test, or what it tests, is to be mended. Where the machine is shared, a
watched process or a tracer may not get a processor for seconds."""
import os

from _pytest.runner import runtestprotocol

ON = os.environ.get("MM_AGAIN") == "1"
TIMES = 2
PROPERTY = "failed at first"


def run(item, nextitem):
    item._initrequest()  # as for a test that has not run: its fixtures are made anew
    return runtestprotocol(item, nextitem=nextitem, log=False)


def failure(reports):
    return next((report for report in reports if report.failed), None)


def protocol(item, nextitem, held, alone):
    """What pytest does for a test; @held: a context manager to run it in, @alone: one in which nothing else runs."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    with held():
        reports = run(item, nextitem)
    first = failure(reports)
    for _ in range(TIMES if first else 0):
        with alone():
            once_more = run(item, nextitem)
        if failure(once_more):
            break
    else:
        if first:
            reports = once_more
            reports[-1].user_properties = [*reports[-1].user_properties, (PROPERTY, first.longreprtext[-4000:])]
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def summary(terminalreporter):
    found = [(report.nodeid, text) for reports in terminalreporter.stats.values() for report in reports
             for name, text in getattr(report, "user_properties", ()) if name == PROPERTY]
    for nodeid, text in found:
        terminalreporter.section(f"{PROPERTY}, and passed {TIMES} times alone: {nodeid}")
        terminalreporter.write_line(text)
    for nodeid, _ in found:
        terminalreporter.write_line(f"{PROPERTY.upper()}, and passed {TIMES} times alone: {nodeid}")
