# SPDX-License-Identifier: MIT
"""Suppressions work both ways: valgrind accepts those that we generate, and we accept those that valgrind
generates, for the same leak.

The stacks are those that a watch would see, without the allocator's own frame; the unit test of suppress
tests our side.
"""
import re
import shutil
import subprocess

import pytest

from test_unit import BUILD

PROGRAM = BUILD / "unit/test_suppress"
LEAKED = 9

C = r"""
#include <stdlib.h>
#include <string.h>
static void *volatile kept;
__attribute__((noipa)) static void session_open(int n) { kept = malloc(n); kept = calloc(n, 2); kept = strdup("a session"); kept = NULL; }
__attribute__((noipa)) static void serve(int n) { session_open(n); }
int main(void) { serve(100); return 0; }
"""

CXX = r"""
#include <string>
namespace shop {
struct Session { int n; __attribute__((noipa)) static Session *open(const std::string &); };
Session *volatile kept;
Session *Session::open(const std::string &) { return new Session; }
__attribute__((noipa)) static void serve(int n) { kept = Session::open(std::string(n, 'x')); kept = nullptr; }
}
int main() { shop::serve(100); return 0; }
"""

# Everything between serve() and the allocation is inlined: a constructor, methods, templates, a lambda.
INLINED = r"""
#include <cstdlib>
namespace shop {
struct Request { char *body; explicit Request(int n) : body(static_cast<char *>(std::malloc(n))) {} };
template <typename T> struct Pool {
    T make(int n) { return T(n); }
    template <typename U> U other(int n) { return U(n); }
};
namespace { struct Hidden { void *fill(int n) { return std::malloc(n); } }; }
void *volatile kept;
__attribute__((noipa)) void constructor(int n) { Request r(n); kept = r.body; kept = nullptr; }
__attribute__((noipa)) void method(int n) { Pool<Request> p; kept = p.make(n).body; kept = nullptr; }
__attribute__((noipa)) void generic(int n)
{
    Pool<Request> p;
    auto f = [&](int k) { return p.other<Request>(k); };
    kept = f(n).body;
    kept = nullptr;
}
__attribute__((noipa)) void hidden(int n) { Hidden h; kept = h.fill(n); kept = nullptr; }
}
int main(int argc, char **argv)
{
    int which = argc > 1 ? std::atoi(argv[1]) : 0;
    (which == 0 ? shop::constructor : which == 1 ? shop::method : which == 2 ? shop::generic : shop::hidden)(100);
    return 0;
}
"""

INLINED_STACKS = [
    ["inlined shop::Request::Request(int)=_ZN4shop7RequestC4Ei", "shop::constructor(int)=_ZN4shop11constructorEi"],
    ["inlined shop::Request::Request(int)=_ZN4shop7RequestC4Ei",
     "inlined shop::Pool<shop::Request>::make(int)=_ZN4shop4PoolINS_7RequestEE4makeEi", "shop::method(int)=_ZN4shop6methodEi"],
    ["inlined shop::Request::Request(int)=_ZN4shop7RequestC4Ei",
     "inlined shop::Request shop::Pool<shop::Request>::other<shop::Request>(int)=_ZN4shop4PoolINS_7RequestEE5otherIS1_EET_i",
     "inlined operator()", "shop::generic(int)=_ZN4shop7genericEi"],
    ["inlined fill", "shop::hidden(int)=_ZN4shop6hiddenEi"],
]

C_STACK = ["session_open", "serve", "main", "__libc_start_call_main", "_start"]
CXX_STACK = ["shop::Session::open(std::string const&)=_ZN4shop7Session4openERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
             "shop::serve(int)=_ZN4shopL5serveEi", "main", "__libc_start_call_main", "_start"]


def built(folder, compiler, name, text, optimize="-O1"):
    if not shutil.which("valgrind"):
        pytest.skip("optional: no valgrind")
    if not shutil.which(compiler):
        pytest.skip(f"optional: no {compiler}")
    source, program = folder / name, folder / "leaks"
    source.write_text(text)
    subprocess.run([compiler, "-g", optimize, "-o", program, source], check=True)
    return program


def valgrind(command, *options):
    """Its exit status and output."""
    run = subprocess.run(["valgrind", "--leak-check=full", f"--error-exitcode={LEAKED}", *options, *command],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    return run.returncode, run.stdout.decode(errors="replace")


def generate(stack):
    return subprocess.run([PROGRAM, "generate", "leak", *stack], stdout=subprocess.PIPE, check=True, text=True).stdout


def matches(path, stack):
    return subprocess.run([PROGRAM, "matches", "leak", path, *stack], check=False).returncode == 0


def both_ways(folder, command, stack):
    status, said = valgrind(command)
    assert status == LEAKED, said

    ours = folder / "ours.supp"
    ours.write_text(generate(stack))
    status, said = valgrind(command, f"--suppressions={ours}", "-v")
    assert status == 0, f"{ours.read_text()}\n{said}"
    assert re.search(r"used_suppression: +\d+ leak 1 .*ours.supp:2", said), said
    assert matches(ours, stack)

    other = folder / "other.supp"
    other.write_text(generate(["other", *stack[1:]]))
    status, said = valgrind(command, f"--suppressions={other}")
    assert status == LEAKED, "an entry for another stack was used"
    assert not matches(other, stack)


def theirs(folder, command):
    """A file with the suppressions that valgrind generates for its own report."""
    said = valgrind(command, "--gen-suppressions=all")[1]
    entries = re.findall(r"^\{\n.*?^\}\n", said, re.M | re.S)
    assert entries, said
    path = folder / "theirs.supp"
    path.write_text("".join(entries))
    return path


def test_c(tmp_path):
    program = built(tmp_path, "gcc", "leaks.c", C)
    both_ways(tmp_path, [program], C_STACK)
    path = theirs(tmp_path, [program])
    assert matches(path, C_STACK)
    assert matches(path, ["strdup", *C_STACK])
    assert not matches(path, C_STACK[1:])


def test_cxx(tmp_path):
    program = built(tmp_path, "g++", "leaks.cc", CXX)
    both_ways(tmp_path, [program], ["operator new(unsigned long)=_Znwm", *CXX_STACK])
    path = theirs(tmp_path, [program])
    assert matches(path, ["operator new(unsigned long)=_Znwm", *CXX_STACK])
    assert not matches(path, ["operator new(unsigned long)=_Znwm", *CXX_STACK[1:]])


@pytest.mark.parametrize("which", range(len(INLINED_STACKS)))
def test_inlined(tmp_path, which):
    """Valgrind names an inlined function as DWARF does, without scopes and arguments."""
    program = built(tmp_path, "g++", "leaks.cc", INLINED, "-O2")
    both_ways(tmp_path, [program, str(which)], [*INLINED_STACKS[which], "main"])
    path = theirs(tmp_path, [program, str(which)])
    inner, *outer = INLINED_STACKS[which]
    assert matches(path, [inner, *outer, "main"])
    assert not matches(path, ["inlined shop::Reply::Reply(int)=_ZN4shop5ReplyC4Ei", *outer, "main"])
