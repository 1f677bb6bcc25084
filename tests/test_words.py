# SPDX-License-Identifier: MIT
"""Plain words: what doc/GLOSSARY.md says in place of others, in comments, docstrings, strings and documents.

A list, not a grammar: words that have been dialect here, each with what to write. Names of options, fields and identifiers are contracts and are
not looked at: what has a `_` or a `-` beside it is a name.
"""
import io
import pathlib
import re
import subprocess
import tokenize

import pytest

TOP = pathlib.Path(__file__).parent.parent
PEOPLE = r"\b(somebody|nobody|everybody|whoever|whomever|anybody|whom)\b"
DIALECT = [
    (PEOPLE, "name it: a thread, the process, the caller, the user; no process, every thread"),
    (r"(?<![-\w])who(?![-\w'])", "a thread that, the process that, the caller that"),
    (r"\b(come|comes|came|coming) by\b", "stop, arrive"),
    (r"\bthinks? better of it\b", "cancel"),
    (r"\b(gave|give|gives|given) back\b", "free, return"),
]
# Where a word is what it is: quoted from another tool, or a name.
ALLOWED = [re.compile(text) for text in (r"who-points-at", r"\busers? who\b", r"\bWHO\b")]
DOCUMENTS = ["README.md", "doc/GLOSSARY.md", "doc/find-a-leak.md", "doc/production.md", "doc/post-mortem.md", "doc/references.md", "doc/limits.md"]
FOLDERS = ["attach", "base", "bench", "gdbscripts", "heap", "packs", "report", "symbolize", "trace"]
SOURCES = [f"{folder}/*{ending}" for folder in FOLDERS for ending in (".c", ".h", ".py")]


def files(patterns):
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=TOP, capture_output=True, text=True, check=True).stdout
    return [TOP / name for name in listed.splitlines()]


def of_c(text):
    """(line, comment or string)"""
    for found in re.finditer(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', text, re.S):
        if found.group()[0] != "'":
            yield text.count("\n", 0, found.start()) + 1, found.group()


def of_python(text):
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            yield token.start[0], token.string


def of_document(text):
    for number, line in enumerate(text.splitlines(), 1):
        yield number, line


def dialect_in(path, parts):
    for start, text in parts:
        for offset, line in enumerate(text.splitlines()):
            bare = line
            for allowed in ALLOWED:
                bare = allowed.sub("", bare)
            for pattern, instead in DIALECT:
                for found in re.finditer(pattern, bare, re.I):
                    yield f"{path.relative_to(TOP)}:{start + offset}: {found.group()!r}: {instead}"


def reader_of(path):
    return of_python if path.suffix == ".py" else of_c if path.suffix in (".c", ".h", ".cc") else of_document


@pytest.mark.parametrize("patterns", [SOURCES, DOCUMENTS], ids=["sources", "documents"])
def test_words(patterns):
    found = [line for path in files(patterns) for line in dialect_in(path, reader_of(path)(path.read_text()))]
    assert not found, f"{len(found)}:\n" + "\n".join(found)


def test_it_finds_them():
    """A test that cannot fail is none."""
    path = TOP / "x.c"
    assert len(list(dialect_in(path, of_c('/* Nobody waits */ int who; "whoever comes by"')))) == 3
    assert not list(dialect_in(path, of_c("/* no thread waits; --who-points-at */ int who = '\"';")))
