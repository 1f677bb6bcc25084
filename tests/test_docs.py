# SPDX-License-Identifier: MIT
"""The functions and tests that the documents name exist in the files that they name."""
import pathlib
import re

import pytest

TOP = pathlib.Path(__file__).parent.parent
DOCUMENTS = sorted((TOP / "doc").glob("*.md")) + [TOP / "README.md", TOP / "CONTRIBUTING.md"]
SOURCES = [p for folder in ("base", "trace", "symbolize", "report", "heap", "attach", "tests", "bench", "gdbscripts", "packs")
           for p in (TOP / folder).rglob("*") if p.suffix in (".c", ".h", ".cc", ".py")]

# `pausing.c`, `interrupt_all`, `interrupt_spared`: names that follow a file's
CHAIN = re.compile(r"`([\w/]+\.[ch])`(?:\*\*)?((?:,\s+`[a-z]\w*`(?!\s+in\s+`))+)")
# `take_command` in `options.c`
WITHIN = re.compile(r"`([a-z]\w*)`\s+in\s+`([\w/]+\.[ch])`")
# pause/pausing.c; files of the kernel, glibc or the build are not ours
PATHS = re.compile(r"(?<![\w/.<*\"-])((?:[a-z_0-9]+/)+[a-z_0-9]+\.(?:c|h))\b")
OTHERS = re.compile(r"(include/)?(linux|uapi)/|include/|nptl/|malloc/(malloc|arena)\.c|build/")
# `tests/live/test_pause.py::test_storm`, `::test_steps`
TESTS = re.compile(r"`([\w/]*\.(?:py|c))::(\w+)[^`]*`((?:(?:,| and)\s+`::\w+[^`]*`)*)")


def files_called(name):
    return [p for p in SOURCES if str(p.relative_to(TOP)) == name or str(p).endswith("/" + name)]


def says(files, name):
    return any(re.search(rf"\b{name}\b", p.read_text(errors="replace")) for p in files)


def astray(text):
    """(name, the file it should be in) for each name in @text that does not exist; and how many names there
    are in all."""
    named = [(name, m[1]) for m in CHAIN.finditer(text) for name in re.findall(r"`(\w+)`", m[2])]
    named += [(m[1], m[2]) for m in WITHIN.finditer(text)]
    named += [(name, m[1]) for m in TESTS.finditer(text) for name in (m[2], *re.findall(r"`::(\w+)", m[3]))]
    return [(name, where) for name, where in named if not says(files_called(where), name)], len(named)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_names_are_there(path):
    assert astray(path.read_text())[0] == []


def test_they_are_looked_at():
    assert astray((TOP / "doc/ARCHITECTURE.md").read_text())[1] > 10
    assert astray((TOP / "doc/PTRACE-NOTES.md").read_text())[1] > 50
    assert astray((TOP / "doc/BPF-NOTES.md").read_text())[1] > 10
    gone = "Handled: `loop.c`, `loop_round`, `no_such_function`. Test: `tests/test_layers.py::test_the_tree`, `::test_no_such`."
    assert astray(gone) == ([("no_such_function", "loop.c"), ("test_no_such", "tests/test_layers.py")], 4)


def strays(text):
    """Paths in @text that look like our code but name no file. Frames of a quoted stack are other programs' code."""
    named = {m[1] for line in text.splitlines() if not re.search(r"#include|^\s+#\d+ ", line) for m in PATHS.finditer(line)}
    return sorted(name for name in named if not OTHERS.match(name) and not files_called(name))


def test_paths_are_there():
    """In comments, too: files get moved, and the comments that name them must follow."""
    files = [p for p in (*SOURCES, *DOCUMENTS) if p.name not in ("test_layers.py", "test_docs.py")]
    wrong = {str(p.relative_to(TOP)): found for p in files if (found := strays(p.read_text(errors="replace")))}
    assert not wrong


def test_a_stray_is_found():
    assert strays("see keeper/pausing.h, keeper/pause/pausing.h, linux/fs.h") == ["keeper/pausing.h"]


def words_after(name, pattern):
    return set(re.sub(r"[,\s]+", " ", re.search(pattern, (TOP / name).read_text(), re.S)[1]).split())


def test_packages_to_build_with():
    """Each way to a build that is documented has both engines: `./run demo`, by hand, a Debian package."""
    wanted = {name for name in words_after("run", r'build_packages="(.*?)"') if name == "clang" or name.endswith("-dev")} - {"libc6-dev"}
    assert {"clang", "libbpf-dev", "libdw-dev"} <= wanted
    assert wanted <= words_after("README.md", r"`apt install (.*?)`")
    assert wanted <= words_after("debian/control", r"Build-Depends: (.*?)\nStandards")
