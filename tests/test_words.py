# SPDX-License-Identifier: MIT
"""Plain words: what doc/GLOSSARY.md says in place of others, in comments, docstrings, strings and documents.

A list, not a grammar: words that have been dialect here, each with what to write. Names of options, fields and
identifiers are contracts and are not looked at: what has a `_` or a `-` beside it is a name.
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
    (r"\bwhose place\b", "whose address, the thread in place of which"),
    (r"\b(come|comes|came|coming) by\b", "stop, arrive"),
    (r"\bthinks? better of it\b", "cancel"),
    (r"\b(gave|give|gives|given|giving) (it |them |that |all )?back\b", "free, return, releases"),
    (r"\b(stand|stands|stood|standing) (quite )?still\b", "is stopped"),
    (r"\btraps? (that |still )?(stand|stands|stood)\b", "is planted"),
    (r"(?<!less )\btaken by\b", "allocated by, acquired by"),
    (r"\b(keeps?|kept) what (it|they) (takes?|took)\b", "does not free what it allocates"),
    (r"\bpass(es|ed)? on\b", "forwards (a call), is a wrapper"),
    (r"\b(is|are|was|were) said\b", "is reported, is stated"),
    (r"\b(is|are|was|were|be|been) told\b", "is reported, listed, distinguished"),
    (r"\bjudg(e|es|ing)\b|(?<![\"'])\bjudged\b(?!, not_judged|[\"'])", "gives a verdict, decides"),
    (r"\bheld against\b", "compared with"),
    (r"\b(go|goes|went|gone) ahead\b", "is due, begins"),
    (r"\b(purse|alikeness|calms?)\b", "token bucket; identity; quiet time"),
]
# Where a word is what it is: quoted from another tool, or a name.
ALLOWED = [re.compile(text) for text in (r"who\\?-points", r"\busers? who\b", r"\bWHO\b", r"\bJUDGED\b")]
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "NEWS", "doc/*.md", "man/*.1", "bench/*.md", "packs/*.probes"]
FOLDERS = ["attach", "base", "bench", "gdbscripts", "heap", "packs", "report", "symbolize", "trace"]
SOURCES = [f"{folder}/*{ending}" for folder in FOLDERS for ending in (".c", ".h", ".py")]


def files(patterns):
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=TOP, capture_output=True, text=True, check=True)
    return [TOP / name for name in listed.stdout.splitlines()]


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


BAD = ["the thread that thinks better of it", "memory that was given back", "the process stood still", "a trap stands there",
       "taken by session_open", "the watch keeps what it takes", "it passes on what it allocates", "and that is said",
       "blocks are told by class", "they judge blocks", "blocks are judged", "held against another run",
       "it goes ahead", "the purse is empty", "whose place was used"]
GOOD = ["a page that was taken out", "less taken by this walker", "this is said by no thread"[:4], '"judged"', "passes the hit on",
        "the thread stands in a queue", "what was counted"]


@pytest.mark.parametrize("text", BAD)
def test_each_is_found(text):
    assert len(list(dialect_in(TOP / "x.md", of_document(text)))) == 1


@pytest.mark.parametrize("text", GOOD)
def test_and_no_more(text):
    assert not list(dialect_in(TOP / "x.md", of_document(text)))


def test_the_patterns_name_files():
    """No pattern of the lists has become empty by a renaming."""
    assert all(files([pattern]) for pattern in DOCUMENTS)
    assert all(files([f"{folder}/*"]) for folder in FOLDERS)


# --- lines of at most 110 columns ---

COLUMNS = 110
# In tables and samples, and in notes and rules of packs (one line each), a line may be longer.
NOT_TEXT = re.compile(r"\s*\||    |\t|note |(alloc|realloc|free|pool) +\w+ +\w+=")
TEXT = ["README.md", "CONTRIBUTING.md", "NEWS", "doc/*.md", "bench/*.md", "packs/*.probes"]
# Folders of C without a longer line, where none may come in; not yet all of them. Messages are not broken, so that
# they can be searched for.
NARROW = """
    attach attach/keeper/shared report/fields attach/stacks/python attach/stacks/ruby attach/stacks/scripts heap
    heap/classify packs report/csv report/folded report/query
    report/suppress symbolize/dwarf symbolize/rust
""".split()
STRING = re.compile(r'"(?:\\.|[^"\\])*"')


def columns(line):
    return len(line.expandtabs(8))


def wide_in_text(line):
    return columns(line) > COLUMNS and not NOT_TEXT.match(line)


def wide_in_c(line):
    return columns(line) > COLUMNS and columns(STRING.sub('""', line)) > COLUMNS


def too_wide(paths, is_wide):
    return [f"{path.relative_to(TOP)}:{number}: {columns(line)} columns" for path in paths
            for number, line in enumerate(path.read_text().splitlines(), 1) if is_wide(line)]


def test_lines_of_documents():
    assert not too_wide(files(TEXT), wide_in_text)


@pytest.mark.parametrize("folder", NARROW)
def test_lines_of_c(folder):
    sources = [path for path in files([f"{folder}/*.c", f"{folder}/*.h"]) if path.parent == TOP / folder]
    assert sources and not too_wide(sources, wide_in_c)


def test_long_lines_are_found():
    word = "x" * (COLUMNS + 1)
    assert wide_in_text(word) and wide_in_text("* " + word) and not wide_in_text(word[1:])
    assert not wide_in_text("| " + word) and not wide_in_text("    " + word)
    assert wide_in_c(word) and wide_in_c("\t" * 14) and wide_in_c(f'"a" {word}')
    assert not wide_in_c(f'log_error("{word}");')
