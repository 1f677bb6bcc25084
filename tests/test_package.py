# SPDX-License-Identifier: MIT
"""The Debian package: it builds from the files of the tree, lintian has nothing to say, and what is in it
works. In a fresh Debian, with its dependencies: make package-check."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import package

TOP = pathlib.Path(__file__).parent.parent
FULL = os.environ.get("MM_FULL") == "1"
NEEDED = ("dpkg-buildpackage", "dh", "lintian")


@pytest.fixture(scope="module")
def changes(tmp_path_factory):
    for program in NEEDED:
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    return package.build(tmp_path_factory.mktemp("package"), optimized=FULL)


@pytest.fixture(scope="module")
def unpacked(changes, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unpacked")
    output("dpkg-deb", "-x", package.package(changes), folder)
    return folder


def output(*words, check=True, **more):
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=check, timeout=300, **more)


def lintian(path, *options):
    said = output("lintian", "--fail-on", "error,warning", "--display-info", *options, path, check=False)
    return said.returncode, said.stdout


def test_lintian_is_silent(changes):
    """But for what an unoptimized build lacks (package.build)."""
    unoptimized = "" if FULL else "I: mmattach: hardening-no-fortify-functions [usr/bin/mmattach]\n"
    assert lintian(changes) == (0, unoptimized)


def test_lintian_would_speak(changes, tmp_path):
    """Without its copyright it is not silent."""
    output("dpkg-deb", "-R", package.package(changes), tmp_path / "p")
    (tmp_path / "p/usr/share/doc/mmattach/copyright").unlink()
    output("dpkg-deb", "--root-owner-group", "-Znone", "-b", tmp_path / "p", tmp_path / "mmattach_0.1_amd64.deb")
    status, said = lintian(tmp_path / "mmattach_0.1_amd64.deb", "--tags", "no-copyright-file")
    assert status != 0 and "no-copyright-file" in said


def test_the_tree_stays_clean(changes):
    """What the build leaves behind, .gitignore names."""
    folder = changes.parent / "mmattach"
    output("git", "init", "-q", cwd=folder)
    known = output("git", "ls-files", cwd=TOP).stdout.splitlines()
    others = output("git", "ls-files", "--others", "--exclude-standard", cwd=folder).stdout.splitlines()
    assert set(others) <= set(known)


def test_contents(unpacked):
    files = {str(path.relative_to(unpacked)) for path in unpacked.rglob("*") if path.is_file()}
    for name in ("usr/bin/mmattach", "usr/share/mmattach/mmleak.py", "usr/share/man/man1/mmattach-scan.1.gz",
                 "usr/share/bash-completion/completions/mmattach", "usr/share/zsh/vendor-completions/_mmattach",
                 "usr/share/fish/vendor_completions.d/mmattach.fish", "usr/share/doc/mmattach/copyright"):
        assert name in files
    assert all(name.startswith(("usr/bin/mmattach", "usr/share/")) for name in files)


def test_dependencies(changes):
    field = output("dpkg-deb", "-f", package.package(changes), "Depends").stdout
    for library in ("libc6", "libdw1", "libelf1", "libcapstone4", "libunwind8"):
        assert library in field
    assert "python" not in field


def test_version():
    version = re.match(r"mmattach \((.*?)\)", (TOP / "debian/changelog").read_text())[1]
    assert (TOP / "NEWS").read_text().startswith(f"mmattach {version} ")
    assert f'MM_VERSION "{version}"' in (TOP / "base/version.h").read_text()


def test_it_runs(unpacked, tmp_path):
    """The autopkgtest, with the unpacked program."""
    if os.geteuid():
        pytest.skip("watching needs root")
    env = {**os.environ, "PATH": f"{unpacked}/usr/bin:{os.environ['PATH']}"}
    said = output(TOP / "debian/tests/smoke", package.leaky(tmp_path), env=env, stderr=subprocess.PIPE,
                  check=False)
    assert said.returncode == 0, said.stderr
