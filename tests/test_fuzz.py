# SPDX-License-Identifier: MIT
"""Each fuzzer (tests/fuzz) over its corpus, and over mutations of it that are the same in every run.

The corpus is tests/fuzz/corpus/NAME (text) and build/fuzz/seeds/NAME (ELF files and code, built);
fuzz_elfimage also gets whole programs. A failing input is saved: the message says how to run it again. `make
fuzz` looks further, with libFuzzer.
"""
import os
import pathlib
import shutil
import subprocess

import pytest

TOP = pathlib.Path(__file__).parent.parent
BUILD = TOP / os.environ.get("MM_BUILD", "build/release")
NAMES = sorted(source.stem.removeprefix("fuzz_") for source in (TOP / "tests/fuzz").glob("fuzz_*.c"))
SEED = 1
COUNT = 500     # mutated inputs for each file of the corpus
LARGE = 20      # the same for a file of megabytes
SECONDS = 120   # for all of them: usually less than one, with sanitizers less than ten

LIBC = pathlib.Path("/lib/x86_64-linux-gnu/libc.so.6")
PROGRAMS = [TOP / "build/victims/hot", TOP / "build/victims/hot_static_stripped", TOP / "build/victims/exact", LIBC]


def corpus(name):
    files = [f for place in ("tests/fuzz/corpus", "build/fuzz/seeds") for f in (TOP / place / name).glob("*")]
    assert files, f"no corpus for {name}: make fuzzers"
    return sorted(files)


def run(folder, name, count, files):
    program, last = BUILD / "fuzz" / f"fuzz_{name}", folder / "last"
    assert program.exists(), f"{program} is not built: make fuzzers"
    env = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") +
               ":detect_leaks=1:allocator_may_return_null=1:hard_rss_limit_mb=1024")
    result = subprocess.run([program, last, str(count), str(SEED), *files], cwd=TOP, env=env, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS)
    if result.returncode != 0:
        kept = shutil.copy(last, BUILD / "fuzz" / f"{name}.failed")
        pytest.fail(f"status {result.returncode}; again: {program} - 0 0 {kept}\n{result.stdout.decode(errors='replace')}")


@pytest.mark.parametrize("name", NAMES)
def test_corpus(tmp_path, name):
    run(tmp_path, name, 0, corpus(name))


@pytest.mark.parametrize("name", NAMES)
def test_changed(tmp_path, name):
    run(tmp_path, name, COUNT, corpus(name))


@pytest.mark.parametrize("program", [p.name for p in PROGRAMS])
def test_changed_program(tmp_path, program):
    path = next(p for p in PROGRAMS if p.name == program)
    if not path.exists() and path == LIBC:
        pytest.skip(f"no {LIBC} here")
    run(tmp_path, "elfimage", LARGE, [path])
