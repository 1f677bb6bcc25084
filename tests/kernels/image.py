# SPDX-License-Identifier: MIT
"""The file system that a kernel is started with: an archive in memory (initramfs) with busybox, Python, Ruby, the
static program, the victims, and the checks of guest/. No modules and no disk are needed.

The project's files are below /mm, in the places that they have here, so that tests/live/harness.py finds them.
"""
import os
import pathlib
import re
import stat
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[2]
INSIDE = pathlib.Path("/mm")
PROGRAM = TOP / os.environ.get("MM_BUILD", "build/release") / "mmattach-static"
PYTHON = pathlib.Path("/usr/bin/python3")
RUBY = pathlib.Path("/usr/bin/ruby")
BUSYBOX = pathlib.Path("/bin/busybox")
UNSHARE = pathlib.Path("/usr/bin/unshare")
VICTIMS = ["exact", "leaky_service", "hot", "storm", "births", "brood", "held", "paths", "sampled", "bysize"]
SOURCES = ["tests/kernels/guest/main.py", "tests/victims/scripts.*"]
# Of Python's library and of our files, what the checks and the script import, and what a traceback needs; without _ssl
# and _hashlib, for which Python has other ways, and which take as many bytes as all the rest.
IMPORTED = "plan, proofs, log, asyncio, ctypes, functools, json, threading, traceback, tokenize, encodings.latin_1"
WITHOUT = {"_ssl", "_hashlib"}
EMPTY = ["proc", "sys", "dev", "tmp", "run", "root"]


class NotHere(Exception):
    """What the image is made of is not installed, or not built."""


def require():
    """Raises NotHere for the first thing that is missing, with what brings it."""
    wanted = {BUSYBOX: "busybox-static", PYTHON: "python3", RUBY: "ruby", UNSHARE: "util-linux", PROGRAM: "make static",
              **{TOP / "build/victims" / name: "make victims" for name in VICTIMS}}
    for path, how in wanted.items():
        if not path.exists():
            raise NotHere(f"{path} is not there: {how}")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def of_python():
    places = [str(TOP / "tests" / folder) for folder in ("live", "kernels", "kernels/guest")]
    names = output(PYTHON, "-c", f"""
import sys
sys.path[:0] = {places}
import {IMPORTED}
for name, module in sys.modules.items():
    for attribute in ["__file__", "__cached__"]:
        print(name, getattr(module, attribute, None) or "")
""")
    found = [line.split(maxsplit=1) for line in names.splitlines() if " /" in line]
    return [pathlib.Path(path) for name, path in found if name not in WITHOUT and pathlib.Path(path).exists()]


def of_ruby():
    """The two tables of encodings: the script needs no library."""
    folders = output(RUBY, "--disable-gems", "-e", "puts $:").splitlines()
    return [path for folder in folders for path in pathlib.Path(folder).glob("enc/**/*db.so")]


def inside(path):
    """Its name in the image."""
    return INSIDE / path.relative_to(TOP) if path.is_relative_to(TOP) else path


def of_interpreters():
    found = [*of_python(), *of_ruby()]
    return {PYTHON: PYTHON.resolve(), RUBY: RUBY.resolve(), **{inside(path): path for path in found}}


def of_project():
    found = [path for pattern in SOURCES for path in TOP.glob(pattern)] + [TOP / "build/victims" / name for name in VICTIMS]
    return {INSIDE / "build/release/mmattach": PROGRAM, **{inside(path): path for path in found}}


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def libraries(files):
    """The shared objects that they are linked with, and the dynamic linker, by the names that they are opened by."""
    listed = subprocess.run(["ldd", *files], capture_output=True, text=True).stdout
    return {pathlib.Path(name): pathlib.Path(name) for name in re.findall(r"(?:=> |^\t)(/\S+) \(0x", listed, re.M)}


def contents():
    """The file here, by its name in the image."""
    files = {pathlib.Path("/init"): TOP / "tests/kernels/guest/init", BUSYBOX: BUSYBOX, UNSHARE: UNSHARE,
             **of_interpreters(), **of_project()}
    return files | libraries([path for path in files.values() if is_elf(path)])


# --- the archive: cpio's "newc" format ---

def entry(name, mode, mtime=0, data=b""):
    name = os.fsencode(name) + b"\0"
    numbers = [0, mode, 0, 0, 1, int(mtime), len(data), 0, 0, 0, 0, len(name), 0]
    head = b"070701" + b"".join(b"%08X" % number for number in numbers) + name
    return head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)


def folders_of(names):
    """Each folder, those around it first."""
    return sorted({parent for name in names for parent in pathlib.PurePath(name).parents if parent.name})


def write(image):
    """Make the archive @image anew."""
    files = {str(name).lstrip("/"): path for name, path in contents().items()}
    part = image.with_suffix(".part")
    with open(part, "wb") as archive:
        for folder in [*folders_of(files), *EMPTY]:
            archive.write(entry(folder, stat.S_IFDIR | 0o755))
        for name, path in files.items():
            about = path.stat()
            archive.write(entry(name, stat.S_IFREG | about.st_mode & 0o777, about.st_mtime, path.read_bytes()))
        archive.write(entry("TRAILER!!!", 0))
    part.rename(image)
