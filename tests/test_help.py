# SPDX-License-Identifier: MIT
"""Help as it is used: each screen has its size, is found by the ways that lead to it, and names what there is.

What the screens say of the table of options is tested in tests/unit/attach/options/test_options_help.c.
"""
import functools
import pathlib
import re
import shlex
import subprocess

import pytest

from test_unit import BUILD

TOP = pathlib.Path(__file__).parent.parent
COMMANDS = ["watch", "top", "report", "diff", "shrink", "merge", "import", "scan", "probes", "repair", "formats", "gdb"]
SUBJECTS = ["target", "many", "rules", "references", "scope", "budget", "stacks", "trace", "output", "filters", "verdicts", "blocks",
            "general"]


def mmattach(*args):
    done = subprocess.run([BUILD / "mmattach", *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


@functools.cache
def screen(*args):
    status, out, err = mmattach(*args)
    assert (status, err) == (0, "")
    return out


def options_in(text):
    return set(re.findall(r"^  (?:-\w, |    )(--[a-z-]+)", text, re.M))


def test_the_overview_is_24_lines():
    lines = screen("--help").splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    assert sum(line.startswith("  mmattach ") for line in lines) in (5, 6)
    assert lines[1].startswith("  mmattach "), "examples come first"
    assert screen("help") == screen("--help") == screen("-h") == screen("-p", "1", "--help")


@pytest.mark.parametrize("topic", COMMANDS + SUBJECTS)
def test_a_topic_is_48_lines(topic):
    lines = screen("help", topic).splitlines()
    assert len(lines) <= 48 and max(map(len, lines)) <= 80
    assert topic == "gdb" or lines[2].startswith("  mmattach "), "examples come first"
    assert topic in screen("--help")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(command):
    assert screen(command, "--help") == screen("help", command)


def test_a_command_names_what_it_takes():
    """A scan refuses the formats that are made of stacks, and verdicts in place of addresses."""
    scan, watch = screen("scan", "--help"), screen("help", "output") + screen("help", "blocks")
    assert "--format text|json|csv|html\n" in scan and "pprof" not in scan and "--who-points-at ADDR,...\n" in scan
    assert "|pprof|" in watch and "--who-points-at ADDR,...|possible|reachable\n" in watch
    for word in re.search(r"--format (\S+)", screen("diff", "--help"))[1].split("|"):
        assert "no such file" in mmattach("diff", "--format", word, "-o", "/dev/null", "/nowhere/a.mmt", "/nowhere/b.mmt")[2].lower()


def test_every_option_is_in_all_and_in_a_subject():
    every = options_in(screen("help", "all"))
    assert len(every) > 55 and every == set.union(*(options_in(screen("help", topic)) for topic in SUBJECTS))
    for option in every:
        assert option in options_in(screen("help", option)), "found by the option's name"


def test_the_manual_has_every_option():
    manual = "".join(path.read_text() for path in (TOP / "man").glob("*.1")).replace("\\-", "-")
    assert not [name for name in options_in(screen("help", "all")) - {"--fds"} if name not in manual]


def test_an_unknown_topic():
    status, out, err = mmattach("help", "fliters")
    assert (status, out) == (2, "") and "help fliters: there is no such topic" in err and "did you mean filters?" in err
    listed = re.search(r"topics are (.*)", mmattach("help", "nonsense")[2])[1].split(", ")
    assert listed == [*COMMANDS, *SUBJECTS, "all"]


def test_documents_have_all_formats():
    names = [line.split()[0] for line in screen("formats").splitlines()[1:]]
    page = (TOP / "man/mmattach-report.1").read_text()
    assert re.findall(r"\w+", re.search(r'"\\\-\\\-format (.*)', page)[1]) == names
    exports = (TOP / "doc/exports.md").read_text()
    assert all(f"`{name}`" in exports for name in names if name not in ("text", "html")), names


def test_formats_are_those_of_the_option():
    lines = screen("formats").splitlines()
    assert max(map(len, lines)) <= 80 and lines[0].split()[:2] == ["format", "of"]
    names = [line.split()[0] for line in lines[1:]]
    taken = re.search(r"--format ((?:[a-z]+\|\s*)+[a-z]+)", screen("report", "--help"))[1]
    assert names == re.sub(r"\s", "", taken).split("|")
    for name, line in zip(names, lines[1:]):
        asked = mmattach("diff", "--format", name, "no.mmt", "no.mmt")[2]
        assert (" diff" in line[:30]) == ("--format" not in asked), asked


@pytest.mark.parametrize("line, said", [
    ("report --famly fd a.mmt", "did you mean --family?"), ("-p 1 --formta json", "did you mean --format?"),
    ("-p 1 --stack 100", "did you mean --stack-bytes?"), ("reprot a.mmt", "did you mean mmattach report?"),
    ("-p 1 --format jsno", "did you mean json?"), ("-p 1 --family glustrefs", "did you mean glusterfs?"),
    ("-p 1 --family libc,jemaloc", "did you mean jemalloc?"), ("-p 1 --debug trpa", "did you mean trap?"),
    ("report --show definte a.mmt", "did you mean definite?")])
def test_the_nearest_is_suggested(line, said):
    status, out, err = mmattach(*shlex.split(line))
    assert (status, out) == (2, "") and said in err


@pytest.mark.parametrize("line", ["-p 1 --xml", "-p 1 --format xml", "-p 1 --verdicts maybe", "-p 1 --family nonsense", "nonsense"])
def test_nothing_is_near(line):
    status, out, err = mmattach(*shlex.split(line))
    assert (status, out) == (2, "") and "did you mean" not in err


def test_without_arguments():
    status, out, err = mmattach()
    assert (status, out) == (2, "") and err.startswith("usage: mmattach ") and "mmattach --help" in err
    assert max(map(len, err.splitlines())) <= 80
