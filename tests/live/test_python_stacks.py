# SPDX-License-Identifier: MIT
"""Frames of Python scripts in stacks: the same functions, files and lines as the interpreter's own traceback
at the same call, with the C functions between them.

MM_PYTHONS   interpreters, with : between them; /usr/bin/python3 if not set
"""
import collections
import json
import os
import re
import shutil
import subprocess

import pytest

from harness import MMATTACH, VICTIMS, rounds, wait_for
from python_frames import OF_EACH, SCRIPT, assert_same_stacks, group_of, no_doubts, of_script, script_frames
from symbols import output_of, symbol
from untouched import assert_untouched

GONE = "(code that is gone)"
PYTHONS = os.environ.get("MM_PYTHONS", "/usr/bin/python3").split(":")


def reported(trace):
    return json.loads(output_of(MMATTACH, "report", "--format", "json", trace))


def version_of(python):
    text = output_of(python, "-c", "import sys; print(*sys.version_info[:2])")
    return tuple(int(part) for part in text.split())


@pytest.fixture
def script(victim):
    def start(python="/usr/bin/python3", lock="held", **kwargs):
        return victim(python, SCRIPT, lock, **kwargs)

    return start


@pytest.fixture
def watch_script(watch):
    def start(target, *args, **kwargs):
        run = watch("-p", target.pid, "--verdicts", "no", "--sizes", "exact", *args, **kwargs)
        return run if "pymalloc" in args else run.wait_watching()

    return start


@pytest.mark.parametrize("lock", ["held", "released"])
@pytest.mark.parametrize("python", PYTHONS)
def test_each_kind_of_frame(script, watch_script, python, lock):
    """Recursion, callbacks from C, generators, coroutines, threads: frame by frame as in a traceback."""
    target = script(python, lock)
    run = watch_script(target)
    answers = [answer for order in OF_EACH for answer in target.ask(order)]
    report = run.finish()
    assert len(answers) > 20
    assert_same_stacks(report, answers)
    no_doubts(report)
    assert_untouched(target)
    target.end()


@pytest.mark.parametrize("python", PYTHONS)
def test_two_hundred_frames(script, watch_script, python):
    """All of them, if the interpreter takes no C functions for each; else as many as fit into the depth."""
    target = script(python)
    run = watch_script(target)
    answers = target.ask("recursion 200")
    report = run.finish()
    group = group_of(report, answers[0]["size"])
    frames = script_frames(group)
    assert group["stack_end"] in (["whole"] if version_of(python) >= (3, 11) else ["deep", "cut"])
    assert len(frames) > 60 and frames == answers[0]["stack"][:len(frames)]
    if group["stack_end"] == "whole":
        assert frames == answers[0]["stack"]
    no_doubts(report)
    target.end()


def test_the_same_frames_again(script, watch_script):
    """Threads whose hits have the frames of the hit before, or others: each block has its own."""
    target = script()
    run = watch_script(target)
    target.ask("again 40")
    report = run.finish()
    found = collections.Counter()
    for group in report["groups"]:
        names = [frame[0] for frame in script_frames(group)]
        for size in [3000, 4000, 5000]:
            if names and names[0] == "keep" and group["bytes"] == group["blocks"] * size:
                found[size, names.count("deeper"), names.count("again")] += group["blocks"]
    assert found == {(3000, 0, 1): 800, (4000, 0, 1): 400, (5000, 4, 1): 400}
    no_doubts(report)
    target.end()


def test_c_functions_are_where_they_belong(script, watch_script):
    """sorted() is between its caller and the key function; what executes frames is left out."""
    target = script()
    run = watch_script(target)
    answers = target.ask("sorted")
    stack = group_of(run.finish(), answers[0]["size"])["stack"]
    scripts = [i for i, frame in enumerate(stack) if of_script(frame)]
    assert stack[scripts[0]]["function"] == "take" and "<lambda>" in stack[scripts[1]]["function"]
    between = stack[scripts[0] + 1:scripts[1]]
    assert between and all("python" in frame["module"] for frame in between)
    assert scripts[1:] == list(range(scripts[1], scripts[-1] + 1))
    assert "_PyEval_EvalFrameDefault" not in [frame["function"] for frame in stack]
    assert [frame["function"] for frame in stack][-1].startswith("_start")
    target.end()


def test_the_line_that_appends_leads(script, watch_script):
    """The interpreter's own functions are left out at the front, as wrappers are."""
    target = script()
    line = next(n for n, text in enumerate(SCRIPT.read_text().splitlines(), 1) if "the growing line" in text)
    run = watch_script(target)
    target.ask("append 300000")
    report = run.finish()
    leads = report["groups"][0]["stack"][report["groups"][0]["wrappers"]]
    assert (leads["function"], leads["file"], leads["line"]) == ("append_row", str(SCRIPT), line)
    target.end()


def test_text_names_the_line(script, watch_script):
    target = script()
    run = watch_script(target, json_report=False)
    target.ask("append 300000")
    run.interrupt()
    assert run.wait() == 0, run.said()
    text = run.process_output().decode()
    assert re.search(r"\[1\].*append_row scripts\.py:\d+", text), text
    assert re.search(r"#0 append_row \S*/scripts\.py:\d+\n +#1 main \S*/scripts\.py:\d+\n", text), text


def test_from_the_trace(script, watch_script, tmp_path):
    """The trace has the names: on a machine without the script, too."""
    target = script()
    run = watch_script(target, "-o", tmp_path / "t.mmt")
    answers = [answer for order in OF_EACH for answer in target.ask(order)]
    run.finish()
    target.end()
    assert_same_stacks(reported(tmp_path / "t.mmt"), answers)
    output_of(MMATTACH, "shrink", tmp_path / "t.mmt", "-o", tmp_path / "small.mmt")
    assert_same_stacks(reported(tmp_path / "small.mmt"), answers)


def test_a_trace_in_pieces(script, watch_script, tmp_path):
    """Each piece has the names of the frames that it has."""
    target = script()
    run = watch_script(target, "-o", tmp_path / "t.mmt", "--rotate", "64K", "--free-stacks")
    answers = target.ask("recursion 3")

    def pieces():
        return sorted(tmp_path.glob("t.0*.mmt"))

    for _ in range(100):
        target.ask("churn 4000")
        answers += target.ask("sorted")
        if len(pieces()) > rounds(5, 15):
            break
    run.finish()
    target.end()
    assert len(pieces()) > 1
    report = json.loads(output_of(MMATTACH, "report", "--format", "json", *pieces()))
    assert_same_stacks(report, answers)


def test_a_trace_that_was_cut(script, watch_script, tmp_path):
    """The watch was killed: names of scripts are there, those of C functions are looked up in the files."""
    target = script()
    run = watch_script(target, "-o", tmp_path / "t.mmt")
    answers = target.ask("recursion 3")
    wait_for(lambda: (tmp_path / "t.mmt").stat().st_size > 2000, "the trace is written")
    run.interrupt(9)
    run.wait()
    assert_same_stacks(reported(tmp_path / "t.mmt"), answers)
    target.ask("recursion 1")


@pytest.mark.parametrize("python", PYTHONS)
def test_small_objects(script, watch_script, python):
    """By the allocator's static functions, if the file has their names: each object, and what frees it."""
    target = script(python)
    run = watch_script(target, "--family", "pymalloc")
    if not run.err.find("^watching ", 10):
        assert "nothing in" in run.said() and "pymalloc" in run.said()
        return
    target.ask("small 3000")
    report = run.finish()
    assert_untouched(target)
    kept = sum(group["blocks"] for group in report["groups"] if script_frames(group)[:1] and
               script_frames(group)[0][0] == "small")
    assert 2900 <= kept <= 3010     # some were in lists of free objects
    assert report["double_frees"] == [] and not any("frees were missed" in note for note in report["notes"])
    target.end()


def test_off(script, watch_script):
    target = script()
    run = watch_script(target, "--python", "off")
    answers = target.ask("recursion 5")
    report = run.finish()
    stack = group_of(report, answers[0]["size"])["stack"]
    assert not any(of_script(frame) for frame in stack)
    assert "_PyEval_EvalFrameDefault" in [frame["function"] for frame in stack]
    target.end()


def test_started(watch, tmp_path):
    """The interpreter has no threads yet when it is started: they are found as soon as there are some."""
    script = tmp_path / "service.py"
    script.write_text("rows = []\n"
                      "def grow():\n"
                      "    for i in range(500000):\n"
                      "        rows.append(i)\n"
                      "grow()\n"
                      "import os, time\n"
                      "time.sleep(1)\n"  # code is read soon after a hit, not at it
                      "os._exit(0)\n")
    run = watch("--verdicts", "no", "--report", tmp_path / "report", "--", "/usr/bin/python3", script)
    assert run.wait() == 0, run.said()
    report = json.loads((tmp_path / "report").read_text())
    largest = max(report["groups"], key=lambda group: group["bytes"])
    assert script_frames(largest) == [["grow", str(script), 4], ["<module>", str(script), 5]]


def test_an_unknown_version_is_said(victim, watch_script, tmp_path):
    """Nothing is guessed: the stacks are those of the interpreter."""
    program = tmp_path / "python3.99"
    shutil.copy("/usr/bin/python3", program)
    with program.open("r+b") as f:
        f.seek(symbol(program, "Py_Version"))
        assert f.read(4)[3] == 3
        f.seek(symbol(program, "Py_Version"))
        f.write(bytes([0xf0, 0x01, 99, 3]))
    target = victim(program, SCRIPT, "held", env={**os.environ, "PYTHONHOME": "/usr"})
    run = watch_script(target)
    answers = target.ask("recursion 5")
    report = run.finish()
    assert not any(of_script(frame) for frame in group_of(report, answers[0]["size"])["stack"])
    said = "CPython 3.99.1 in python3.99: frames of this version are not known"
    assert any(said in note for note in report["notes"]), report["notes"]
    target.end()


def test_code_that_is_made_again(script, watch_script):
    """The same script executed again and again is one place, wherever its code object was."""
    target = script()
    run = watch_script(target)
    answers = [answer for _ in range(12) for answer in target.ask("made")]
    report = run.finish()
    assert_same_stacks(report, answers)
    no_doubts(report)
    target.end()


def test_code_that_is_freed_at_once(script, watch_script):
    """If it cannot be read any more, its frame is there and says that, and the report has a note."""
    target = script()
    run = watch_script(target)
    sizes = [answer["size"] for _ in range(40) for answer in target.ask("freed")]
    report = run.finish()
    found = {}
    for group in report["groups"]:
        frames = script_frames(group)
        if len(frames) > 2 and frames[0][0] == "take":
            assert frames[2] in (["<module>", "<string>", 4], [GONE, GONE, 0]), frames
            found[frames[2][0]] = found.get(frames[2][0], 0) + group["bytes"]
    assert sum(found.values()) == sum(sizes)
    assert GONE not in found or any("their code was gone" in note for note in report["notes"])
    target.end()


def test_other_programs_have_none(victim, watch):
    target = victim(VICTIMS / "paths")
    run = watch("-p", target.pid, "--verdicts", "no").wait_watching()
    target.ask("nested 5")
    report = run.finish()
    assert not any(of_script(frame) for group in report["groups"] for frame in group["stack"])
    assert not [note for note in report["notes"] if "Python" in note]
    target.end()


def test_a_trace_can_be_merged(script, watch_script, tmp_path):
    """Each line of a function is a place of its own, in the traces of several processes, too."""
    traces, answers = [], []
    for name in ["a", "b"]:
        target = script()
        traces.append(tmp_path / f"{name}.mmt")
        run = watch_script(target, "-o", traces[-1])
        answers.append(target.ask("recursion 4"))
        run.finish()
        target.end()
    subprocess.run([MMATTACH, "merge", *traces, "-o", tmp_path / "all.mmt"], check=True, capture_output=True)
    both = sum(answer[0]["size"] for answer in answers)
    group = next(group for group in reported(tmp_path / "all.mmt")["groups"] if group["bytes"] == both)
    assert group["blocks"] == 2 and script_frames(group) == answers[0][0]["stack"]

