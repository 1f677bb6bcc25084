# SPDX-License-Identifier: MIT
"""What a kernel is expected to have: the ways in which probes can be used (--engine uprobe-...), by its version. Used
by the checks within the virtual machine, and by the table outside."""
import re

SINCE = {"uprobe-perf": (5, 15), "uprobe-multi": (6, 12), "uprobe-session": (6, 13)}


def version(release):
    """(6, 12) of 6.12.118+deb13-cloud-amd64."""
    return tuple(int(part) for part in re.match(r"(\d+)\.(\d+)", release).groups())


def ways(release):
    return [way for way, since in SINCE.items() if version(release) >= since]


def engines(release):
    """ptrace, and the probes in the way that the program chooses, where there is one."""
    return ["ptrace", *(["uprobe"] if ways(release) else [])]
