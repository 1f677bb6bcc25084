# SPDX-License-Identifier: MIT
"""Bounds for what is chance: how often something rare is seen in some hundred tries."""
import math


def at_most(expected):
    """So many at most are seen, in all but one of a thousand runs, of what happens @expected times on average."""
    return expected + 3 * math.sqrt(expected)
