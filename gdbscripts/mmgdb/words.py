# SPDX-License-Identifier: MIT
"""words: durations, options and option lists, as text. Nothing here knows gdb."""
import os
import re

UNITS = (("d", 86400.0), ("h", 3600.0), ("m", 60.0), ("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
FILE_OPTIONS = "-o", "--output", "--report", "--probes", "--suppressions"


def seconds(text):
    """30s, 10m, 1h30m, 200ms, 1.5s; a plain number is in seconds (base/duration.c). ValueError if it is no
    duration, or zero."""
    if re.match(r"\d+(\.\d+)?$", text):
        text += "s"
    found = re.match("".join(r"(?:(\d+(?:\.\d+)?)%s)?" % unit for unit, _ in UNITS) + "$", text)
    total = sum(float(n) * unit for n, (_, unit) in zip(found.groups(), UNITS) if n) if found else 0
    if not total:
        raise ValueError("%s: not a duration; write it as 30s, 10m or 1h30m" % (text or "nothing"))
    return total


def expand_home(words):
    """Expand ~ in file names: no shell has done it."""
    out = []
    for before, word in zip([""] + words, words):
        name, equals, value = word.partition("=")
        if before in FILE_OPTIONS:
            word = os.path.expanduser(word)
        elif equals and name in FILE_OPTIONS:
            word = name + equals + os.path.expanduser(value)
        elif word.startswith("-o~"):
            word = "-o" + os.path.expanduser(word[2:])
        out.append(word)
    return out


def value_of(words, *names):
    """The value of an option (its names) in WORDS; None if it is not there."""
    for word, after in zip(words, words[1:] + [None]):
        name, equals, value = word.partition("=")
        if name in names and (equals or after is not None):
            return value if equals else after
        if len(names[0]) == 2 and word.startswith(names[0]) and len(word) > 2:
            return word[2:]
    return None


def option_names(help_text):
    """The long options in the output of --help."""
    return re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", help_text, re.M)


def family_names(probes_text):
    """The packs and families that `mmattach probes` lists."""
    return sorted(set(re.findall(r"^(\w[\w-]*): ", probes_text, re.M) +
                      re.findall(r"^  family (\S+)", probes_text, re.M)))
