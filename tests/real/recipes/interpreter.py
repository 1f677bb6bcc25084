# SPDX-License-Identifier: MIT
"""A Python interpreter that allocates every object with malloc, in recursion, callbacks from C, threads and
generators."""
import os
import time

from service import Service

PROGRAM = """
import functools, json, re, threading, time
def deep(n):
    return [deep(n - 1)] if n else json.loads('{"a": [1, 2, {"b": "c"}]}')
def callbacks():
    return sorted([[3], [1], [2]], key=functools.cmp_to_key(lambda a, b: a[0] - b[0]))
def generators():
    return list(re.sub("b", lambda m: "x" * 600, "abc" * n) for n in range(3))
def work():
    while True:
        deep(7), callbacks(), generators(), json.dumps(list(range(100)))
        time.sleep(0.002)
threading.Thread(target=work, daemon=True).start()
work()
"""


class Python(Service):
    needs = ["/usr/bin/python3"]

    def begin(self):
        return self.start("/usr/bin/python3", "-c", PROGRAM, env={**os.environ, "PYTHONMALLOC": "malloc"})

    def work(self, turn):
        time.sleep(0.1)
