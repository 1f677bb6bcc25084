# SPDX-License-Identifier: MIT
"""What the tests of real targets read from a report."""


def where(group):
    """The function, or the module and offset, of the allocation site."""
    frame = group["stack"][group["wrappers"]]
    return frame["function"] or f"{frame['module'].rpartition('/')[2]}+{frame['offset']}"


def functions(group):
    return [frame["function"] for frame in group["stack"]]


def of_family(report, name, key="groups"):
    return [group for group in report[key] if group["family"] == name]


def blocks(groups):
    return sum(group["blocks"] for group in groups)


def whole_share(report):
    """The share of complete stacks."""
    run = report["run"]
    return 1 - (run["stacks_cut"] + run["stacks_lost"]) / max(1, run["events"])
