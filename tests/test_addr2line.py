# SPDX-License-Identifier: MIT
"""Names of thousands of addresses, compared with eu-addr2line -i -f -C: functions, files, lines, inlined
functions.

Ours come from `test_names print FILE` (tests/unit/symbolize/test_names.c). Every address must get the same
answer, with these exceptions:

  row     eu-addr2line looks up the inlined functions (-i) at the address where the line's row begins, not at
          the requested address (it lets dwfl_lineinfo overwrite it). Then the first function, its position,
          and where it was called, which it prints first, must be ours; and this is allowed for few addresses.
  gap     in the padding after a unit's code eu-addr2line repeats the unit's last line. We give no answer.
  bare    for a function that no other file can name (a lambda's) the debug information has only the bare
          name; we use the symbol, which has the full name.
  unseen  eu-addr2line misses some inlined functions, or all debug information: libdw's dwarf_getscopes
          gives up if the inlined function's origin is in another unit (LTO), or if the function itself is in
          a namespace (all of Rust), and without .debug_aranges (clang) it finds no unit. Then
          llvm-symbolizer must give the same answer as we. It takes the outermost name from the symbol table
          (so: with parameters), and invents a file where there is no line.

Rust's names are demangled by c++filt for that. Files are built here; a missing tool skips its part.
"""
import os
import pathlib
import random
import re
import shutil
import subprocess

import pytest

from addr2line import (PRINT, TOP, blocks, eu, is_bare, is_gap, is_row, is_same_function, name, place, run, text_of)

LIBC = pathlib.Path("/lib/x86_64-linux-gnu/libc.so.6")
ADDRESSES = 1500 if os.environ.get("MM_FULL") else 500
FEW = 0.05    # this share of the addresses may be row, and as many gap

# Parts of Rust's names that c++filt prints and we do not.
CRATE_HASH = r"\[[0-9a-f]+\](?=[:>, )]|$)"
FUNCTION_HASH = r"::h[0-9a-f]{16}(?!\w)"
CONSTANT_TYPE = r"(?<=[\w']): (?:bool|char|[iu](?:8|16|32|64|128|size))(?=[],>])"

CXX = r"""
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>
namespace shop {
struct Item { std::string name; int price; };
template <typename T> struct Shelf {
	std::map<std::string, std::vector<T>> items;
	void put(T item) { items[item.name].push_back(std::move(item)); }
	template <typename F> int sum(F f) const
	{
		int n = 0;
		for (auto &p : items) for (auto &i : p.second) n += f(i);
		return n;
	}
	~Shelf() { puts("closed"); }
};
namespace { int cheap(const Item &i) { return i.price < 50 ? i.price : 0; } }
struct Visitor { virtual ~Visitor() {} virtual int visit(const Item &) = 0; };
struct Doubler : Visitor { int visit(const Item &i) override { return 2 * i.price; } };
}
static int run(int n)
{
	shop::Shelf<shop::Item> shelf;
	auto v = std::make_unique<shop::Doubler>();
	for (int i = 0; i < n; i++) shelf.put({ "item" + std::to_string(i % 7), i });
	std::function<int(const shop::Item &)> f = [&](const shop::Item &i) { return v->visit(i) + n; };
	std::vector<int> sums { shelf.sum(shop::cheap), shelf.sum(f), shelf.sum([](const shop::Item &i) { return i.price; }) };
	std::sort(sums.begin(), sums.end());
	try { return sums.at((unsigned)n); } catch (const std::exception &e) { puts(e.what()); }
	return sums[0];
}
int main(int argc, char **) { printf("%d\n", run(argc * 10)); return 0; }
"""

RUST = r"""
use std::collections::HashMap;
mod shapes {
    pub trait Area { fn area(&self) -> f64; }
    pub struct Square<T>(pub T);
    impl Area for Square<f64> { #[inline(never)] fn area(&self) -> f64 { self.0 * self.0 } }
    impl<T: std::fmt::Debug> Square<T> { pub fn show(&self) -> String { format!("{:?}", self.0) } }
}
use shapes::Area;
fn main() {
    let mut m: HashMap<String, Vec<u64>> = HashMap::new();
    for i in 0..100u64 { m.entry(format!("k{}", i % 7)).or_default().push(i * i); }
    let mut v: Vec<_> = m.into_iter().map(|(k, v)| (k, v.iter().sum::<u64>())).collect();
    v.sort();
    println!("{:?} {} {}", v, shapes::Square(2.0).area(), shapes::Square("x").show());
}
"""


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            pytest.skip(f"{'optional: ' if tool == 'rustc' else ''}no {tool} here")


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A folder with the sources."""
    folder = tmp_path_factory.mktemp("names")
    (folder / "shop.cc").write_text(CXX)
    (folder / "square.rs").write_text(RUST)
    return folder


def compiled(folder, name, compiler, *flags):
    need(compiler)
    source = "square.rs" if compiler == "rustc" else "shop.cc"
    try:
        run(compiler, *flags, "-g", source, "-o", name, cwd=folder)
    except subprocess.CalledProcessError as e:
        pytest.skip(f"{compiler} {' '.join(flags)}: {e.stderr[:200]}")
    return folder / name


def addresses(path):
    """Some addresses in .text, the same in every run."""
    for line in run("readelf", "-SW", path).splitlines():
        match = re.search(r"\] \.text\s+PROGBITS\s+(\w+)\s+\w+\s+(\w+)", line)
        if match:
            start, size = int(match[1], 16), int(match[2], 16)
            some = random.Random(1)
            return sorted({start + some.randrange(size) for _ in range(ADDRESSES)})
    raise AssertionError(f"no .text in {path}")


def ours(path, addrs, root="-", *more, **environment):
    """For each address: [(function, file, line), ...], innermost first."""
    answers = {}
    output = run(PRINT, "print", path, root, *more, input=text_of(addrs), env={**os.environ, **environment})
    for line in output.splitlines():
        addr, *fields = line.split("\t")
        answers[int(addr, 16)] = [(fields[i], fields[i + 1], int(fields[i + 2])) for i in range(0, len(fields), 3)]
    return answers


def decoded(text):
    """The names in TEXT, by c++filt."""
    return re.sub("|".join([CRATE_HASH, FUNCTION_HASH, CONSTANT_TYPE]), "", run("c++filt", input=text), flags=re.M)


def llvm(path, addrs):
    """The same form as ours, with linkage names demangled by c++filt."""
    need("llvm-symbolizer", "c++filt")
    output = decoded(run("llvm-symbolizer", "-a", "-i", "-f=linkage", "--no-demangle", "--output-style=GNU", "-e", path,
                         input=text_of(addrs)))
    found = blocks(re.sub(r" \(discriminator \d+\)", "", output).replace(":?", ":0"))
    return {addr: [(name(f), *place(p)) for f, p in zip(lines[::2], lines[1::2])] for addr, lines in found.items()}


def aliases(path):
    """Pairs of names of one function: compilers merge functions with the same code."""
    names_at = {}
    for line in decoded(run("nm", path)).splitlines():
        addr, _, name_there = line.partition(" ")
        names_at.setdefault(addr, set()).add(name_there[2:])
    return {(a, b) for names in names_at.values() for a in names for b in names}


def is_as_llvm(frames, theirs, folded=frozenset()):
    """The exception `unseen`."""
    if len(frames) != len(theirs) or [f[0] for f in frames[:-1]] != [t[0] for t in theirs[:-1]]:
        return False
    last = frames[-1][0], theirs[-1][0]
    if not is_same_function(*last) and last not in folded:
        return False
    return [f[1:] for f in frames] == [t[1:] for t in theirs] or (frames[0][1] == "?" and theirs[0][2] == 0)


def compare(path, unseen=False, root="-", addrs=None):
    addrs = addrs or addresses(path)
    mine, theirs = ours(path, addrs, root), eu(path, addrs)
    assert sorted(mine) == addrs
    left = [a for a in addrs if mine[a] != theirs[a][0] and not is_bare(mine[a], theirs[a][0])]
    rows = {a for a in left if is_row(mine[a], *theirs[a])}
    gaps = {a for a in left if is_gap(mine[a], theirs[a][0])}
    others = [a for a in left if a not in rows | gaps]
    assert len(rows) <= FEW * len(addrs) and len(gaps) <= FEW * len(addrs)
    if others and unseen:
        second = llvm(path, others)
        others = [a for a in others if not is_as_llvm(mine[a], second[a])]
    assert not others, "\n".join(f"{a:#x}\n  ours {mine[a]}\n  eu   {theirs[a][0]}" for a in others[:5])
    return mine


def share_inlined(answers):
    return sum(len(a) > 1 for a in answers.values()) / len(answers)


@pytest.fixture(autouse=True)
def tools():
    need("eu-addr2line", "readelf")
    assert PRINT.exists(), f"{PRINT} is not built: make units"


@pytest.mark.parametrize("path", ["build/victims/exact", "build/victims/leaky_service", "build/victims/hot_static"])
def test_victims(path):
    if not (TOP / path).exists():
        pytest.fail(f"{path} is not built: make victims")
    compare(TOP / path)


def test_inlined_are_there():
    assert share_inlined(ours(TOP / "build/victims/exact", addresses(TOP / "build/victims/exact"))) > 0.3


def test_libc():
    """Functions; files and lines too if its debug file is installed (libc6-dbg)."""
    if not LIBC.exists():
        pytest.skip(f"no {LIBC} here")
    compare(LIBC)


@pytest.mark.parametrize("flags", ["-O2", "-O0", "-Os -gdwarf-4", "-O3 -gz", "-O2 -gdwarf-3", "-O2 -fdebug-types-section",
                                   "-O2 -ffunction-sections -Wl,--gc-sections"])
def test_gcc(here, flags):
    compare(compiled(here, "gcc" + flags.replace(" ", ""), "g++", *flags.split()))


def test_lto(here):
    answers = compare(compiled(here, "lto", "g++", "-O2", "-flto"), unseen=True)
    assert share_inlined(answers) > 0.3


def test_split(here):
    """The .dwo is not opened: lines are in the file itself, functions come from its symbols. eu-addr2line
    gives the same."""
    path = compiled(here, "split", "g++", "-O2", "-gsplit-dwarf")
    for dwo in here.glob("*.dwo"):
        dwo.unlink()
    compare(path)


@pytest.mark.parametrize("flags", ["-O2 -gdwarf-aranges", "-O2", "-O1 -gdwarf-4"])
def test_clang(here, flags):
    path = compiled(here, "clang" + flags.replace(" ", ""), "clang++", *flags.split())
    answers = compare(path, unseen="-gdwarf-aranges" not in flags)
    assert share_inlined(answers) > 0.1


@pytest.mark.parametrize("flags", [(), ("-Csymbol-mangling-version=v0",)], ids=["default", "v0"])
def test_rust(here, flags):
    need("llvm-symbolizer", "c++filt")
    path = compiled(here, "rust" + "".join(flags), "rustc", "-O", *flags)
    addrs = addresses(path)
    mine, theirs, folded = ours(path, addrs), llvm(path, addrs), aliases(path)
    differ = [a for a in addrs if mine[a][0][0] != "?" and not is_as_llvm(mine[a], theirs[a], folded)]
    assert not differ, "\n".join(f"{a:#x}\n  ours {mine[a]}\n  llvm {theirs[a]}" for a in differ[:5])
    assert share_inlined(mine) > 0.1


def build_id_path(path):
    build_id = re.search(r"Build ID: (\w+)", run("readelf", "-n", path))[1]
    return f"usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"


def lay(root, name_there, path):
    """Copy PATH below ROOT."""
    there = root / name_there
    there.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, there)
    return there


def test_dwz(here, tmp_path):
    """Partial units within one file."""
    need("dwz")
    path = compiled(here, "dwz", "g++", "-O2", "-gdwarf-4")
    run("dwz", path)
    compare(path)


def test_dwz_common(here, tmp_path):
    """What dwz moved out of two files, found by its build-id."""
    need("dwz")
    shutil.copy(here / "shop.cc", tmp_path)
    first, second = (compiled(tmp_path, n, "g++", "-O2", "-gdwarf-4") for n in ("first", "second"))
    before = ours(first, addresses(first))
    run("dwz", "-m", tmp_path / "common", first, second)
    root = tmp_path / "root"
    lay(root, build_id_path(tmp_path / "common"), tmp_path / "common")
    compare(first, root=root)
    assert ours(first, addresses(first), root) == before
    assert ours(first, addresses(first)) != before, "nothing was moved out"


@pytest.fixture(scope="module")
def stripped(here):
    """(whole file, stripped file, its debug file)"""
    need("objcopy")
    whole = compiled(here, "whole", "g++", "-O2", "-Wl,--build-id=sha1")
    debug, without = here / "whole.debug", here / "without"
    run("objcopy", "--only-keep-debug", whole, debug)
    run("objcopy", "-g", "--strip-all", f"--add-gnu-debuglink={debug}", whole, without)
    return whole, without, debug


def test_debug_file_by_build_id(stripped, tmp_path):
    whole, without, debug = stripped
    lay(tmp_path, build_id_path(whole), debug)
    assert ours(without, addresses(whole), tmp_path) == ours(whole, addresses(whole))


def test_debug_file_of_another_build(stripped, tmp_path, here):
    """It has the right name, but another build-id than the file: it must not be used."""
    whole, without, _ = stripped
    other = compiled(here, "other", "g++", "-O0", "-Wl,--build-id=sha1")
    lay(tmp_path, build_id_path(whole), other)
    (tmp_path / "empty").mkdir()
    nothing = ours(without, addresses(whole), tmp_path / "empty")
    assert ours(without, addresses(whole), tmp_path) == nothing


@pytest.mark.parametrize("folder", ["{}", "{}/.debug", "usr/lib/debug/{}"])
def test_debug_file_by_link(stripped, tmp_path, folder):
    whole, without, debug = stripped
    lay(tmp_path, folder.format(str(without.parent).lstrip("/")) + "/whole.debug", debug)
    hidden = debug.rename(debug.with_suffix(".hidden"))
    try:
        assert ours(without, addresses(whole), tmp_path) == ours(whole, addresses(whole))
    finally:
        hidden.rename(debug)


def test_debuginfod(stripped, tmp_path):
    """Used only on request, and only a file with the right build-id."""
    whole, without, debug = stripped
    find, mark = tmp_path / "debuginfod-find", tmp_path / "was-run"
    find.write_text(f"""#!/bin/sh\necho "$@" >> {mark}\necho {debug}\n""")
    find.chmod(0o755)
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    (tmp_path / "empty").mkdir()
    alone = shutil.copy(without, tmp_path / "alone")
    addrs, named = addresses(whole), ours(whole, addresses(whole))
    assert ours(alone, addrs, tmp_path / "empty", **path) != named
    assert not mark.exists()
    assert ours(alone, addrs, tmp_path / "empty", "debuginfod", **path) == named
    assert mark.read_text() == f"debuginfo {re.search('Build ID: (.*)', run('readelf', '-n', whole))[1]}\n"
    find.write_text(f"#!/bin/sh\necho {whole.parent}/lto\n")
    assert ours(alone, addrs, tmp_path / "empty", "debuginfod", **path) != named


def test_minidebug(here, tmp_path):
    """Static functions of a stripped file, from .gnu_debugdata."""
    need("objcopy", "xz")
    whole = compiled(here, "mini", "g++", "-O1", "-fno-inline")
    symbols = tmp_path / "mini.symbols"
    run("objcopy", "-S", "--remove-section=.comment", whole, tmp_path / "stripped")
    run("objcopy", "--only-keep-debug", "--strip-debug", whole, symbols)
    run("xz", "--check=crc32", symbols)
    run("objcopy", f"--add-section=.gnu_debugdata={symbols}.xz", tmp_path / "stripped")
    answers = compare(tmp_path / "stripped", addrs=addresses(whole))
    assert any("run(int)" in frames[0][0] for frames in answers.values())
