# SPDX-License-Identifier: MIT
"""Frames of Python scripts in a report, compared with what the victim scripts.py got from the interpreter."""
import collections
import re

from harness import TOP

SCRIPT = TOP / "tests/victims/scripts.py"
OF_EACH = ["recursion 5", "sorted", "compared", "partial", "mapped", "comprehension", "class", "generator",
           "delegated", "coroutine", "threads 3", "callback", "json", "json_c", "executed", "lines"]


def of_script(frame):
    return frame["module"] == "" and frame["file"] != ""


def script_frames(group):
    """As the victim gives them: the name without the classes and functions around it."""
    return [[re.sub(r".*\.", "", frame["function"]), frame["file"], frame["line"]]
            for frame in group["stack"] if of_script(frame)]


def group_of(report, size):
    found = [group for group in report["groups"] if (group["blocks"], group["bytes"]) == (1, size)]
    assert len(found) == 1, f"{size}: {[(g['blocks'], g['bytes']) for g in report['groups']]}"
    return found[0]


def taken(report):
    """The bytes that the victim's function take() has allocated by each of its stacks."""
    stacks = collections.defaultdict(int)
    for group in report["groups"]:
        frames = script_frames(group)
        if frames and frames[0][0] == "take" and "python3" not in group["stack"][0]["module"]:
            assert group["stack_end"] == "whole"
            stacks[str(frames)] += group["bytes"]
    return stacks


def assert_same_stacks(report, answers):
    """What was allocated has the stacks that the interpreter gave."""
    wanted = collections.defaultdict(int)
    for answer in answers:
        wanted[str(answer["stack"])] += answer["size"]
    found = taken(report)
    for stack, size in wanted.items():
        assert found[stack] == size, f"{stack}: {size}, {dict(found)}"


def no_doubts(report):
    assert not [note for note in report["notes"] if "Python" in note], report["notes"]
