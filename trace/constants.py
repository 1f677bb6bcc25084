#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""constants: the numbers of trace/format.h, for Python: they are defined there and nowhere else.

As a program it prints a module:

    python3 trace/constants.py > build/mmt_constants.py

As a module it has load(), which gives them as a dictionary.
"""
import pathlib
import re
import sys

HEADER = pathlib.Path(__file__).parent / "format.h"
DEFINE = re.compile(r"#define\s+(MMT_\w+)\s+(0x[0-9a-fA-F]+|[0-9]+)\b")
OTHER = re.compile(r"#define\s+(?!MMT_FORMAT_H\s*$)")


def load(header=HEADER):
    """Name to number, in the header's order. Another form of #define is an error: else it would be lost."""
    numbers = {}
    for place, line in enumerate(header.read_text().splitlines(), 1):
        found = DEFINE.match(line)
        if found:
            numbers[found[1]] = int(found[2], 0)
        elif OTHER.match(line):
            raise ValueError(f"{header}:{place}: not NAME NUMBER")
    return numbers


def main():
    print(f'"""Made from trace/{HEADER.name} by trace/constants.py."""')
    for name, number in load().items():
        print(f"{name} = {number:#x}" if number > 0xffff else f"{name} = {number}")


if __name__ == "__main__":
    sys.exit(main())
