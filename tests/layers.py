#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""layers: which folder may include which, and that there are no circles.

    base <- trace <- symbolize <- report          never includes attach
    base <- symbolize <- heap                     a process' memory, or a core's: no attaching
    base <- attach/keeper                         the tracer includes nothing else
    all of these <- attach

Within report the model knows no format: each format has a folder, report/text, json, csv, folded, pprof
and others, and is built from the model. Within attach the folders are in the order of the table: each includes those before it,
as far as it needs them.

Every #include "..." is by path from the top and names a file that exists. Headers do not include each other
in a circle, and no two of them have the same include guard. Files (a .c with its header) do not call each
other in a circle. Calls are read from the objects, so they are checked only if OBJECTS is given. Prints a line for each breach and exits 1.

    layers.py [TOP [OBJECTS]]       OBJECTS: the folder of a variant, build/release
"""
import fnmatch
import pathlib
import re
import subprocess
import sys

SYMBOLIZE = "symbolize symbolize/*"
HEAP = "heap heap/*"
KEEPER = "attach/keeper attach/keeper/*"
SHARED = "attach/keeper/shared attach/keeper/traps/emulate.h"     # interface of controller and keeper
MODEL = "base trace report/sampling report/ledger report/ledger/merged report/model"
FORMAT = f"{MODEL} report/words report/names report/query report/diff report/export report/formats.h"

# What each folder may include besides itself: folders, patterns of them, or single headers.
MAY_INCLUDE = {
    "base": "",
    "packs": "",
    "trace": "base",
    "symbolize/files": "base",
    "symbolize/dwarf": "base symbolize/files",
    "symbolize/rust": "base",
    "symbolize": "base " + SYMBOLIZE,

    "heap": "base heap/snapshot heap/glibc heap/jemalloc heap/mimalloc heap/musl heap/tcmalloc heap/python",
    "heap/snapshot": "base heap " + SYMBOLIZE,
    "heap/glibc": "base heap heap/snapshot",
    "heap/jemalloc": "base heap heap/snapshot",
    "heap/mimalloc": "base heap heap/snapshot",
    "heap/musl": "base heap heap/snapshot",
    "heap/tcmalloc": "base heap heap/snapshot",
    "heap/python": "base heap heap/snapshot",
    "heap/reach": "base heap heap/snapshot",
    "heap/classify": f"base heap heap/snapshot {SYMBOLIZE}",

    "report/sampling": "base",
    "report/ledger/merged": "base report/sampling trace report/ledger/series.h",
    "report/ledger": "base report/sampling trace report/ledger/merged",
    "report/model": MODEL,
    "report/words": MODEL,
    "report/names": f"{MODEL} {SYMBOLIZE} report/words",
    "report/suppress": f"{MODEL} {SYMBOLIZE} report/names",
    "report/query": f"{MODEL} report/names",
    "report/groups": f"{MODEL} report/names report/suppress report/query",
    "report/refs": f"{MODEL} report/names report/suppress report/query report/groups",
    "report/diff": f"{MODEL} report/names",
    "report/fields": f"{MODEL} report/words report/names report/query report/diff",
    "report/text/groups": f"{MODEL} report/words report/names report/query report/fields",
    "report/text": f"{FORMAT} report/fields report/text/groups report/text/scan/out_scan_text.h",
    "report/text/scan": f"{FORMAT} report/fields report/text report/text/groups",
    "report/json": f"{FORMAT} report/fields",
    "report/csv": f"{FORMAT} report/fields",
    "report/html": f"{FORMAT} report/fields report/json report/text/out_text.h report/text/out_diff_text.h report/text/scan/out_scan_text.h",
    "report/tracefiles": "base trace report/ledger report/ledger/merged",
    "report/merge": "base trace report/sampling report/ledger report/ledger/merged report/tracefiles report/names/madecode.h",
    "report/import": "base trace report/ledger symbolize",
    "report": f"{MODEL} report/names report/suppress report/query report/groups report/refs",
    "report/export": MODEL,
    "report/speedscope": f"{FORMAT} report/json/json.h",    # strings and numbers of JSON
    "report/*": FORMAT,     # csv, folded, json, and any format added later

    "attach/keeper": "base " + KEEPER,
    "attach/keeper/*": "base " + KEEPER,
    "attach/rules": "base",
    "attach/options": "base packs report/ledger report/formats.h attach/rules",
    "attach/probes/code": f"base {SYMBOLIZE} {SHARED}",
    "attach/probes": f"base trace/probenote.h {SYMBOLIZE} {SHARED} attach/rules attach/probes/code",
    "attach/target": f"base report/ledger report/model/format_text.h {SYMBOLIZE} attach/keeper/procfs.h attach/probes attach/probes/code",
    "attach/uprobe": f"base {KEEPER} attach/rules attach/target",
    "attach/control": f"base trace/probenote.h {KEEPER} attach/uprobe attach/rules attach/probes attach/probes/code attach/target",
    "attach/stacks/unwind": f"base {SYMBOLIZE} attach/keeper/procfs.h attach/probes/code attach/target",
    "attach/stacks/scripts": f"base {SHARED} attach/probes/code attach/target attach/stacks/unwind",
    "attach/stacks/python": f"base {SHARED} attach/probes/code attach/target attach/stacks/scripts",
    "attach/stacks/ruby": f"base {SHARED} attach/probes/callsites.h attach/probes/code attach/target attach/stacks/scripts",
    "attach/stacks": f"base trace {SHARED} attach/options/unwinders.h attach/target attach/stacks/unwind "
                     "attach/stacks/python attach/stacks/ruby attach/stacks/scripts",
    "attach/loss": f"base trace report/sampling {HEAP} {SHARED} attach/keeper/budget attach/rules attach/probes attach/target attach/uprobe attach/control attach/stacks",
    "attach/snapshot": f"base {HEAP} {SHARED} attach/keeper/procfs.h attach/target attach/control",
    "attach/events": f"base trace report/ledger report/names report/suppress report/tracefiles {SHARED} attach/rules attach/options attach/target "
                     "attach/control attach/snapshot",
    "attach/sampling/blocks": f"base {HEAP}",
    "attach/sampling/heaps": f"base {HEAP} attach/sampling/blocks",
    "attach/sampling": f"base trace {HEAP} report/sampling {SHARED} attach/keeper/budget attach/rules attach/options attach/probes attach/probes/code "
                       "attach/target attach/control attach/events attach/sampling/blocks attach/sampling/heaps",
    "attach/reporting": "base trace report report/* attach/rules attach/options",
    "attach/scan": f"base trace report report/* {SYMBOLIZE} {HEAP} attach/options attach/probes/code attach/target attach/reporting",
    "attach/verdicts": f"base trace report report/* report/text/scan {HEAP} attach/options attach/target attach/control attach/stacks/unwind attach/snapshot "
                       "attach/events attach/scan",
    "attach/watch": f"base trace report report/* {SYMBOLIZE} {HEAP} {KEEPER} attach/*",
    "attach/many": f"base trace report report/* {SHARED} attach/options attach/target attach/reporting "
                   "attach/snapshot/memory_limit.h attach/watch",
    "attach/top": "base trace report report/* report/text/* attach/options attach/reporting",
    "attach/cli": f"base trace packs report report/* report/text/* {HEAP} attach/*",
    "attach": "base attach/*",
}

INCLUDE = re.compile(r'\s*#\s*include\s*"([^"]*)"')
GUARD = re.compile(r"^#ifndef (\w+)\n#define \1$", re.M)


def folder_of(path):
    return str(pathlib.PurePosixPath(path).parent)


def allowed(folder):
    """The patterns of FOLDER, or None if it is in no layer."""
    for known, patterns in MAY_INCLUDE.items():
        if fnmatch.fnmatchcase(folder, known):
            return [folder, *patterns.split()]
    return None


def wrong(top, folder, included):
    """Why FOLDER may not include INCLUDED, or None."""
    if not (top / included).is_file():
        return "is no file; includes are by path from the top"
    patterns = allowed(folder)
    if patterns is None:
        return f"stands in no layer: add {folder} to tests/layers.py"
    if not any(fnmatch.fnmatchcase(name, pattern) for name in (folder_of(included), included) for pattern in patterns):
        return f"breaks the layers: {folder} may include only {', '.join(sorted(patterns))}"
    return None


def includes(top):
    """(source, line number, what it includes) of every file in the layers; both by path from TOP."""
    for tree in sorted({name.split("/")[0] for name in MAY_INCLUDE}):
        for source in sorted((top / tree).rglob("*.[ch]")):
            for number, line in enumerate(source.read_text().splitlines(), 1):
                if match := INCLUDE.match(line):
                    yield str(source.relative_to(top)), number, match[1]


def circles(graph):
    """The sets of nodes that reach each other in GRAPH, {node: {node, ...}}; Tarjan's algorithm."""
    found, index, low, path = [], {}, {}, []

    def visit(node):
        index[node] = low[node] = len(index)
        path.append(node)
        for following in graph.get(node, ()):
            if following not in index:
                visit(following)
                low[node] = min(low[node], low[following])
            elif following in path:
                low[node] = min(low[node], index[following])
        if low[node] == index[node]:
            at = path.index(node)
            if len(path) - at > 1:
                found.append(sorted(path[at:]))
            del path[at:]

    sys.setrecursionlimit(10000)
    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def calls(objects):
    """{file: {file: [name, ...]}}: which symbols each object needs from which other one, by nm."""
    trees = sorted({name.split("/")[0] for name in MAY_INCLUDE})
    paths = [path.relative_to(objects) for tree in trees for path in sorted((objects / tree).rglob("*.o"))]
    defined, needed = {}, {str(path.with_suffix("")): set() for path in paths}
    # each line begins with "PATH:"; without a path nm would read a.out
    command = ["nm", "-A", *paths] if paths else ["true"]
    printed = subprocess.run(command, cwd=objects, capture_output=True, text=True, check=True).stdout
    for line in printed.splitlines():
        path, rest = line.split(":", 1)
        name, (kind, symbol) = path.removesuffix(".o"), rest.split()[-2:]
        if kind in "TDBRVW":
            defined[symbol] = name
        elif kind == "U":
            needed[name].add(symbol)
    graph = {}
    for name, symbols in needed.items():
        graph[name] = {}
        for symbol in sorted(symbols):
            if defined.get(symbol, name) != name:
                graph[name].setdefault(defined[symbol], []).append(symbol)
    return graph


def circles_of_calls(objects):
    graph = calls(objects)
    for circle in circles(graph):
        yield f"a circle of calls: {', '.join(circle)}"
        for name in circle:
            for other in sorted(set(circle) & set(graph[name])):
                yield f"    {name} -> {other}: {', '.join(graph[name][other])}"


def shared_guards(top):
    """A file that includes two headers with one guard loses the second one, and is told of it by errors elsewhere."""
    guarded = {}
    for tree in sorted({name.split("/")[0] for name in MAY_INCLUDE}):
        for header in sorted((top / tree).rglob("*.h")):
            if match := GUARD.search(header.read_text()):
                guarded.setdefault(match[1], []).append(str(header.relative_to(top)))
    return [f"{name} guards {', '.join(headers)}" for name, headers in sorted(guarded.items()) if len(headers) > 1]


def check(top):
    """All breaches of includes below TOP, as text."""
    breaches, headers = [], {}
    for source, number, included in includes(top):
        why = wrong(top, folder_of(source), included)
        if why:
            breaches.append(f'{source}:{number}: "{included}" {why}')
        if source.endswith(".h"):
            headers.setdefault(source, set()).add(included)
    return breaches + [f"a circle of includes: {', '.join(circle)}" for circle in circles(headers)] + shared_guards(top)


def main():
    top = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    breaches = check(top)
    if len(sys.argv) > 2:
        breaches += circles_of_calls(pathlib.Path(sys.argv[2]))
    for breach in breaches:
        print(breach)
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
