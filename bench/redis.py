# SPDX-License-Identifier: MIT
"""redis under full watching: how many fewer SETs it serves. It uses jemalloc; one thread that hits all the
time, and a client beside it.

Once with the kernel's own placement, once with the server on one processor, as in a container that has one.
The load is redis-benchmark on a unix socket; the server's own counter is read.
"""
import contextlib
import pathlib
import shutil
import subprocess
import tempfile
import time

from sides import Failed, Mmattach, cpus, end, pinned, wait_for

NEEDS = ["redis-server", "redis-cli", "redis-benchmark"]
QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


class Redis:
    """A server without a network, on the processor @cpu if given, and a client that sets keys all the
    time."""

    def __init__(self, folder, cpu=None):
        self.socket = f"{folder}/redis.sock"
        self.server = subprocess.Popen([
            *pinned(cpu), "redis-server", "--port", "0", "--unixsocket", self.socket, "--save", "",
            "--appendonly", "no"
        ], **QUIET)
        self.pid = self.server.pid

    def __enter__(self):
        wait_for(pathlib.Path(self.socket).exists, "redis listens")
        self.client = subprocess.Popen([
            "redis-benchmark", "-s", self.socket, "-t", "set", "-n", "1000000000", "-r", "100000", "-d", "64"
        ], **QUIET)
        return self

    def __exit__(self, *exc):
        for process in (self.client, self.server):
            process.terminate()
            end(process)

    def served(self):
        said = subprocess.run(["redis-cli", "-s", self.socket, "info", "stats"], capture_output=True,
                              text=True, check=True).stdout
        for line in said.splitlines():
            if line.startswith("total_commands_processed:"):
                return int(line.split(":")[1])
        raise Failed("redis does not say how many commands it has served")

    def rate(self, seconds):
        """Commands a second."""
        began, before = time.monotonic(), self.served()
        time.sleep(seconds)
        return (self.served() - before) / (time.monotonic() - began)


def rates(redis, plan):
    """[(alone, watched), ...]: each watch is measured after the keeper has settled."""
    seconds = plan.slice_ms / 1000
    for _ in range(plan.rounds):
        alone = redis.rate(seconds)
        with Mmattach(redis) as tracer:
            time.sleep(tracer.settled_s)
            watched = redis.rate(seconds)
        yield alone, watched


def rows(plan):
    missing = [need for need in NEEDS if not shutil.which(need)]
    if missing:
        print(f"bench: not installed: {' '.join(missing)}")
        return
    for name, what, cpu in [("redis", "redis, SET", None),
                            ("redis1cpu", "the same, the server on one processor", cpus()[0])]:
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="mm-bench-"))
            values = list(rates(stack.enter_context(Redis(folder, cpu)), plan))
        yield {
            "name": name, "what": f"{what}: alone / watched",
            "values": [alone / watched for alone, watched in values]
        }
        yield {
            "name": f"{name}/s", "what": "requests a second, watched",
            "values": [watched for _, watched in values]
        }
