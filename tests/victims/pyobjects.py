# SPDX-License-Identifier: MIT
"""A program with known numbers of objects of each kind. On "truth" it prints how many objects the collector has of
each type, and to stderr what the allocator says of itself; then it changes nothing before SIGUSR1."""
import collections
import gc
import json
import os
import signal
import sys

ORDERS, ITEMS, NUMBERS, TEXTS, LARGE = 5000, 3000, 7000, 4000, 50


class Order:
    def __init__(self, n):
        self.n = n
        self.lines = [n]


class Item:
    __slots__ = ("a",)


class Outer:
    class Dictionary(dict):
        pass


orders = [Order(n) for n in range(ORDERS)]
items = [Item() for n in range(ITEMS)]
numbers = [complex(n, 1) for n in range(NUMBERS)]
texts = ["text %d" % n for n in range(TEXTS)]
queue = collections.deque(float(n) for n in range(NUMBERS))
large = [bytearray(2000) for n in range(LARGE)]
inner = [Outer.Dictionary(n=n) for n in range(ITEMS)]
some = [object() for n in range(1000)]
del some[::3]


def name_of(cls):
    return cls.__name__ if cls.__module__ == "builtins" else cls.__module__ + "." + cls.__qualname__


def count():
    """What the collector has in its lists; it must not run again afterwards."""
    gc.collect()
    gc.disable()
    counts = {}
    for each in gc.get_objects():
        name = name_of(type(each))
        counts[name] = counts.get(name, 0) + 1
    return json.dumps(counts)


def tell(pause=signal.pause):
    count()  # what it makes once is made now
    print(count(), flush=True)
    sys._debugmallocstats()
    pause()


signal.signal(signal.SIGUSR1, lambda *_: None)
print("ready", os.getpid(), flush=True)
for order in sys.stdin:
    if order == "truth\n":
        tell()
    elif order == "end\n":
        print("{}", flush=True)
        break
