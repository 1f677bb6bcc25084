# SPDX-License-Identifier: MIT
"""callsites, compared with objdump on programs and libraries as distributions ship them.

tests/tools/callsites finds the calls of allocators in a file; objdump disassembles the same file from one
symbol, or one section, to the next. A call that we find and objdump does not would put a trap inside an
instruction: there must be none. Calls that we miss are counted. The lengths of instructions are compared with
objdump's one by one.
"""
import collections
import os
import pathlib
import re
import shutil
import subprocess

import pytest

TOP = pathlib.Path(__file__).parent.parent
BUILD = TOP / os.environ.get("MM_BUILD", "build/release")
TOOL = BUILD / "tools/callsites"

ALLOCATORS = ["malloc", "calloc", "realloc", "memalign", "posix_memalign", "aligned_alloc", "strdup", "_Znwm", "_Znam",
              "_ZnwmRKSt9nothrow_t", "xmalloc", "xcalloc", "xrealloc", "__gf_malloc", "__gf_calloc", "PyObject_Malloc", "PyMem_Malloc",
              "CRYPTO_malloc", "CRYPTO_zalloc"]
LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")
FILES = [pathlib.Path("/usr/bin/python3"), LIBRARIES / "libstdc++.so.6", LIBRARIES / "libc.so.6",
         LIBRARIES / "libglusterfs.so.0", pathlib.Path("/usr/lib/openvswitch-switch/ovs-vswitchd"),
         TOP / "build/victims/sampled", TOP / "build/victims/hot_static"]
if os.environ.get("MM_FULL"):  # objdump takes minutes for these
    FILES += [pathlib.Path("/usr/bin/gdb"), LIBRARIES / "libcrypto.so.3"]
MISSING = 0.001  # of objdump's calls: code where nothing marks a function

INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t((?:[0-9a-f]{2} )+) *\t?(.*)$")
DIRECT = re.compile(r"^(?:\S+ )*call +(?:0x)?([0-9a-f]+)\b(?: <(.*)>)?")
JUMP = re.compile(r"^(?:\S+ )*j[a-z]+ +(?:0x)?([0-9a-f]+)\b(?: <(.*)>)?")
INDIRECT = re.compile(r"^(?:\S+ )*(call|jmp) +\*.*\(%rip\) +# ([0-9a-f]+)")

# objdump's output for data: prefixes without an instruction; fwait is an instruction that it joins to the
# next one.
NO_INSTRUCTION = re.compile(r"^(?:[cdefgs]s|addr32|data16|lock|repn?z|rex[.WRXB]*| )+$|^\.byte|\(bad\)")

Listing = collections.namedtuple("Listing", "calls jumps starts encodings")


def output(*argv):
    return subprocess.run([str(a) for a in argv], capture_output=True, text=True, check=True, timeout=300).stdout


def defined(path):
    """The addresses of the file's own allocators, by name."""
    found = {}
    for table in (["-D"], []):
        for line in subprocess.run(["nm", *table, path], capture_output=True, text=True).stdout.splitlines():
            words = line.split()
            name = words[2].partition("@")[0] if len(words) == 3 else None
            if name in ALLOCATORS and words[1] in "TtWi":
                found.setdefault(name, int(words[0], 16))
    return found


def slots(path):
    """The slots of the global offset table that refer to an allocator."""
    found = {}
    for line in subprocess.run(["objdump", "-R", path], capture_output=True, text=True).stdout.splitlines():
        words = line.split()
        if len(words) == 3 and words[1] in ("R_X86_64_JUMP_SLOT", "R_X86_64_GLOB_DAT"):
            name = words[2].partition("@")[0].partition("+")[0]
            if name in ALLOCATORS:
                found[int(words[0], 16)] = name
    return found


def leads_to(text, addresses, held, pattern, word):
    """The allocator that an instruction calls or jumps to, or None."""
    there = INDIRECT.match(text)
    if there:
        return held.get(int(there[2], 16)) if there[1] == word else None
    there = pattern.match(text)
    if not there:
        return None
    stub = (there[2] or "").partition("@plt")
    if stub[1] and not stub[2] and stub[0] in ALLOCATORS:
        return stub[0]
    return addresses.get(int(there[1], 16))


def disassembled(path):
    """objdump's result: {return address: allocator}, {end of a jump: allocator}, and every encoding."""
    addresses, held = {at: name for name, at in defined(path).items()}, slots(path)
    listing = Listing({}, {}, set(), set())
    with subprocess.Popen(["objdump", "-dw", path], stdout=subprocess.PIPE, text=True) as run:
        for line in run.stdout:
            m = INSTRUCTION.match(line)
            if not m:
                continue
            at, code, text = int(m[1], 16), m[2].replace(" ", ""), m[3]
            listing.starts.add(at)
            if not NO_INSTRUCTION.search(text) and not code.startswith("9b"):
                listing.encodings.add(code)
            if re.match(r"(\S+ )*call ", text):
                name = leads_to(text, addresses, held, DIRECT, "call")
                if name:
                    listing.calls[at + len(code) // 2] = name
            elif re.match(r"(\S+ )*j[a-z]+ ", text):
                name = leads_to(text, addresses, held, JUMP, "jmp")
                if name:
                    listing.jumps[at + len(code) // 2] = name
    return listing


def found(path):
    """Our result: ({return address: (allocator, joined)}, {end of a jump: allocator}, unsure,
    milliseconds)."""
    own = defined(path)
    targets = [f"{name}={own[name]:x}" if name in own else name for name in ALLOCATORS]
    *lines, last = output(TOOL, path, *targets).splitlines()
    calls, jumps = {}, {}
    for line in lines:
        what, ret, _, target, joined = line.split()
        if what == "call":
            calls[int(ret, 16)] = (ALLOCATORS[int(target)], joined == "1")
        else:
            jumps[int(ret, 16)] = ALLOCATORS[int(target)]
    return calls, jumps, int(last.split()[1]), float(last.split()[3])


@pytest.fixture(scope="module", params=FILES, ids=lambda p: p.name)
def pair(request):
    path = request.param.resolve()
    if not path.exists() or not shutil.which("objdump"):
        pytest.skip(f"no {path}" if shutil.which("objdump") else "no objdump")
    return disassembled(path), found(path)


def test_no_call_that_is_none(pair):
    listing, (calls, *_) = pair
    assert {ret: name for ret, (name, _) in calls.items() if listing.calls.get(ret) != name} == {}
    assert set(calls) <= listing.starts


def test_hardly_a_call_missed(pair):
    listing, (calls, _, unsure, _) = pair
    missed = set(listing.calls) - set(calls)
    assert len(missed) <= MISSING * len(listing.calls), sorted(map(hex, missed))
    assert unsure <= len(missed) + 1  # candidates that cannot be shown to be calls are counted
    assert calls


def test_tails_are_jumps(pair):
    """Each jump of a stub that we find is one of objdump's."""
    listing, (_, jumps, *_) = pair
    assert {ret: name for ret, name in jumps.items() if listing.jumps.get(ret) != name} == {}


def test_quick(pair):
    """Processor time, including reading the file's tables: a service has some hundred files, and they are
    processed while it runs."""
    assert pair[1][3] < 500


def test_lengths(pair):
    """Other bytes after an instruction do not change its length; refused instructions are rare."""
    encodings = sorted(pair[0].encodings)
    said = subprocess.run([TOOL, "-l"], input="".join(f"{code}{'c3909090' * 4}\n" for code in encodings), capture_output=True, text=True,
                          check=True).stdout.split()
    wrong = [(code, int(n)) for code, n in zip(encodings, said) if int(n) not in (0, len(code) // 2)]
    refused = [code for code, n in zip(encodings, said) if n == "0"]
    assert wrong == []
    assert len(refused) <= MISSING * len(encodings), refused[:50]


# The ways compilers and linkers make calls: lazily, at once, with stubs for tracked branches, without stubs,
# by address...
WAYS = ["-O2", "-O2 -Wl,-z,lazy", "-O2 -fcf-protection=full -Wl,-z,ibtplt", "-O2 -fcf-protection=full -Wl,-z,ibtplt,-z,now",
        "-O2 -Wl,-z,bndplt", "-O2 -fno-plt", "-O2 -no-pie", "-O2 -no-pie -fno-plt", "-O2 -static", "-O2 -static-pie", "-O0", "-Os", "-O2 -flto",
        "-O2 -fno-asynchronous-unwind-tables -fno-exceptions"]


@pytest.fixture(scope="module")
def compiler():
    if not shutil.which("cc") or not shutil.which("nm"):
        pytest.skip("no cc, or no nm")
    return lambda out, *options: subprocess.run(["cc", "-g", "-pthread", *options, TOP / "tests/victims/sampled.c", "-o", out], check=True, timeout=60)


def sites_of(program, symbols):
    """The allocator that each function site_NAME of the victim calls: {its name: allocator}."""
    names = ["malloc", "calloc", "realloc", "victim_alloc", "victim_alloc_jump"]
    *lines, last = output(TOOL, program, *(f"{name}={symbols[name]}" if name in symbols else name for name in names)).splitlines()
    there = {int(line.split()[2], 16): names[int(line.split()[3])] for line in lines if line.startswith("call")}
    return {name: there.get(int(at, 16)) for name, at in symbols.items() if name.startswith("site_")}, int(last.split()[1])


def symbols_of(program):
    return {line.split()[2]: line.split()[0] for line in output("nm", program).splitlines() if len(line.split()) == 3}


@pytest.mark.parametrize("way", WAYS)
def test_ways_of_calling(way, compiler, tmp_path):
    program = tmp_path / "sampled"
    compiler(program, *way.split())
    called, unsure = sites_of(program, symbols_of(program))
    assert len(called) == 54 and None not in called.values() and unsure == 0
    assert called["site_parse_line"] == "malloc" and called["site_array_bytes"] == "realloc" and called["site_wrapped_key"] == "victim_alloc"
    assert called["site_leak_wrapped"] == "victim_alloc_jump"


def test_nothing_says_where_functions_are(compiler, tmp_path):
    """Without FDE and symbol a call is counted, but gives no site."""
    program = tmp_path / "sampled"
    compiler(program, "-O2", "-fno-asynchronous-unwind-tables", "-fno-exceptions")
    symbols = symbols_of(program)
    subprocess.run(["strip", program], check=True)
    called, unsure = sites_of(program, {name: at for name, at in symbols.items() if name.startswith("site_")})
    assert set(called.values()) == {None}
    assert unsure >= 47  # the functions that call malloc, calloc and realloc themselves
