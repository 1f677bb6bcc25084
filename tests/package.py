#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""package: the Debian package, built from the files of the tree, and tried out.

    package.py      build it, install it with apt in a fresh Debian 12 (debootstrap), use it there, purge it:
                    needs root, the network and some minutes (make package-check)

tests/test_package.py has the parts that need neither.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
SUITE = "bookworm"
MIRROR = "http://deb.debian.org/debian"
# What apt and dpkg write for themselves, whatever is installed.
OWN_OF_APT = ("var/lib/apt", "var/lib/dpkg", "var/cache", "var/log", "tmp", "proc", "sys", "dev", "run")


def run(*words, **more):
    return subprocess.run([str(word) for word in words], check=True, **more)


def copy_tree(folder):
    """The files that git knows, as they are now: a clean clone with what is not committed yet."""
    names = run("git", "ls-files", "-z", cwd=TOP, capture_output=True).stdout.decode().split("\0")
    for name in filter(None, names):
        if (TOP / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(TOP / name, folder / name, follow_symlinks=False)


def build(folder, optimized=True):
    """Build in @folder/mmattach; returns the .changes file, and leaves the output in @folder/log. Not @optimized, and
    without debug information, it takes a fraction of the time."""
    copy_tree(folder / "mmattach")
    # what make check was called with (DEBUG=1) is not for the package
    env = {name: value for name, value in os.environ.items()
           if name not in ("MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES")}
    env.update({} if optimized else {"DEB_BUILD_OPTIONS": "noopt noautodbgsym", "DEB_CFLAGS_APPEND": "-g0"})
    with open(folder / "log", "w") as log:
        run("dpkg-buildpackage", "-us", "-uc", "-b", "-j2", cwd=folder / "mmattach", stdout=log,
            stderr=subprocess.STDOUT, env=env)
    return next(folder.glob("mmattach_*.changes"))


def package(changes):
    return next(changes.parent.glob("mmattach_*.deb"))


def leaky(folder):
    """The program that debian/tests/smoke watches."""
    source = (TOP / "debian/tests/smoke").read_text().split("<<'C'\n")[1].split("\nC\n")[0]
    (folder / "leaky.c").write_text(source + "\n")
    run("cc", "-g", "-O0", "-o", folder / "leaky", folder / "leaky.c")
    return folder / "leaky"


class Chroot:
    """A fresh Debian in @folder. Commands run in a mount namespace of their own, with /proc."""

    def __init__(self, folder):
        self.folder = folder
        run("debootstrap", "--variant=minbase", SUITE, folder, MIRROR, stdout=subprocess.DEVNULL)
        shutil.copy("/etc/resolv.conf", folder / "etc/resolv.conf")

    def run(self, *words, **more):
        inside = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"'
        return run("unshare", "--mount", "sh", "-c", inside, self.folder, *words, **more)

    def apt(self, *words):
        self.run("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qy", "--no-install-recommends", *words)

    def files(self):
        found = run("find", ".", "-xdev", "-printf", "%P\n", cwd=self.folder, stdout=subprocess.PIPE,
                    text=True).stdout
        return {name for name in found.splitlines() if not name.startswith(OWN_OF_APT)}


def try_out(chroot, deb, program):
    shutil.copy(deb, chroot.folder / "mmattach.deb")
    shutil.copy(program, chroot.folder / "leaky")
    shutil.copy(TOP / "debian/tests/smoke", chroot.folder / "smoke")
    chroot.apt("update")
    before = chroot.files()
    chroot.apt("install", "/mmattach.deb")
    added = chroot.files() - before
    for name in ("usr/bin/mmattach", "usr/share/man/man1/mmattach.1.gz", "usr/share/man/man5/mmattach-rules.5.gz",
                 "usr/share/bash-completion/completions/mmattach", "usr/share/mmattach/mmleak.py"):
        assert name in added, name
    chroot.run("/smoke", "/leaky")
    chroot.apt("purge", "mmattach")
    assert not [name for name in chroot.files() if "mmattach" in name and name != "mmattach.deb"]
    chroot.apt("autoremove", "--purge")
    assert chroot.files() == before, chroot.files() ^ before
    assert not list((chroot.folder / "var/lib/dpkg/info").glob("mmattach*"))


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        deb = package(build(folder))
        print(f"built {deb.name}, {deb.stat().st_size} bytes")
        try_out(Chroot(folder / "debian"), deb, leaky(folder))
        print(f"installed in a fresh {SUITE}, used, and purged: nothing is left")


if __name__ == "__main__":
    sys.exit(main())
