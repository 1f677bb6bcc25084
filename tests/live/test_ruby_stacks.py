# SPDX-License-Identifier: MIT
"""Frames of Ruby scripts in stacks: the same methods, files and lines as Ruby's own caller_locations at the same
call, with the C functions between them.

MM_RUBIES   interpreters, with : between them; /usr/bin/ruby if not set
"""
import collections
import json
import os
import re
import shutil
import subprocess

import pytest

from harness import MMATTACH, TOP, rounds
from untouched import assert_untouched

SCRIPT = TOP / "tests/victims/scripts.rb"
GONE = "(code that is freed)"
RUBIES = os.environ.get("MM_RUBIES", "/usr/bin/ruby").split(":")
OF_EACH = ["recursion 5", "blocks", "ensures", "rescues", "arguments", "class", "called", "enumerators", "fibers",
           "threads 3", "caught", "loop", "lines", "long", "sorted", "evaluated"]

pytestmark = pytest.mark.skipif(not os.access(RUBIES[0], os.X_OK), reason="ruby is not installed")


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
        assert found[stack] == size, f"{stack}: {size}, {found}"


def no_doubts(report):
    assert not [note for note in report["notes"] if "Ruby" in note], report["notes"]


@pytest.fixture
def script(victim):
    def start(ruby=RUBIES[0], *args, **kwargs):
        return victim(ruby, SCRIPT, *args, **kwargs)

    return start


@pytest.fixture
def watch_script(watch):
    def start(target, *args, **kwargs):
        run = watch("-p", target.pid, "--verdicts", "no", "--sizes", "exact", *args, **kwargs)
        return run.wait_watching()

    return start


@pytest.mark.parametrize("allocates", ["interpreter", "fiddle"])
@pytest.mark.parametrize("ruby", RUBIES)
def test_each_kind_of_frame(script, watch_script, ruby, allocates):
    """Recursion, blocks, methods in C that call back, fibers, threads: frame by frame as Ruby itself has it."""
    if allocates == "fiddle" and "miniruby" in ruby:
        pytest.skip("optional: this Ruby is not installed, and has no extensions")
    target = script(ruby, allocates)
    run = watch_script(target)
    answers = [answer for order in OF_EACH for answer in target.ask(order)]
    report = run.finish()
    assert len(answers) > 70
    assert_same_stacks(report, answers)
    no_doubts(report)
    assert_untouched(target)
    target.end()
