# SPDX-License-Identifier: MIT
"""Copies of the target's memory that cannot be cleaned: the keeper cannot open files while the target
forks."""
import resource

from harness import wait_for
from untouched import state_letters


def copy_without_files(target, keeper, n, order="copy"):
    """The target makes a child that does N calls (indirect.c, dl.c), and the keeper cannot open its memory.
    Returns the child's pid."""
    resource.prlimit(keeper, resource.RLIMIT_NOFILE, (0, resource.prlimit(keeper, resource.RLIMIT_NOFILE)[1]))
    return target.ask(f"{order} {n}")["child"]


def copy_at_a_trap(target, keeper, n=10):
    """The same, once the child is stopped."""
    child = copy_without_files(target, keeper, n)
    wait_for(lambda: state_letters(child) == {"t"}, "the copy stands at a trap")
    return child


def allow_files(keeper):
    most = resource.prlimit(keeper, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(keeper, resource.RLIMIT_NOFILE, (most, most))
