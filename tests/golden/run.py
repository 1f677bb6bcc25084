#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Goldens: what the program prints and writes for the same inputs is the same as before, to the byte.

    make goldens                                     all of them: the first lines of each difference, and status 1
    python3 tests/golden/run.py --bless [PATTERN]    accept the present output: for intended changes

Inputs are in inputs/ (record.py), the commands in cases.py, the expected output in expected/: for each
command its words, stdout, then stderr and the status if there are any. A change that moves or merges code
changes none of them.
"""
import concurrent.futures
import difflib
import fnmatch
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
BUILD = TOP / os.environ.get("MM_BUILD", "build/release")
EXPECTED = HERE / "expected"
LIMIT = 60
SHOWN = 30

sys.path.insert(0, str(HERE))
from cases import INPUTS, cases  # noqa: E402

SUPPRESSIONS = """{
   kept on purpose
   Memcheck:Leak
   ...
   fun:at_keep
}
leak:at_chain
"""


def folder_of_inputs(folder):
    """Each case has links to the inputs in its own folder: paths in the output are relative, and file times
    fixed."""
    for path in INPUTS.iterdir():
        if path.suffix == ".xz":
            unpacked = folder / path.stem
            with lzma.open(path) as packed, open(unpacked, "wb") as plain:
                shutil.copyfileobj(packed, plain)
            unpacked.chmod(0o755)
            os.utime(unpacked, (1790000000, 1790000000))
        else:
            (folder / path.name).symlink_to(path)
    (folder / "some.supp").write_text(SUPPRESSIONS)
    (folder / "tests/data").mkdir(parents=True)
    (folder / "tests/data/import").symlink_to(TOP / "tests/data/import")


def argv_of(words):
    if words[0] == "records":
        return [sys.executable, TOP / "tests/mmt.py", *words[1:]]
    return [BUILD / words[0], *words[1:]]


def cut(folder, name, length):
    with open(folder / name, "rb") as whole:
        (folder / "cut.mmt").write_bytes(whole.read(int(length)))
    os.utime(folder / "cut.mmt", (1790000000, 1790000000))


def output_of(words, folder):
    said = b"$ " + " ".join(words).encode() + b"\n"
    if words[0] == "cut":
        cut(folder, *words[1:])
        return said
    env = {**os.environ, "TZ": "UTC", "LC_ALL": "C.UTF-8", "COLUMNS": "100"}
    done = subprocess.run(argv_of(words), cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT)
    said += re.sub(rb"RUN id='[0-9a-f]{32}'", b"RUN id=ANY", done.stdout) if words[0] == "records" else done.stdout
    if done.stderr:
        said += b"[stderr]\n" + done.stderr
    if done.returncode:
        said += b"[status %d]\n" % done.returncode
    return said


def outcome(commands, inputs):
    """The output of all commands of a case, one after the other."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for path in inputs.iterdir():
            (folder / path.name).symlink_to(path)
        return b"".join(output_of(words, folder) for words in commands)


def differences(name, got):
    """The first lines of the difference, as text; "" if there is none."""
    path = EXPECTED / name
    expected = path.read_bytes() if path.exists() else b""
    if got == expected:
        return ""
    lines = difflib.unified_diff(*(text.decode(errors="backslashreplace").splitlines() for text in (expected, got)), "expected", "got", lineterm="", n=1)
    return f"--- {name}\n" + "\n".join(list(lines)[:SHOWN]) + "\n"


def run(pattern="*"):
    """{name: output} of the cases whose name matches."""
    chosen = {name: commands for name, commands in cases().items() if fnmatch.fnmatch(name, pattern)}
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        inputs = pathlib.Path(name)
        folder_of_inputs(inputs)
        return dict(zip(chosen, pool.map(lambda commands: outcome(commands, inputs), chosen.values())))


def bless(outputs, pattern):
    EXPECTED.mkdir(exist_ok=True)
    for path in EXPECTED.iterdir():
        if fnmatch.fnmatch(path.name, pattern):
            path.unlink()
    for name, output in outputs.items():
        (EXPECTED / name).write_bytes(output)


def main():
    args = sys.argv[1:]
    blessed = args[:1] == ["--bless"]
    pattern = (args[1:] if blessed else args)[:1] or ["*"]
    outputs = run(pattern[0])
    if blessed:
        bless(outputs, pattern[0])
        return 0
    wrong = [text for text in (differences(name, got) for name, got in outputs.items()) if text]
    left = sorted(p.name for p in EXPECTED.iterdir() if p.name not in cases())
    print("".join(wrong) + "".join(f"--- {name}: no case makes it\n" for name in left) + f"{len(outputs)} goldens, {len(wrong)} differ")
    return 1 if wrong or left else 0


if __name__ == "__main__":
    sys.exit(main())
