# SPDX-License-Identifier: MIT
"""Core files of a process that printed what is in it: gcore's and the kernel's, complete and truncated.

The victim (tests/victims/cored.c) prints where it has put what; build/VARIANT/tools/corefacts prints what
heap/snapshot/core.h finds there.
"""
import json
import os
import pathlib
import random
import re
import resource
import shutil
import subprocess
import time

import pytest

from fullpipe import full_pipe

TOP = pathlib.Path(__file__).parent.parent
BUILD = TOP / os.environ.get("MM_BUILD", "build/release")
FACTS = BUILD / "tools/corefacts"
VICTIMS = TOP / "build/victims"
PAGE = 4096
LIMIT = 60      # seconds, for any single step


def filled(seed, size):
    """The bytes that the victim's fill() writes."""
    return bytes((i * 13 + i // 256 * 7 + seed) & 255 for i in range(size))


def facts(core, *places, option=None):
    """corefacts' output for CORE, and for each (address, length)."""
    args = ([option] if option else []) + [core] + [str(n) for place in places for n in place]
    done = subprocess.run([FACTS, *args], stdout=subprocess.PIPE, timeout=LIMIT, check=True)
    return json.loads(done.stdout)


class Victim:
    """A victim that waits for orders; TOLD has what it printed."""

    def __init__(self, name, folder, before=None):
        self.process = subprocess.Popen([VICTIMS / name], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        preexec_fn=before)
        self.told = json.loads(self.process.stdout.readline())
        assert self.process.stdout.readline().split() == [b"ready", str(self.process.pid).encode()]

    def end(self, order):
        self.process.stdin.write(order + b"\n")
        self.process.stdin.close()
        status = self.process.wait(timeout=LIMIT)
        self.process.stdout.close()
        return status


def gcore(victim, core):
    done = subprocess.run(["gdb", "-nx", "-batch", "-p", str(victim.process.pid), "-ex", f"generate-core-file {core}"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT)
    assert core.exists(), done.stdout.decode(errors="replace")


def wait_until(condition):
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def unlimited():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def kernels_core(folder):
    """The core that the kernel has left in FOLDER."""
    cores = [f for f in folder.iterdir() if f.name.startswith("core")]
    assert len(cores) == 1, list(folder.iterdir())
    return cores[0]


def needs_plain_pattern():
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if not re.fullmatch(r"core[\w.%-]*", pattern):
        pytest.skip(f"optional: cores go elsewhere here (core_pattern is {pattern})")
    if resource.getrlimit(resource.RLIMIT_CORE)[1] != resource.RLIM_INFINITY and os.geteuid():
        pytest.skip("optional: the limit on cores is fixed here")


@pytest.fixture(params=["cored", "cored_static", "cored_static_pie"])
def dumped_by_gdb(request, tmp_path):
    if not shutil.which("gdb"):
        pytest.skip("no gdb")
    victim = Victim(request.param, tmp_path)
    gcore(victim, tmp_path / "core.gdb")
    assert victim.end(b"end") == 0
    return victim, tmp_path / "core.gdb"


@pytest.fixture(params=["cored", "cored_static", "cored_static_pie"])
def dumped_by_kernel(request, tmp_path):
    needs_plain_pattern()
    victim = Victim(request.param, tmp_path, unlimited)
    assert victim.end(b"segv") == -11
    return victim, kernels_core(tmp_path)


def check_contents(victim, core):
    told = victim.told
    names = ["heap", "data", "stack", "touched3", "touched9"]
    found = facts(core, *[(told[n]["at"], told[n]["size"]) for n in names], (told["touched"]["at"], 3 * PAGE),
                  (told["touched"]["at"] + 2 * PAGE + 8, 2 * PAGE))
    assert found["error"] == 0 and found["size"] >= found["whole"] and found["damaged"] == 0
    for name, got in zip(names, found["reads"]):
        assert bytes.fromhex(got) == filled(told[name]["seed"], told[name]["size"]), name
    assert bytes.fromhex(found["reads"][5]) == bytes(3 * PAGE)
    assert bytes.fromhex(found["reads"][6]) == bytes(PAGE - 8) + filled(4, PAGE) + bytes(8)
    return found


def check_process(victim, found):
    assert found["pid"] == victim.process.pid
    assert found["comm"] == pathlib.Path(victim.process.args[0]).name[:15]
    assert found["exe"] == str(victim.process.args[0])
    code = [m for m in found["maps"] if m["lo"] <= victim.told["main"] < m["hi"]]
    assert len(code) == 1 and code[0]["path"] == found["exe"] and code[0]["file"]
    stack = [m for m in found["maps"] if m["path"] == "[stack]"]
    assert len(stack) == 1 and stack[0]["lo"] <= victim.told["stack"]["at"] < stack[0]["hi"]


def check_threads(victim, found):
    threads = {t["tid"]: t for t in found["threads"]}
    assert set(threads) == {victim.process.pid, *victim.told["tids"]}
    for number, tid in enumerate(victim.told["tids"]):
        value = 0x7700000000 + number
        assert threads[tid]["r12"] == value
        xmm5 = bytes.fromhex(threads[tid]["vectors"])[160 + 5 * 16:][:8]
        assert int.from_bytes(xmm5, "little") == value
        assert [m for m in found["maps"] if m["lo"] <= threads[tid]["sp"] < m["hi"] and m["perms"] & 2]
        assert [m for m in found["maps"] if m["lo"] <= threads[tid]["fs_base"] < m["hi"] and m["perms"] & 2]


def check_not_there(victim, core):
    """What is not in a core must never be read as zeros: memory excluded from the core, and shared file
    mappings."""
    told = victim.told
    found = facts(core, (told["hidden"]["at"], 8), (told["shared"]["at"], 8), (told["untouched"]["at"], 32 * PAGE))
    assert found["reads"][0] in ("missing", "nothing")
    assert found["reads"][1] in ("missing", filled(7, 8).hex())     # deleted files are dumped
    assert found["reads"][2] in ("missing", "00" * 32 * PAGE)
    if found["reads"][0] == "missing":
        assert found["left_out"] >= told["hidden"]["size"] and found["missing"] == found["left_out"]


def test_gcore(dumped_by_gdb):
    victim, core = dumped_by_gdb
    found = check_contents(victim, core)
    check_process(victim, found)
    check_threads(victim, found)
    check_not_there(victim, core)


def test_kernel(dumped_by_kernel):
    victim, core = dumped_by_kernel
    found = check_contents(victim, core)
    check_process(victim, found)
    check_threads(victim, found)
    check_not_there(victim, core)
    assert found["signal"] == 11 and found["fault"] == 0x1234
    assert found["threads"][0]["tid"] == victim.process.pid


def cut_anywhere(victim, core, folder):
    """Truncated at 50 lengths: all that is read is right, the rest is known to be missing."""
    told, size = victim.told, core.stat().st_size
    names = ["heap", "data", "stack", "touched3", "touched9"]
    places = [(told[n]["at"] + p, PAGE // 2) for n in names for p in range(0, told[n]["size"], PAGE // 2)]
    expected = [filled(told[n]["seed"], told[n]["size"])[p:p + PAGE // 2]
                for n in names for p in range(0, told[n]["size"], PAGE // 2)]
    whole, rng, short = facts(core, *places), random.Random(7), folder / "short"
    assert [bytes.fromhex(r) for r in whole["reads"]] == expected
    shutil.copyfile(core, short)
    for length in sorted((rng.randrange(64, size) for _ in range(50)), reverse=True):
        os.truncate(short, length)
        found = facts(short, *places)
        assert found["error"] == 0 and found["size"] == length, length
        assert found["whole"] == whole["whole"] or length < 8192, length
        assert found["cut"] or length < 8192 or len(found["threads"]) < len(whole["threads"]) or not found["exe"], length
        assert any("truncated" in d for d in found["doubts"])
        for got, right in zip(found["reads"], expected):
            assert got in ("missing", "nothing", "file") or bytes.fromhex(got) == right, length


def test_gcore_cut_anywhere(dumped_by_gdb, tmp_path):
    cut_anywhere(*dumped_by_gdb, tmp_path)


def test_kernel_cut_anywhere(dumped_by_kernel, tmp_path):
    cut_anywhere(*dumped_by_kernel, tmp_path)


def test_kernel_with_a_limit(tmp_path):
    """The kernel itself stops in the middle."""
    needs_plain_pattern()
    limit = 200 * 1024
    victim = Victim("cored", tmp_path, lambda: resource.setrlimit(resource.RLIMIT_CORE, (limit, limit)))
    assert victim.end(b"segv") == -11
    core = kernels_core(tmp_path)
    found = facts(core, (victim.told["data"]["at"], 3 * PAGE))
    assert found["error"] == 0 and found["size"] < found["whole"] and found["cut"] and found["missing"]
    assert bytes.fromhex(found["reads"][0]) == filled(2, 3 * PAGE)
    check_threads(victim, dict(found, maps=facts(core)["maps"]))


BUILD_ID = 3    # enum backing_proof


def check_backing(victim, core, folder):
    """Code is read from the file, once that is proved to be the same file."""
    program, main = victim.process.args[0], victim.told["main"]
    without = facts(core, (main, 64))
    mapping = next(m for m in without["maps"] if m["lo"] <= main < m["hi"])
    code = program.read_bytes()[mapping["offset"] + main - mapping["lo"]:][:64].hex()
    assert without["reads"] in (["file"], [code])       # gdb dumps code that follows an ELF header
    found = facts(core, (main, 64), option="--back")
    assert found["reads"] == [code]
    assert {f["path"]: f["proof"] for f in found["backing"]}[str(program)] == BUILD_ID
    copy = shutil.copy(program, folder / "moved")
    assert facts(core, (main, 64), option=f"--exe={copy}")["reads"] == [code]
    other = facts(core, (main, 64), option=f"--exe={VICTIMS / 'hot'}")
    assert other["reads"] == without["reads"]
    assert {f["path"]: f["why"] for f in other["backing"]}[str(program)].startswith("is another ")


def test_gcore_backing(dumped_by_gdb, tmp_path):
    check_backing(*dumped_by_gdb, tmp_path)


def test_kernel_backing(dumped_by_kernel, tmp_path):
    check_backing(*dumped_by_kernel, tmp_path)


@pytest.mark.parametrize("program", ["classes", "classes_stripped", "classes_static_stripped", "classes_nortti"])
def test_classes(program, tmp_path):
    """Each object is found with its class, whatever symbols there are; and nothing that only looks like an
    object."""
    victim = Victim(program, tmp_path)
    gcore(victim, tmp_path / "core")
    assert victim.end(b"end") == 0
    blocks = victim.told.values()
    found = facts(tmp_path / "core", *[b[:2] for b in blocks], option="--classes")
    assert [(name, cls or "") for name, cls in zip(victim.told, found["classes"])] == \
        [(name, block[2]) for name, block in victim.told.items()]


def test_classes_without_files(tmp_path):
    """Only symbols could identify the classes, and there are none: the result is no class, rather than a
    wrong one."""
    victim = Victim("classes_nortti", tmp_path)
    gcore(victim, tmp_path / "core")
    assert victim.end(b"end") == 0
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-o", stripped, VICTIMS / "classes_nortti"], timeout=LIMIT, check=True)
    blocks = {n: b for n, b in victim.told.items() if n != "stream"}
    # strip changes the ELF header, so only the build id can prove it
    done = subprocess.run([FACTS, "--classes", f"--exe={stripped}", tmp_path / "core",
                           *[str(n) for b in blocks.values() for n in b[:2]]], stdout=subprocess.PIPE, timeout=LIMIT, check=True)
    found = json.loads(done.stdout)
    assert {f["path"]: f["proof"] for f in found["backing"]}[str(VICTIMS / "classes_nortti")] == BUILD_ID
    assert found["classes"] == [None] * len(blocks)


def test_cut_while_it_is_scanned(tmp_path):
    """The scan blocks writing a message about a file that is gone, because its stderr is full; then its core
    is truncated."""
    if not shutil.which("gdb"):
        pytest.skip("no gdb")
    program, core = shutil.copy(VICTIMS / "cored", tmp_path / "gone"), tmp_path / "core"
    victim = Victim(program, tmp_path)
    gcore(victim, core)
    assert victim.end(b"end") == 0
    os.unlink(program)
    out, into = full_pipe()
    scan = subprocess.Popen([BUILD / "mmattach", "scan", "-v", "--core", core], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=into)
    os.close(into)
    wait_until(lambda: pathlib.Path(f"/proc/{scan.pid}/syscall").read_text().startswith("1 0x2 "))
    os.truncate(core, 8192)
    with open(out, "rb") as messages:
        text = messages.read().lstrip(b"x")
    assert b"gone: No such file or directory" in text
    assert b"cut short while it was read" in text, text
    assert scan.stdout.read() == b""
    scan.stdout.close()
    assert scan.wait(timeout=LIMIT) == 1


def test_compressed(dumped_by_gdb, tmp_path):
    _, core = dumped_by_gdb
    for program, suffix, word in (("zstd", "zst", "unzstd"), ("gzip", "gz", "gunzip"), ("xz", "xz", "unxz")):
        if not shutil.which(program):
            continue
        packed = tmp_path / f"core.{suffix}"
        with open(packed, "wb") as out:
            subprocess.run([program, "-1", "-c", core], stdout=out, stderr=subprocess.DEVNULL, timeout=LIMIT, check=True)
        found = facts(packed)
        assert found["error"] and found["why"].startswith("is compressed") and word in found["what_to_do"]


def test_no_core():
    found = facts("/bin/true")
    assert found["error"] and "not a core" in found["why"] and "--exe" in found["what_to_do"]
    assert facts("/bin")["why"] == "is no regular file"
    assert facts("/dev/null")["why"] == "is no regular file"
    assert facts("/nowhere")["why"] == "No such file or directory"
