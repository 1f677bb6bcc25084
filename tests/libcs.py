#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""libcs: other versions of glibc, as Debian has them, to run victims with.

    libcs.py get     fetch libc6 of each version, unpack it below build/libcs, and build the victims
    libcs.py list    the versions that are there

apt itself fetches them, so signatures and checksums are verified, from the mirror that this machine uses,
with separate lists and a separate cache below build/libcs: nothing is installed. What was fetched is recorded
in build/libcs/VERSION/what.json: suite, version, checksum.

A victim is linked with the oldest libc, so the same program runs with each, started by that libc's own ld.so.
"""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
FOLDER = TOP / "build/libcs"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
# The upstream version, and the suites that may have it.
SUITES = {"2.31": ["bullseye"], "2.36": ["bookworm"], "2.41": ["trixie"], "2.43": ["forky", "sid"]}
OLDEST = "2.31"
ARCHIVE = "http://archive.debian.org/debian"
LIMIT = 300
VICTIMS = ["census", "losses"]


class NotToBeHad(Exception):
    """This version cannot be fetched; the message says why."""


def mirrors():
    """The mirrors that this machine uses, and Debian's archive of old versions."""
    found = []
    for file in [pathlib.Path("/etc/apt/sources.list"), *sorted(pathlib.Path("/etc/apt/sources.list.d").glob("*"))]:
        if file.is_file():
            found += re.findall(r"https?://\S+/debian/?(?=\s|$)", file.read_text(errors="replace"))
    return list(dict.fromkeys([url.rstrip("/") for url in found] or ["http://deb.debian.org/debian"])) + [ARCHIVE]


def apt(folder, *command, cwd=None):
    """Run one of apt's commands, with its own lists, cache and sources below FOLDER. Returns its output, or
    raises."""
    options = {"Dir::Etc::SourceList": folder / "sources.list", "Dir::Etc::SourceParts": "/dev/null", "Dir::State::Lists": folder / "lists",
               "Dir::State::Status": folder / "status", "Dir::Cache": folder / "cache", "Acquire::Languages": "none",
               "Acquire::Retries": 3, "APT::Sandbox::User": "", "APT::Architecture": "amd64", "APT::Architectures": "amd64"}
    command = [command[0], *(f"-o{name}={value}" for name, value in options.items()), *command[1:]]
    try:
        done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired as late:
        raise NotToBeHad(f"{command[0]} {command[-1]}: not within {LIMIT} s") from late
    if done.returncode:
        raise NotToBeHad(f"{command[0]} {command[-1]}: {done.stdout.strip()[-300:]}")
    return done.stdout


def use_sources(folder, sources, *options):
    """Make the packages of each (mirror, suite) known to apt in FOLDER; those that cannot be had are left out."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in ["lists/partial", "cache/archives/partial"]:
        (folder / name).mkdir(parents=True)
    (folder / "status").touch()
    lines = [f"deb [signed-by={KEYS} check-valid-until=no] {mirror} {suite} main\n" for mirror, suite in sources]
    (folder / "sources.list").write_text("".join(lines))
    apt(folder, "apt-get", "-q", *options, "update")


def use_suite(folder, mirror, suite):
    """The packages of SUITE at MIRROR; if they cannot be had, that is an error."""
    use_sources(folder, [(mirror, suite)], "-oAPT::Update::Error-Mode=any")


def candidate(folder):
    """The version of libc6 that apt would install."""
    found = re.search(r"Candidate: (\S+)", apt(folder, "apt-cache", "policy", "libc6"))
    return found[1] if found else ""


def unpack(folder, packages):
    """Fetch each of PACKAGES with apt in FOLDER/apt, and unpack it in FOLDER/root. Returns their checksums, by
    file."""
    sums = {}
    for package in packages:
        apt(folder / "apt", "apt-get", "-q", "download", package, cwd=folder)
        deb = next(folder.glob(f"{package}_*.deb"))
        sums[deb.name] = hashlib.sha256(deb.read_bytes()).hexdigest()
        subprocess.run(["dpkg-deb", "-x", deb, folder / "root"], check=True)
        deb.unlink()
    return sums


def fetch_into(folder, version, mirror, suite):
    """libc6 VERSION from SUITE, unpacked in FOLDER/root; for the oldest also the files for linking a program
    with it."""
    use_suite(folder / "apt", mirror, suite)
    has = candidate(folder / "apt")
    if not has.startswith(version + "-"):
        raise NotToBeHad(f"{suite} has {has or 'no libc6'}")
    sums = unpack(folder, ["libc6"] + ["libc6-dev"] * (version == OLDEST))
    shutil.rmtree(folder / "apt")
    (folder / "what.json").write_text(json.dumps({"suite": suite, "mirror": mirror, "version": has, "sha256": sums}) + "\n")


def fetch(version):
    """Make VERSION available below build/libcs, or raise with the error of each suite."""
    final, part = FOLDER / version, FOLDER / f"{version}.part"
    if (final / "what.json").exists():
        return
    why = []
    for mirror in mirrors():
        for suite in SUITES[version]:
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
            try:
                fetch_into(part, version, mirror, suite)
                shutil.rmtree(final, ignore_errors=True)
                part.rename(final)
                return
            except (NotToBeHad, OSError, subprocess.CalledProcessError, StopIteration) as error:
                why.append(f"{mirror} {suite}: {error}")
    shutil.rmtree(part, ignore_errors=True)
    raise NotToBeHad("; ".join(why))


def libraries(version):
    """The folder of its libraries, which include the loader."""
    for place in ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"]:
        folder = FOLDER / version / "root" / place
        if (folder / "libc.so.6").exists():
            return folder
    raise NotToBeHad(f"{version} has not been fetched: make libcs")


def command(version, victim, *arguments):
    """The command that starts VICTIM with that libc."""
    folder = libraries(version)
    return [folder / "ld-linux-x86-64.so.2", "--library-path", folder, FOLDER / "bin" / victim, *arguments]


def there(version):
    """Whether victims can be run with it."""
    return (FOLDER / version / "what.json").exists() and all((FOLDER / "bin" / name).exists() for name in VICTIMS)


def built_from(name):
    """The source files of the victim: it is rebuilt when one changes."""
    return [TOP / f"tests/victims/{name}.c", *sorted((TOP / "tests/victims").glob("*.h"))]


def build(name):
    """Build the victim, linked with the oldest libc explicitly: gcc would use this machine's."""
    to = FOLDER / "bin" / name
    if to.exists() and all(file.stat().st_mtime <= to.stat().st_mtime for file in built_from(name)):
        return
    to.parent.mkdir(parents=True, exist_ok=True)
    run, dev = libraries(OLDEST), FOLDER / OLDEST / "root/usr/lib/x86_64-linux-gnu"
    compiler = os.environ.get("CC", "gcc")
    begin, end, libgcc = (subprocess.run([compiler, f"-print-file-name={file}"], check=True, text=True, capture_output=True).stdout.strip()
                          for file in ["crtbeginS.o", "crtendS.o", "libgcc.a"])
    subprocess.run([compiler, "-O2", "-g", "-fPIE", "-D_GNU_SOURCE", "-c", "-o", f"{to}.o", TOP / f"tests/victims/{name}.c"], check=True)
    subprocess.run([compiler, "-nostdlib", "-pie", "-o", to, dev / "Scrt1.o", dev / "crti.o", begin, f"{to}.o", run / "libpthread.so.0",
                    run / "libdl.so.2", run / "libc.so.6", dev / "libc_nonshared.a", run / "ld-linux-x86-64.so.2", libgcc, end, dev / "crtn.o"],
                   check=True)


def get():
    """Fetch all versions. Those that could not be fetched are reported, and the exit status is 1."""
    missing = 0
    for version in SUITES:
        try:
            fetch(version)
            print(f"libcs: {version}: {json.loads((FOLDER / version / 'what.json').read_text())['version']}")
        except NotToBeHad as error:
            missing += 1
            print(f"libcs: {version} cannot be had: {error}", file=sys.stderr)
    if (FOLDER / OLDEST / "what.json").exists():
        for name in VICTIMS:
            build(name)
    return 1 if missing else 0


def main():
    if sys.argv[1:] == ["get"]:
        return get()
    if sys.argv[1:] == ["list"]:
        print("\n".join(version for version in SUITES if there(version)))
        return 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main())
