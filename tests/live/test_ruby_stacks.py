# SPDX-License-Identifier: MIT
"""Frames of Ruby scripts in stacks: the same methods, files and lines as Ruby's own caller_locations at the same
call, with the C functions between them.

MM_RUBIES   interpreters, with : between them; /usr/bin/ruby if not set, and Debian 13's (tests/rubies.py)
"""
import collections
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess

import pytest

import rubies
from harness import MMATTACH, rounds
from ruby_frames import OF_EACH, SCRIPT, assert_same_stacks, group_of, no_doubts, of_script, script_frames
from symbols import output_of, symbol
from untouched import assert_untouched

GONE = "(code that is gone)"
RUBIES = os.environ.get("MM_RUBIES", "/usr/bin/ruby").split(":")
OTHER = "debian13"

pytestmark = pytest.mark.skipif(not os.access(RUBIES[0], os.X_OK), reason="optional: ruby is not installed")


ABSENT = "optional: Debian 13's Ruby is not there: make libcs (it needs the network)"
each_ruby = pytest.mark.parametrize("ruby", [*RUBIES, pytest.param(OTHER, marks=pytest.mark.skipif(not rubies.there(), reason=ABSENT))])


def command(ruby):
    return rubies.command() if ruby == OTHER else [ruby]


@pytest.fixture
def script(victim):
    def start(ruby=RUBIES[0], *args, **kwargs):
        return victim(*command(ruby), SCRIPT, *args, **kwargs)

    return start


@pytest.fixture
def watch_script(watch):
    def start(target, *args, **kwargs):
        run = watch("-p", target.pid, "--verdicts", "no", "--sizes", "exact", *args, **kwargs)
        return run.wait_watching()

    return start


@pytest.mark.parametrize("allocates", ["interpreter", "fiddle"])
@each_ruby
def test_each_kind_of_frame(script, watch_script, ruby, allocates):
    """Recursion, blocks, methods in C that call back, fibers, threads: frame by frame as Ruby itself has it."""
    if allocates == "fiddle" and "miniruby" in ruby:
        pytest.skip("optional: this Ruby is only unpacked, and has no extensions")
    target = script(ruby, allocates)
    run = watch_script(target)
    answers = [answer for order in OF_EACH for answer in target.ask(order)]
    report = run.finish()
    assert len(answers) > 70
    assert_same_stacks(report, answers)
    no_doubts(report)
    assert_untouched(target)
    target.end()


@each_ruby
def test_two_hundred_frames(script, watch_script, ruby):
    """All of them: Ruby takes no C functions for a method of the script."""
    target = script(ruby)
    run = watch_script(target)
    answers = target.ask("recursion 200")
    group = group_of(report := run.finish(), answers[0]["size"])
    frames = script_frames(group)
    assert group["stack_end"] == "whole" and len(frames) > 200
    assert frames[-len(answers[0]["stack"]):] == answers[0]["stack"]
    no_doubts(report)
    target.end()


def test_more_frames_than_are_read(script, watch_script):
    """The innermost ones are right, and the stack is marked."""
    target = script()
    run = watch_script(target)
    answers = target.ask("recursion 400")
    group = group_of(run.finish(), answers[0]["size"])
    frames = [frame for frame in script_frames(group) if frame[0] in ["acquire", "recurse"]]
    assert group["stack_end"] in ["deep", "cut"]
    assert len(frames) > 90 and frames == answers[0]["stack"][:len(frames)]
    target.end()


@each_ruby
def test_c_functions_are_where_they_belong(script, watch_script, ruby):
    """sort_by is between its caller and the block; what executes frames is left out."""
    target = script(ruby)
    run = watch_script(target)
    answers = target.ask("sorted")
    size = sum(answer["size"] for answer in answers)
    stack = next(group for group in run.finish()["groups"] if group["bytes"] == size)["stack"]
    names = [frame["function"] if of_script(frame) else "" for frame in stack]
    block, each = names.index("block (2 levels) in <main>"), names.index("each")
    assert names.index("acquire") < block < each < names.index("sort_by") < names.index("main")
    between = stack[block + 1:each]
    assert between and all("ruby" in frame["module"] for frame in between)
    assert "rb_vm_exec" not in [frame["function"] for frame in stack]
    assert stack[-1]["function"].startswith("_start")
    target.end()


@each_ruby
def test_the_line_that_appends_leads(script, watch_script, ruby):
    """The interpreter's own functions are left out at the front, as wrappers are; in text and in a trace, too."""
    target = script(ruby)
    line = next(n for n, text in enumerate(SCRIPT.read_text().splitlines(), 1) if "the growing line" in text)
    run = watch_script(target, json_report=False)
    target.ask("append 300000")
    run.interrupt()
    assert run.wait() == 0, run.said()
    text = run.process_output().decode()
    assert re.search(r"\[1\].*block in append_row scripts\.rb:%d\n" % line, text), text
    assert re.search(r"#0 block in append_row \S*/scripts\.rb:%d\n" % line, text), text
    target.end()


def test_from_the_trace(script, watch_script, tmp_path):
    """The trace has the names: on a machine without the script, too."""
    target = script()
    run = watch_script(target, "-o", tmp_path / "t.mmt")
    answers = target.ask("blocks") + target.ask("called")
    run.finish()
    target.end()
    shown = subprocess.run([MMATTACH, "report", "--format", "json", tmp_path / "t.mmt"], capture_output=True,
                           check=True)
    assert_same_stacks(json.loads(shown.stdout), answers)


def test_off(script, watch_script):
    target = script()
    run = watch_script(target, "--ruby", "off")
    answers = target.ask("recursion 5")
    stack = group_of(run.finish(), answers[0]["size"])["stack"]
    assert not any(of_script(frame) for frame in stack)
    assert "rb_vm_exec" in [frame["function"] for frame in stack]
    target.end()


@each_ruby
def test_started(watch, tmp_path, ruby):
    """The interpreter has no threads yet when it is started: they are found as soon as there are some."""
    script = tmp_path / "service.rb"
    script.write_text("rows = []\n"
                      "grow = lambda do\n"
                      "  300000.times do |i|\n"
                      "    rows << i\n"
                      "  end\n"
                      "end\n"
                      "grow.call\n"
                      "sleep 5\n"  # names are read behind the hits: those of the last moments are gone with it
                      "exit!(0)\n")
    run = watch("--verdicts", "no", "--report", tmp_path / "report", "--", *command(ruby), script)
    assert run.wait() == 0, run.said()
    groups = json.loads((tmp_path / "report").read_text())["groups"]
    assert any(script_frames(group)[:1] == [["block (2 levels) in <main>", str(script), 4]] and
               group["bytes"] > 1000000 for group in groups)


def library_of(ruby, folder):
    """A copy of the file of its interpreter, in FOLDER, and what makes it use this one."""
    library = re.search(r"(\S*libruby\S*) => (\S+)", output_of("ldd", ruby))
    shutil.copy(library[2], folder / library[1])
    return folder / library[1], {**os.environ, "LD_LIBRARY_PATH": str(folder)}


def test_an_unknown_version_is_said(victim, watch_script, tmp_path):
    """Nothing is guessed: the stacks are those of the interpreter."""
    changed, environment = library_of(RUBIES[0], tmp_path)
    at = symbol(changed, "ruby_version")
    with changed.open("r+b") as f:
        f.seek(at)
        assert f.read(2) == b"3."
        f.write(b"9")
    target = victim(RUBIES[0], "--disable-gems", SCRIPT, env=environment)
    run = watch_script(target)
    answers = target.ask("recursion 5")
    report = run.finish()
    assert not any(of_script(frame) for frame in group_of(report, answers[0]["size"])["stack"])
    said = re.compile(r"Ruby 3\.9\.\d+ in libruby\S*: frames of this version are not known")
    assert any(said.search(note) for note in report["notes"]), report["notes"]
    target.end()


def rename(library, name):
    """The symbol has another name then, of the same GNU hash: so the library itself finds it as before."""
    other = name[:-2] + chr(ord(name[-2]) + 1) + chr(ord(name[-1]) - 33)
    data, old = library.read_bytes(), f"\0{name}\0".encode()
    assert data.count(old) == 1
    library.write_bytes(data.replace(old, f"\0{other}\0".encode()))


def unnamed_library(folder):
    """As library_of, without the symbols that 3.3 does not export; and the address of rb_vm_exec in it."""
    library, environment = library_of(RUBIES[0], folder)
    symbols = output_of("readelf", "--dyn-syms", "-W", library).splitlines()
    found = [int(line.split()[1], 16) for line in symbols if line.endswith(" rb_vm_exec")]
    if not found:
        pytest.skip("optional: this Ruby does not export them either")
    rename(library, "rb_vm_exec")
    rename(library, "ruby_current_vm_ptr")
    return library, environment, found[0]


def test_without_symbols(victim, watch_script, tmp_path):
    """The function that executes scripts is found by what it does: it is the one that had the name."""
    library, environment, address = unnamed_library(tmp_path)
    target = victim(RUBIES[0], "--disable-gems", SCRIPT, env=environment)
    run = watch_script(target, "--debug=unwind")
    answers = [answer for order in OF_EACH for answer in target.ask(order)]
    report = run.finish()
    assert_same_stacks(report, answers)
    no_doubts(report)
    maps = pathlib.Path(f"/proc/{target.pid}/maps").read_text().splitlines()
    bias = next(int(line.split("-")[0], 16) for line in maps if line.endswith(str(library)))
    assert f"evaluation at {bias + address:#x}\n" in run.said()
    assert_untouched(target)
    target.end()


def test_what_is_not_found_is_said(victim, watch_script, tmp_path):
    """Without the unwind table nothing says where the function that executes scripts begins."""
    library, environment, _ = unnamed_library(tmp_path)
    data = library.read_bytes().replace(b"\0.eh_frame\0", b"\0.eh-frame\0")
    header = struct.pack("<II", 0x6474e550, 4)  # PT_GNU_EH_FRAME, read only
    library.write_bytes(data.replace(header, struct.pack("<II", 0, 4), 1))
    target = victim(RUBIES[0], "--disable-gems", SCRIPT, env=environment)
    run = watch_script(target)
    target.ask("recursion 5")
    report = run.finish()
    note = r"no frames of Ruby scripts: Ruby 3\.\d\.\d+: the function that executes them was not found"
    assert any(re.search(note, said) for said in report["notes"]), report["notes"]
    assert not any(of_script(frame) for group in report["groups"] for frame in group["stack"])
    target.end()


def test_code_that_is_freed_at_once(script, watch_script):
    """If it cannot be read any more, its frame is there and says that, and the report has a note."""
    target = script()
    run = watch_script(target)
    sizes = [answer["size"] for _ in range(rounds(30, 300)) for answer in target.ask("freed")]
    report = run.finish()
    found = collections.Counter()
    for group in report["groups"]:
        names = [frame[0] for frame in script_frames(group)]
        if "acquire" in names and group["bytes"] > 70000:
            inner = names[names.index("acquire") + 1]
            assert inner in ["block in freed", GONE], names
            found[inner] += group["bytes"]
    assert sum(found.values()) == sum(sizes)
    assert GONE not in found or any("their code was gone" in note for note in report["notes"])
    target.end()
