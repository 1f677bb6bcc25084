# SPDX-License-Identifier: MIT
"""The cost of names: 20,000 addresses of a file with 200 MB of debug information, compared with eu-addr2line.

The file is made once (build/bench/names): a few large C++ units, each linked many times under other symbol
names, because compiling as many different ones would take a quarter of an hour. It is never run. eu-addr2line
gets only the first addresses of a shuffled list: for all it would take minutes.
"""
import bisect
import os
import pathlib
import random
import re
import subprocess
import sys
import time

TOP = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(TOP / "tests"))
import addr2line as oracle  # noqa: E402  it knows eu-addr2line's output, and where it is wrong

FOLDER = TOP / "build/bench/names"
UNITS, COPIES = 6, 22
WANTED_MB = 200
ADDRESSES = 20000
FOR_EU = 300

UNIT = r"""
#include <algorithm>
#include <deque>
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <unordered_map>
#include <vector>
namespace nNUMBER {
struct Item { int a; std::string s; bool operator<(const Item &o) const { return a < o.a; } };
template <int N> struct Shelf {
	std::map<int, std::vector<Item>> m;
	std::unordered_map<std::string, std::deque<Item>> h;
	int f(const std::string &x)
	{
		std::regex r(x);
		std::smatch sm;
		for (auto &p : m) {
			std::sort(p.second.begin(), p.second.end());
			h[x + std::to_string(N)].push_back(p.second.front());
			if (std::regex_search(p.second.front().s, sm, r))
				return N;
		}
		return (int)std::set<Item>(m[N].begin(), m[N].end()).size();
	}
};
int run(const std::string &x)
{
	std::ostringstream o;
	int s = Shelf<1>().f(x) + Shelf<2>().f(x) + Shelf<3>().f(x);
	auto f = std::async([&] { std::mt19937_64 g(s); std::normal_distribution<> d; return d(g); });
	std::vector<std::function<int(int)>> v;
	o << f.get();
	for (int k = 0; k < 4; k++)
		v.push_back([k, &s](int z) { return z * k + s; });
	for (auto &c : v)
		s = c(s);
	return s + (int)o.str().size();
}
}
"""


def make_copies(number):
    source, unit = FOLDER / f"u{number}.cc", FOLDER / f"u{number}.o"
    source.write_text(UNIT.replace("NUMBER", str(number)))
    subprocess.run(["g++", "-O2", "-g", "-fPIC", "-c", source.name, "-o", unit], check=True, cwd=FOLDER)
    for copy in range(COPIES):
        subprocess.run(["objcopy", f"--prefix-symbols=c{copy}_{number}_", "--remove-section=.group", unit,
                        FOLDER / f"u{number}_{copy}.o"], check=True)


def large_file():
    """The path of the file, which is made if it does not exist."""
    path = FOLDER / "large.so"
    if path.exists():
        return path
    FOLDER.mkdir(parents=True, exist_ok=True)
    for number in range(UNITS):
        make_copies(number)
    copies = [(number, copy) for number in range(UNITS) for copy in range(COPIES)]
    # the one symbol that must not be undefined in a shared object
    handles = [f"-Wl,--defsym,c{copy}_{number}___dso_handle=0" for number, copy in copies]
    subprocess.run([
        "gcc", "-shared", "-nostdlib", "-Wl,--unresolved-symbols=ignore-all,-z,notext", *handles, "-o",
        "large.tmp", *(f"u{number}_{copy}.o" for number, copy in copies)
    ], check=True, cwd=FOLDER, stderr=subprocess.DEVNULL)
    (FOLDER / "large.tmp").rename(path)
    for part in FOLDER.glob("u*"):
        part.unlink()
    return path


def debug_mb(path):
    sections = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    return sum(int(size, 16)
               for size in re.findall(r" \.debug_\w+\s+PROGBITS\s+\w+ \w+ (\w+)", sections)) / 1e6


def addresses(path):
    """ADDRESSES addresses, shuffled, distributed in proportion to the functions' sizes."""
    symbols = subprocess.run(["nm", "-S", "--defined-only", path], capture_output=True, text=True,
                             check=True).stdout
    functions = [(int(at, 16), int(size, 16))
                 for at, size in re.findall(r"^(\w+) (\w+) [tTwW] ", symbols, re.M)]
    ends, total = [], 0
    for _, size in functions:
        total += size
        ends.append(total)
    some, found = random.Random(2), set()
    while len(found) < ADDRESSES:
        i = bisect.bisect_right(ends, some.randrange(total))
        found.add(functions[i][0] + some.randrange(functions[i][1]))
    found = sorted(found)
    some.shuffle(found)
    return found


def ours(path, addrs):
    """(answers, seconds, peak MB of the largest process)."""
    asked = FOLDER / "addresses"
    asked.write_text("".join(f"{a:#x}\n" for a in addrs))
    answers, began = {}, time.monotonic()
    with asked.open() as stdin, (FOLDER / "answers").open("w") as stdout:
        process = subprocess.Popen([oracle.PRINT, "print", path, "-"], stdin=stdin, stdout=stdout,
                                   stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - began
    for line in (FOLDER / "answers").read_text().splitlines():
        addr, *fields = line.split("\t")
        answers[int(addr, 16)] = [(fields[i], fields[i + 1], int(fields[i + 2]))
                                  for i in range(0, len(fields), 3)]
    return answers, seconds, usage.ru_maxrss / 1024


def differing(mine, theirs):
    """How many of @theirs are neither the same nor an exception that tests/test_addr2line.py explains."""
    def explained(frames, eu):
        return (frames == eu[0] or oracle.is_row(frames, *eu) or oracle.is_gap(frames, eu[0])
                or oracle.is_bare(frames, eu[0]))

    return sum(not explained(mine[a], theirs[a]) for a in theirs)


def measure(plan):
    """The rows of the table, as keyword arguments of run.py's Row."""
    path = large_file()
    addrs = addresses(path)
    rounds = [ours(path, addrs) for _ in range(plan.rounds)]
    began = time.monotonic()
    theirs = oracle.eu(path, addrs[:FOR_EU])
    eu_seconds = (time.monotonic() - began) * ADDRESSES / FOR_EU
    return [{
        "name": "names/MB", "what": "debug information of the file", "unit": "MB", "values": [debug_mb(path)],
        "at_least": WANTED_MB
    }, {
        "name": "names/s", "what": f"{ADDRESSES} addresses: names", "unit": "s",
        "values": [r[1] for r in rounds], "at_most": 10
    }, {
        "name": "names/rss", "what": "the same: memory", "unit": "MB", "values": [r[2] for r in rounds],
        "at_most": 900
    }, {
        "name": "names/eu", "what": f"eu-addr2line, as for {ADDRESSES} / ours",
        "values": [eu_seconds / r[1] for r in rounds]
    }, {
        "name": "names/diff", "what": f"of {FOR_EU}: answers that differ from it",
        "values": [differing(rounds[0][0], theirs)], "at_most": 0
    }]
