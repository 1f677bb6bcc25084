#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""layers: who may include whom.

    base <- trace <- symbolize <- report          never includes attach
    base <- symbolize <- heap                     memory of a moment, live or a core's: knows nothing of attaching
    base <- attach/keeper                         the keeper includes nobody else
    packs                                         text: includes nobody
    base <- trace <- symbolize <- attach/probes   and attach/keeper's plain data
    base <- symbolize <- attach/probes <- attach/unwind   and what is mapped: modules
    all of these <- attach                        the top level: the session

Every #include "..." is by path from the top and names a file that is there.
Prints FILE:LINE for each that breaks a rule and exits 1. An argument is another top folder.
"""
import pathlib
import re
import sys

# Folders, or single headers.
MAY_INCLUDE = {
    "base": {"base"},
    "trace": {"base", "trace"},
    "symbolize": {"base", "trace", "symbolize"},
    "report": {"base", "trace", "symbolize", "report"},
    "heap": {"base", "symbolize", "heap"},
    "packs": {"packs"},
    "attach/keeper": {"base", "attach/keeper"},
    "attach/probes": {"base", "trace", "symbolize", "attach/keeper", "attach/probes"},
    "attach/unwind": {"base", "symbolize", "attach/probes", "attach/unwind", "attach/target/modules.h",
                      "attach/keeper/procfs.h"},
    "attach": {"base", "trace", "symbolize", "report", "heap", "packs", "attach", "attach/keeper", "attach/probes",
               "attach/unwind"},
}

INCLUDE = re.compile(r'\s*#\s*include\s*"([^"]*)"')


def folder_of(path):
    return str(pathlib.PurePosixPath(path).parent)


def wrong(top, folder, included):
    """Why FOLDER may not include INCLUDED, or None."""
    if not (top / included).is_file():
        return "is no file; includes are by path from the top"
    if not {folder_of(included), included} & MAY_INCLUDE[folder]:
        return f"breaks the layers: {folder} may include only {', '.join(sorted(MAY_INCLUDE[folder]))}"
    return None


def check(top):
    """All breaches below TOP, as text."""
    breaches = []
    for folder in MAY_INCLUDE:
        for source in sorted((top / folder).glob("*.[ch]")):
            for number, line in enumerate(source.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                why = match and wrong(top, folder, match[1])
                if why:
                    breaches.append(f'{source.relative_to(top)}:{number}: "{match[1]}" {why}')
    return breaches


def main():
    top = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    breaches = check(top)
    for breach in breaches:
        print(breach)
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
