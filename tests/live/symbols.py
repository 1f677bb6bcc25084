# SPDX-License-Identifier: MIT
"""Where a file has the data of a symbol, to change it in a copy."""
import subprocess


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def symbol(path, name):
    """Where in the file the data of @name begins."""
    symbols = output_of("readelf", "--dyn-syms", "-W", path)
    addr = next(int(line.split()[1], 16) for line in symbols.splitlines() if line.split()[7:8] == [name])
    for line in output_of("readelf", "-lW", path).splitlines():
        words = line.split()
        if words[:1] == ["LOAD"] and int(words[2], 16) <= addr < int(words[2], 16) + int(words[4], 16):
            return int(words[1], 16) + addr - int(words[2], 16)
    raise AssertionError(f"{name} is in no segment of {path}")
