# SPDX-License-Identifier: MIT
"""Bounds for what is chance: how often something rare is seen in some hundred tries."""
import math

ONE_IN = 2000


def at_most(expected):
    """So many at most are seen, in all but one of @ONE_IN runs, of what happens independently, @expected times on
    average."""
    n, chance = 0, math.exp(-expected)
    more = 1 - chance
    while more > 1 / ONE_IN:
        n += 1
        chance *= expected / n
        more -= chance
    return n
