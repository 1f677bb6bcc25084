# SPDX-License-Identifier: MIT
"""The manual: a page for each command, each option described once and named on the page of each command that
has it, and nothing that man or mandoc warns of."""
import functools
import pathlib
import re
import subprocess

import pytest

from test_unit import BUILD

TOP = pathlib.Path(__file__).parent.parent
PAGES = sorted((TOP / "man").glob("*.[1-9]"))
LISTED = re.compile(r"^Described in\n\.BR (mmattach[a-z-]*) \(1\):\n(.*?)(?=^\.PP|^\.S|^\.TP|\Z)",
                    re.M | re.S)
OPTION = re.compile(r"--[a-z]+(?:-[a-z]+)*")


def can_follow(*words):
    out = subprocess.run([BUILD / "mmattach", "complete", *words], capture_output=True, text=True, check=True,
                         timeout=60).stdout
    return {line.split("\t")[0] for line in out.splitlines()}


def commands():
    return can_follow("") - {"help", "watch"} | {"gdb"}


def page_of(command):
    return TOP / "man" / (f"mmattach-{command}.1" if command else "mmattach.1")


def plain(path):
    """Its source, with hyphens as they are printed."""
    return path.read_text().replace("\\-", "-")


def options_of(path):
    return re.search(r"^\.SH OPTIONS\n(.*?)(?=^\.SH )|\Z", plain(path), re.M | re.S)[1] or ""


def listed_in(text):
    """(the page, the options) for each "Described in"."""
    return [(where, OPTION.findall(block)) for where, block in LISTED.findall(text)]


def headings(path):
    """The options that it describes: those in the line below a .TP."""
    lines = options_of(path).splitlines()
    return [name for tag, line in zip(lines, lines[1:]) if tag == ".TP" for name in OPTION.findall(line)]


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_no_warnings(path):
    run = functools.partial(subprocess.run, capture_output=True, text=True, timeout=60)
    shown = run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", path])
    assert (shown.returncode, shown.stderr) == (0, "")
    lint = run(["mandoc", "-Tlint", "-W", "warning", path])
    assert (lint.returncode, lint.stdout) == (0, "")


def test_a_page_for_each_command():
    assert {page_of(command) for command in commands()} | {page_of("")} <= set(PAGES)


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_names_and_version(path):
    version = re.search(r'MM_VERSION "(.*)"', (TOP / "base/version.h").read_text())[1]
    name, section = path.stem, path.suffix[1:]
    assert plain(path).splitlines()[1].startswith(f".TH {name.upper()} {section} ")
    assert f'"mmattach {version}"' in plain(path)
    assert f"\n.SH NAME\n{name} - " in plain(path)
    # the pages of ours that it refers to
    for other, number in re.findall(r"^\.BR (mmattach[a-z-]*) \((\d)\)", plain(path), re.M):
        assert (TOP / "man" / f"{other}.{number}").exists(), other


@pytest.mark.parametrize("command", ["", *sorted("diff formats gdb import merge probes repair report scan shrink top".split())])
def test_options_of_a_command(command):
    """All of the table, and no others."""
    options = {word for word in can_follow(*filter(None, [command]), "--") if word.startswith("--")}
    listed = [name for _, names in listed_in(options_of(page_of(command))) for name in names]
    described = set(headings(page_of(command)))
    assert options <= described | set(listed)
    assert set(listed) <= options - described
    assert len(listed) == len(set(listed))


def test_each_is_described_once():
    described = [name for path in PAGES for name in headings(path)]
    options = set().union(*(can_follow(*filter(None, [command]), "--") for command in ["", *commands()]))
    assert sorted(set(described)) == sorted(options)
    assert len(described) == len(set(described)), sorted(described)


def test_the_commands_are_those():
    assert commands() == set("diff formats gdb import merge probes repair report scan shrink top".split())


def test_described_where_it_says():
    """"Described in mmattach(1): --output" is true."""
    for path in PAGES:
        for where, names in listed_in(options_of(path)):
            assert set(names) <= set(headings(TOP / "man" / f"{where}.1")), (path.name, where)
