# SPDX-License-Identifier: MIT
"""A victim in Python: allocates from all kinds of frames. An answer is a list: for each allocation its size,
which is that of no other, and the stack as the interpreter itself has it at the same line, innermost first:
[name, file, line].

    scripts.py held|released      with the interpreter's lock held at the call of malloc, or given up"""
import asyncio
import ctypes
import functools
import json
import os
import sys
import threading
import time  # noqa: F401
import traceback

MALLOC = (ctypes.PyDLL if sys.argv[1] == "held" else ctypes.CDLL)(None).malloc
MALLOC.restype, MALLOC.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
SIZES = iter(range(70001, 90000, 16))
FOUND = []
ROWS = []
LOCK = threading.Lock()


def take(*_):
    """Allocates once."""
    with LOCK:
        size = next(SIZES)
    stack, _ = traceback.extract_stack(), MALLOC(size)
    FOUND.append({"size": size, "stack": [[f.name, f.filename, f.lineno] for f in reversed(stack)]})
    return 0


def recurse(n):
    if n:
        return recurse(n - 1)
    return take()


def append_row(n):
    for i in range(n):
        ROWS.append(i)  # the growing line


def keep(size):
    MALLOC(size)


def deeper(n):
    return deeper(n - 1) if n else keep(5000)


def again(n):
    """Each stack several times, then another one."""
    for _ in range(n):
        for _ in range(10):
            keep(3000)
        for _ in range(5):
            deeper(3)
            keep(4000)


def again_in_threads(n):
    threads = [threading.Thread(target=again, args=(n,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def churn(n):
    for i in range(n):
        bytearray(1000 + i)


def small(n):
    for i in range(n):
        ROWS.append(i / 7)
        str(i) * 2


class Shop:
    def __init__(self):
        take()

    def order(self):
        return self.price + take()

    @property
    def price(self):
        take()
        return 1

    def __del__(self):
        take()


def numbers(n):
    for i in range(n):
        if i == n - 1:
            take()
        yield i


def delegated(n):
    yield from numbers(n)


async def inner():
    await asyncio.sleep(0)
    take()


async def outer():
    await inner()
    await asyncio.gather(inner(), inner())


def in_threads(n):
    threads = [threading.Thread(target=recurse, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def compare(a, b):
    if not ROWS:
        take()
    return (a > b) - (a < b)


def called_from_c():
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    array = (ctypes.c_int * 2)(2, 1)
    ctypes.CDLL(None).qsort(array, 2, 4, kind(take))


class Encoder(json.JSONEncoder):
    def default(self, o):
        return take()


def several_lines():
    return sum([
        1,
        take(),
        2])


TEXT = "def f():\n\n    take()\nf()\n"
CODE = compile(TEXT, "<string>", "exec")

ORDERS = {
    "recursion": lambda n: recurse(n),
    "sorted": lambda n: sorted([2, 1], key=take),
    "compared": lambda n: sorted([2, 1], key=functools.cmp_to_key(compare)),
    "partial": lambda n: functools.partial(recurse, 2)(),
    "mapped": lambda n: list(map(lambda x: take(), [1])),
    "comprehension": lambda n: [take() for _ in range(1)] + list(take() for _ in range(1)),
    "class": lambda n: Shop().order(),
    "generator": lambda n: list(numbers(3)),
    "delegated": lambda n: [sum(delegated(3)), max(delegated(2))],
    "coroutine": lambda n: asyncio.run(outer()),
    "threads": in_threads,
    "callback": lambda n: called_from_c(),
    "json": lambda n: json.dumps({"a": [object()]}, cls=Encoder, indent=1),
    "json_c": lambda n: json.dumps({"a": [object()]}, default=take),
    "executed": lambda n: exec(CODE, globals()),
    "made": lambda n: exec(TEXT + "time.sleep(0.05)\n", globals()),
    "freed": lambda n: exec(TEXT, globals()),
    "lines": lambda n: several_lines(),
    "append": append_row,
    "again": again_in_threads,
    "churn": churn,
    "small": small,
}


def main():
    print(f"ready {os.getpid()}", flush=True)
    for line in sys.stdin:
        order, _, number = line.strip().partition(" ")
        FOUND.clear()
        if order != "end":
            ORDERS[order](int(number or 0))
        print(json.dumps(FOUND), flush=True)
        if order == "end":
            break


main()
