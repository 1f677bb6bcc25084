# SPDX-License-Identifier: MIT
"""Frames of Ruby scripts in a report, compared with what the victim scripts.rb got from the interpreter."""
import collections

from harness import TOP

SCRIPT = TOP / "tests/victims/scripts.rb"
OF_EACH = ["recursion 5", "blocks", "ensures", "rescues", "arguments", "class", "called", "enumerators", "fibers",
           "threads 3", "caught", "loop", "lines", "long", "sorted", "evaluated"]


def of_script(frame):
    return frame["module"] == "" and frame["file"] != ""


def script_frames(group):
    return [[frame["function"], frame["file"], frame["line"]] for frame in group["stack"] if of_script(frame)]


def group_of(report, size):
    found = [group for group in report["groups"] if (group["blocks"], group["bytes"]) == (1, size)]
    assert len(found) == 1, f"{size}: {[(g['blocks'], g['bytes']) for g in report['groups']]}"
    return found[0]


def assert_same_stacks(report, answers):
    """What was allocated has the stacks that the interpreter gave; before them is the method in C that allocates."""
    wanted = collections.Counter()
    for answer in answers:
        wanted[str(answer["stack"])] += answer["size"]
    found = collections.Counter()
    for group in report["groups"]:
        frames = script_frames(group)
        while frames and frames[0][0] in ["initialize", "new", "call"]:
            frames.pop(0)
        if frames and frames[0][0] == "acquire" and group["bytes"] > 70000:
            found[str(frames)] += group["bytes"]
    for stack, size in wanted.items():
        # at the same call, the interpreter may allocate a little for itself
        assert size <= found[stack] < size + 4096, f"{stack}: {size}, {found}"


def no_doubts(report):
    assert not [note for note in report["notes"] if "Ruby" in note], report["notes"]
