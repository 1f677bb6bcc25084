# SPDX-License-Identifier: MIT
"""eu-addr2line's output, and where its answers differ from ours for a reason: is_row, is_gap and is_bare are
the exceptions that test_addr2line.py explains. It does not import pytest, because bench/names.py uses it as
well.
"""
import os
import pathlib
import re
import subprocess

TOP = pathlib.Path(__file__).parent.parent
BUILD = TOP / os.environ.get("MM_BUILD", "build/release")
PRINT = BUILD / "unit/test_names"


def run(*command, check=True, **more):
    return subprocess.run([str(c) for c in command], check=check, capture_output=True, text=True, **more).stdout


def text_of(addrs):
    return "".join(f"{a:#x}\n" for a in addrs)


def name(text):
    return "?" if text == "??" else text


def place(text):
    """(file, line) of FILE:LINE[:COLUMN]."""
    match = re.fullmatch(r"(.*?):(\d+)(?::\d+)?", text)
    return name(match[1]), int(match[2])


def blocks(output):
    """The lines that follow each line that is an address."""
    found = {}
    for line in output.splitlines():
        if re.fullmatch(r"0x[0-9a-f]+", line):
            current = found.setdefault(int(line, 16), [])
        elif line:
            current.append(line)
    return found


def eu(path, addrs):
    """The same form as ours, and where the first function was inlined, or None. Its exit status is that of
    the last address."""
    answers = {}
    output = run("eu-addr2line", "-a", "-i", "-f", "-C", "-e", path, input=text_of(addrs), check=False)
    for addr, lines in blocks(output).items():
        match = re.match(r"(.*?) inlined (?:at|from) (.*?) in ", lines[0])
        frames = [(name(match[1] if match else lines[0]), *place(lines[1]))]
        frames += [(name(lines[i]), *place(lines[i + 1])) for i in range(2, len(lines) - 1, 2)]
        answers[addr] = frames, place(match[2]) if match and ":" in match[2] else None
    return answers


def is_row(frames, theirs, called):
    """The exception `row`."""
    return frames[0] == theirs[0] and (frames[1][1:] if len(frames) > 1 else None) == called


def is_gap(frames, theirs):
    """The exception `gap`."""
    return frames == [("?", "?", 0)] and len(theirs) == 1 and theirs[0][0] == "?"


def is_same_function(debug, symbol):
    """The function's name in the debug information, and its symbol: with a scope, parameters, a part's
    number."""
    return re.search(r"(^|\W)" + re.escape(re.sub(r"(\(.*| \[clone.*)", "", debug)) + r"($|\W)", symbol)


def is_bare(frames, theirs):
    """The exception `bare`."""
    ours_last, their_last = frames[-1], theirs[-1]
    base = re.sub(r"[<(].*", "", their_last[0])
    return (len(frames) == len(theirs) and frames[:-1] == theirs[:-1] and ours_last[1:] == their_last[1:]
            and "::" not in base and re.search(r"(^|\W)" + re.escape(base) + r"($|\W)", ours_last[0]))
