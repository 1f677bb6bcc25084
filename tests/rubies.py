#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rubies: Debian 13's Ruby 3.3, whose file does not name the function that executes scripts.

    rubies.py get    fetch it and the libraries that it needs, unpack them below build/rubies

It is fetched as the versions of glibc are (libcs.py), and runs with the one of its own release, started by
that glibc's ld.so; without gems, which would be this machine's.
"""
import json
import shutil
import subprocess
import sys

import libcs

LIBC, SUITE = "2.41", "trixie"
PACKAGES = ["ruby3.3", "libruby3.3", "libgmp10", "zlib1g", "libcrypt1", "libffi8"]
FOLDER = libcs.TOP / "build/rubies/3.3"
USR = FOLDER / "root/usr"
TRIPLE = "x86_64-linux-gnu"


def there():
    return all((folder / "what.json").exists() for folder in [FOLDER, libcs.FOLDER / LIBC])


def command():
    """What starts it, as `ruby` does where one is installed."""
    libc, own = libcs.libraries(LIBC), USR / "lib" / TRIPLE
    return [libc / "ld-linux-x86-64.so.2", "--library-path", f"{own}:{libc}", USR / "bin/ruby3.3",
            "--disable-gems", "-I", USR / "lib/ruby/3.3.0", "-I", own / "ruby/3.3.0"]


def fetch_from(mirror, part):
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    libcs.use_suite(part / "apt", mirror, SUITE)
    sums = libcs.unpack(part, PACKAGES)
    shutil.rmtree(part / "apt")
    (part / "what.json").write_text(json.dumps({"suite": SUITE, "mirror": mirror, "sha256": sums}) + "\n")
    shutil.rmtree(FOLDER, ignore_errors=True)
    part.rename(FOLDER)


def fetch():
    part, why = FOLDER.parent / "3.3.part", []
    for mirror in libcs.mirrors():
        try:
            return fetch_from(mirror, part)
        except (libcs.NotToBeHad, OSError, subprocess.CalledProcessError, StopIteration) as error:
            why.append(f"{mirror}: {error}")
    shutil.rmtree(part, ignore_errors=True)
    raise libcs.NotToBeHad("; ".join(why))


def main():
    if sys.argv[1:] != ["get"]:
        sys.exit(__doc__)
    try:
        if not (FOLDER / "what.json").exists():
            fetch()
        print(f"rubies: {', '.join(json.loads((FOLDER / 'what.json').read_text())['sha256'])}")
    except libcs.NotToBeHad as error:
        sys.exit(f"rubies: Ruby 3.3 cannot be had: {error}")


if __name__ == "__main__":
    main()
