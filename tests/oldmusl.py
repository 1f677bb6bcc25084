#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""oldmusl: a victim with the malloc of musl before 1.2.1, which no package has any more.

    oldmusl.py get     fetch the source of musl, compile that malloc, and link build/victims/hoard_oldmusl

The source is that of Debian's package, of which the checksum is known. Its three files take the place of the malloc in
Debian's own libc.a: the victim is static, and stripped.
"""
import hashlib
import pathlib
import shutil
import subprocess
import sys
import urllib.request

import libcs

TOP = pathlib.Path(__file__).resolve().parent.parent
FOLDER = TOP / "build/oldmusl"
VICTIM = TOP / "build/victims/hoard_oldmusl"
SOURCE = TOP / "tests/victims/hoard.c"
POOL = "pool/main/m/musl/musl_1.2.3.orig.tar.gz"
SHA256 = "7d5b0b6062521e4627e099e4c9dc8248d32a30285e959b7eecaa780cf8cfd4a4"
HEADERS = "/usr/include/x86_64-linux-musl"
FILES = ["malloc", "aligned_alloc", "malloc_usable_size"]
LIMIT = 60


def fetch():
    for mirror in libcs.mirrors():
        try:
            with urllib.request.urlopen(f"{mirror}/{POOL}", timeout=LIMIT) as answer:
                data = answer.read()
        except OSError as error:
            print(f"oldmusl: {mirror}: {error}", file=sys.stderr)
            continue
        if hashlib.sha256(data).hexdigest() == SHA256:
            return data
        print(f"oldmusl: {mirror}: another file than expected", file=sys.stderr)
    raise libcs.NotToBeHad("no mirror has the source")


def unpack():
    part = FOLDER.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    (part / "musl.tar.gz").write_bytes(fetch())
    subprocess.run(["tar", "-xf", part / "musl.tar.gz", "-C", part], check=True)
    next(part.glob("musl-*")).rename(part / "source")
    part.rename(FOLDER)


def compile_all():
    source = FOLDER / "source"
    folders = ["arch/x86_64", "arch/generic", "src/include", "src/internal"]
    for name in FILES:
        subprocess.run(["gcc", "-std=c99", "-nostdinc", "-ffreestanding", "-fno-strict-aliasing", "-w", "-D_XOPEN_SOURCE=700", "-O2",
                        *(f"-I{source / folder}" for folder in folders), f"-I{HEADERS}", "-c", source / f"src/malloc/oldmalloc/{name}.c",
                        "-o", FOLDER / f"{name}.o"], check=True)


def is_new():
    sources = [SOURCE, *SOURCE.parent.glob("*.h"), pathlib.Path(__file__)]
    return VICTIM.exists() and VICTIM.stat().st_mtime > max(file.stat().st_mtime for file in sources)


def get():
    if not shutil.which("musl-gcc"):
        raise libcs.NotToBeHad("musl-tools is not installed")
    if is_new():
        return
    if not FOLDER.exists():
        unpack()
    compile_all()
    VICTIM.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["musl-gcc", "-O2", "-g", "-pthread", "-static", "-s", "-o", VICTIM, SOURCE, *(FOLDER / f"{name}.o" for name in FILES)], check=True)


def main():
    if sys.argv[1:] != ["get"]:
        sys.exit(__doc__)
    try:
        get()
    except (libcs.NotToBeHad, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"oldmusl: {error}")


if __name__ == "__main__":
    main()
