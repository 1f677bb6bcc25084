# SPDX-License-Identifier: MIT
"""The fixture victim for tests of the second engine: each test has a copy of libc.

The kernel's probes belong to the file. A probe of another watch on this machine, or of bpftrace, may be in our victim
as well, or make return probes in it; then nothing is learned of what we do.
"""
import os
import pathlib
import shutil

import pytest

from harness import VICTIMS, Victim

LOADER = "/lib64/ld-linux-x86-64.so.2"


def libc():
    maps = pathlib.Path("/proc/self/maps").read_text().splitlines()
    return os.path.realpath(next(line.split()[-1] for line in maps if line.endswith("/libc.so.6")))


@pytest.fixture
def victim(tmp_path):
    """victim(NAME, ARG...): as in conftest; those of one test share the copy."""
    started = []

    def start(name, *args, **kwargs):
        if not started:
            shutil.copy(libc(), tmp_path / "libc.so.6")
        path = name if os.sep in str(name) else VICTIMS / name
        started.append(Victim(LOADER, "--library-path", tmp_path, path, *args, **kwargs))
        return started[-1]

    yield start
    for v in started:
        v.kill()
