#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kernels: other versions of the kernel, as Debian has them, to run the program with (machine.py).

    kernels.py get [NAME...]    fetch those kernels (all that `make kernels` uses), and unpack them below build/kernels
    kernels.py list             those that are there

A NAME is a series, as 6.12, of which the newest package is taken; `6.17+`, the oldest series from there on that can be
had; or `newest`. apt itself fetches them, as other versions of glibc (libcs.py), once; what was fetched is recorded in
build/kernels/NAME/what.json: release, package, version, checksum.
"""
import functools
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import libcs  # noqa: E402
from libcs import NotToBeHad  # noqa: E402

FOLDER = libcs.TOP / "build/kernels"
ALL = ["5.10", "6.1", "6.12", "6.17+", "newest"]
SHORT = ["5.10", "6.1", "6.12", "newest"]
SUITES = ["bullseye", "bookworm", "bookworm-backports", "trixie", "trixie-backports", "forky", "sid", "experimental"]
# at the mirror's address with -security behind it
SECURITY = ["bullseye-security", "bookworm-security", "trixie-security"]
# The kernels of Debian's cloud images: small, and nothing that the checks need is a module.
PACKAGE = re.compile(r"linux-(image|binary)-((\d+)\.(\d+)\S*-cloud-amd64)")
FILES = ["./boot/vmlinuz*", "./usr/lib/modules/*/vmlinuz"]


class Package:
    """One that may have a kernel."""

    def __init__(self, name, version):
        self.name, self.version = name, version
        self.kind, self.release, *series = PACKAGE.fullmatch(name).groups()
        self.series = tuple(int(part) for part in series)


def sources():
    lines = []
    for mirror in libcs.mirrors():
        lines += [(mirror, suite) for suite in SUITES]
        lines += [(f"{mirror}-security", suite) for suite in SECURITY]
    return lines


def older(one, other):
    """As functools.cmp_to_key wants it; ~ and letters in versions are dpkg's matter."""
    if one.version == other.version:
        return 0
    return -1 if subprocess.run(["dpkg", "--compare-versions", one.version, "lt", other.version]).returncode == 0 else 1


def with_kernel(found):
    """From Linux 6.19 on the package of the image has no file, but needs one of the same release that does."""
    own = {package.release for package in found if package.kind == "binary"}
    return [package for package in found if package.kind == "binary" or package.release not in own]


def packages(folder):
    """All that apt in FOLDER has, the oldest first."""
    names = libcs.apt(folder, "apt-cache", "search", "--names-only", "^linux-(image|binary)-[0-9].*-cloud-amd64$").split()
    names = [name for name in names if PACKAGE.fullmatch(name)]
    lines = libcs.apt(folder, "apt-cache", "madison", *names).splitlines() if names else []
    found = {tuple(word.strip() for word in line.split("|")[:2]) for line in lines}
    return sorted(with_kernel([Package(*each) for each in found]), key=functools.cmp_to_key(older))


def choose(name, found):
    """The newest package of the series that NAME stands for."""
    series = sorted({package.series for package in found})
    if name == "newest":
        chosen = series[-1:]
    elif name.endswith("+"):
        chosen = [each for each in series if each >= numbers(name[:-1])][:1]
    else:
        chosen = [each for each in series if each == numbers(name)]
    if not chosen:
        raise NotToBeHad(f"no suite has it; there are {', '.join('.'.join(map(str, each)) for each in series) or 'none'}")
    return [package for package in found if package.series == chosen[0]][-1]


def numbers(series):
    if not re.fullmatch(r"\d+\.\d+", series):
        raise NotToBeHad(f"{series} is no series of kernels, as 6.12 is one")
    return tuple(int(part) for part in series.split("."))


def unpack(deb, to):
    """The kernel in the package file @deb, as @to."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as files:
        listed = subprocess.run(["tar", "-x", "--to-stdout", "--wildcards", *FILES], stdin=files.stdout, stdout=to.open("wb"),
                                stderr=subprocess.PIPE, text=True)
    if not to.stat().st_size:
        raise NotToBeHad(f"{deb.name} has no kernel: {listed.stderr.strip()[-200:]}")


def fetch(name, package, apt):
    """Make it available as build/kernels/NAME."""
    part = FOLDER / f"{name}.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    libcs.apt(apt, "apt-get", "-q", "download", f"{package.name}={package.version}", cwd=part)
    deb = next(part.glob("*.deb"))
    unpack(deb, part / "vmlinuz")
    what = {"release": package.release, "package": package.name, "version": package.version,
            "sha256": hashlib.sha256(deb.read_bytes()).hexdigest()}
    deb.unlink()
    (part / "what.json").write_text(json.dumps(what) + "\n")
    part.rename(FOLDER / name)


def file(name):
    return FOLDER / name / "vmlinuz"


def there(name):
    return (FOLDER / name / "what.json").exists()


def what(name):
    return json.loads((FOLDER / name / "what.json").read_text())


def is_second_name(name):
    """Whether the newest kernel is also the one that `6.17+` stands for."""
    return name == "newest" and there(name) and any(
        there(other) and what(other)["release"] == what(name)["release"] for other in ALL if other != name)


def get(names):
    """Fetch those that are not there. Returns why a kernel cannot be had, by its name."""
    missing = [name for name in names if not there(name)]
    if not missing:
        return {}
    apt, why, of_apt = FOLDER / "apt", {}, ""
    try:
        libcs.use_sources(apt, sources())
    except NotToBeHad as error:     # some suites are not there: old ones are in the archive alone
        of_apt = f" ({error})"
    found = packages(apt)
    for name in missing:
        try:
            fetch(name, choose(name, found), apt)
        except (NotToBeHad, OSError, StopIteration) as error:
            why[name] = f"{error}{of_apt}"
    shutil.rmtree(apt)
    return why


def main():
    if sys.argv[1:2] == ["get"]:
        names = sys.argv[2:] or ALL
        why = get(names)
        for name in names:
            print(f"kernels: {name}: " + (what(name)["release"] if there(name) else f"cannot be had: {why[name]}"))
        return 1 if why else 0
    if sys.argv[1:] == ["list"]:
        print("\n".join(f"{path.parent.name} {what(path.parent.name)['release']}" for path in sorted(FOLDER.glob("*/what.json"))))
        return 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main())
