# SPDX-License-Identifier: MIT
"""The packs: every function that they name exists in the library it is said to be in, if that is installed;
and the output of `mmattach probes` for them.
"""
import fnmatch
import functools
import pathlib
import re
import subprocess

import pytest

from test_unit import BUILD

TOP = pathlib.Path(__file__).parent.parent
LIB = pathlib.Path("/usr/lib/x86_64-linux-gnu")

# The libraries with each pack's functions. Those that are not installed are skipped.
FILES = {
    "apr": ["libapr-1.so.0"],
    "cxx": ["libstdc++.so.6"],
    "dpdk": ["librte_eal.so.23", "librte_mempool.so.23"],
    "fd": ["libc.so.6"],
    "ganesha": ["/usr/lib/ganesha/libganesha_nfsd.so"],
    "glib": ["libglib-2.0.so.0", "libgobject-2.0.so.0"],
    "glusterfs": ["libglusterfs.so.0"],
    "growth": ["libc.so.6"],
    "jemalloc": ["libjemalloc.so.2"],
    "libc": ["libc.so.6"],
    "mimalloc": ["libmimalloc.so.2.0"],
    "mmap": ["libc.so.6", "libtcmalloc_minimal.so.4"],
    "nginx": ["/usr/sbin/nginx"],
    "openssl": ["libcrypto.so.3", "libssl.so.3"],
    "ovs": [],
    "postgres": ["/usr/lib/postgresql/15/bin/postgres"],
    "pymalloc": ["libpython3.11.a"],
    "python": ["libpython3.11.so.1.0"],
    "talloc": ["libtalloc.so.2"],
    "tcmalloc": ["libtcmalloc_minimal.so.4"],
    "thread": ["libc.so.6"],
}
GONE = "libpthread[.-]*"    # in the C library since glibc 2.34


@functools.lru_cache(None)
def symbols(path):
    dynamic = [] if path.suffix == ".a" else ["-D"]  # an archive has the static ones
    listing = subprocess.run(["nm", *dynamic, "--defined-only", path], stdout=subprocess.PIPE, check=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in listing.splitlines() if line.split()}


def functions(pack):
    """(module glob, function) of each rule of the pack."""
    module = "*"
    for line in (TOP / "packs" / f"{pack}.probes").read_text().splitlines():
        words = re.sub(r"(^|\s)#.*", "", line).split()
        if words[:1] in (["family"], ["module"]):
            module = words[1] if words[0] == "module" else "*"
        elif words and words[0] in ("alloc", "realloc", "free", "pool", "reset", "move", "protect", "ref", "unref"):
            yield module, words[1]


def test_all_packs_are_known():
    assert sorted(FILES) == sorted(p.stem for p in (TOP / "packs").glob("*.probes"))


@pytest.mark.parametrize("pack", sorted(FILES))
def test_functions_are_there(pack):
    files = [LIB / f for f in FILES[pack]]
    if not all(f.exists() for f in files):
        pytest.skip(f"optional: not all of {FILES[pack]} are installed")
    for module, function in functions(pack):
        held = [f for f in files if any(fnmatch.fnmatch(name, module) for name in (f.name, f.resolve().name))]
        assert module == GONE or held, f"{module}: none of {files}"
        # the same functions with the prefix of a Rust crate's own copy, which is in no package
        name = function.removeprefix("_rjem_")
        assert module == GONE or any(name in symbols(f) for f in held), f"{function} is not in {held}"


def probes(*arguments):
    return subprocess.run([BUILD / "mmattach", "probes", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False)


def test_probes_lists_packs():
    shown = probes()
    assert shown.returncode == 0 and not shown.stderr
    for pack in FILES:
        first = (TOP / "packs" / f"{pack}.probes").read_text().splitlines()[0]
        assert f"\n{pack}: {first[2:]}\n" in shown.stdout
    assert "\n  family libc of=block\n    alloc malloc size=arg1\n" in shown.stdout


def test_probes_of_a_family():
    shown = probes("--family", "dict")
    assert shown.stdout == ("  family dict refs of=dict\n    ref dict_ref count=*u64(arg1+0x10) module=libglusterfs*\n"
                            "    unref dict_unref count=*u64(arg1+0x10) module=libglusterfs*\n")


def test_wrong_file(tmp_path):
    file = tmp_path / "my.probes"
    file.write_text("family mine\n  alloc f ptr=*(arg1*arg2)\n")
    shown = probes("--probes", file)
    assert shown.returncode == 2
    assert f"{file}:2:16: too complicated an address" in shown.stderr


def test_own_file(tmp_path):
    file = tmp_path / "my.probes"
    file.write_text("# mine\nfamily mine of=thing\nmodule lib*\nalloc f size=arg1 # it\n")
    shown = probes("--probes", file)
    assert shown.stdout == "  family mine of=thing\n    alloc f size=arg1 module=lib*\n"
