# SPDX-License-Identifier: MIT
"""The target of python_stacks.py: allocates and frees in a loop, below some frames of a script.

    python_pairs.py FRAMES

Prints its pid; for each line MILLISECONDS on stdin, what a pair has cost in that time, in ns, without the time in
which it waited for a processor."""
import os
import sys
import time

EVERY = 64  # pairs between two readings of the clock


def waited_ns():
    """For how long this thread has waited for a processor."""
    with open("/proc/self/schedstat", encoding="ascii") as stat:
        return int(stat.read().split()[1])


def pairs(ms):
    began, waited, n = time.perf_counter_ns(), waited_ns(), 0
    while time.perf_counter_ns() < began + ms * 1000000:
        for _ in range(EVERY):
            bytearray(4000)
        n += EVERY
    return (time.perf_counter_ns() - began - (waited_ns() - waited)) / n


def serve():
    print(os.getpid(), flush=True)
    for line in sys.stdin:
        print(pairs(int(line)), flush=True)


def below(frames):
    return below(frames - 1) if frames else serve()


below(int(sys.argv[1]))
