# SPDX-License-Identifier: MIT
"""Real services as targets: a GlusterFS mount, an Open vSwitch daemon, a Python interpreter.

Each runs in a folder of its own, without a network: unix sockets, a FUSE mount.
.pid is the process to watch; .load(seconds) keeps it busy for so long.
"""
import os
import pathlib
import shutil
import subprocess
import time

from harness import wait_for

QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
SCHEMA = pathlib.Path("/usr/share/openvswitch/vswitch.ovsschema")


def missing(*programs):
    """Which of @programs are not installed."""
    return [p for p in programs if not shutil.which(p)]


def call(*command, check=True, timeout=20):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=timeout)
    assert not check or done.returncode == 0, f"{command}: {done.stderr}"
    return done.returncode == 0


class Service:
    """A context manager: running inside the block."""

    needs = []

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.processes = []

    def start(self, *command, **kwargs):
        process = subprocess.Popen([str(word) for word in command], **{**QUIET, **kwargs})
        self.processes.append(process)
        return process

    def __enter__(self):
        try:
            self.pid = self.begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc):
        self.finish()
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def finish(self):
        """What must be undone before the processes end."""

    def load(self, seconds):
        end = time.monotonic() + seconds
        turn = 0
        while time.monotonic() < end:
            self.work(turn)
            turn += 1
        return turn


class Gluster(Service):
    """One glusterfs process: storage/posix, features/locks, debug/io-stats, mounted with FUSE."""

    needs = ["glusterfs", "setfattr"]
    LAYERS = """
volume posix
 type storage/posix
 option directory {brick}
 option volume-id 11111111-2222-3333-4444-555555555555
end-volume
volume locks
 type features/locks
 subvolumes posix
end-volume
volume top
 type debug/io-stats
 subvolumes locks
end-volume
"""

    def begin(self):
        self.brick, self.mount = self.folder / "brick", self.folder / "mount"
        self.brick.mkdir()
        self.mount.mkdir()
        call("setfattr", "-n", "trusted.glusterfs.volume-id", "-v", "0x11111111222233334444555555555555", self.brick)
        volume = self.folder / "volume.vol"
        volume.write_text(self.LAYERS.format(brick=self.brick))
        process = self.start("glusterfs", "-N", "-f", volume, "-l", self.folder / "log", self.mount)
        wait_for(lambda: os.path.ismount(self.mount), "the mount")
        return process.pid

    def finish(self):
        call("umount", self.mount, check=False)

    def work(self, turn):
        folder = self.mount / f"x{turn}"
        folder.mkdir()
        (folder / "f").write_bytes(b"0" * 5000)
        os.setxattr(folder / "f", "user.k", str(turn).encode())
        os.listxattr(folder / "f")
        os.stat(folder / "f")
        (folder / "f").rename(folder / "g")
        assert (folder / "g").read_bytes()[:1] == b"0"
        (folder / "g").unlink()
        folder.rmdir()


class Ovs(Service):
    """ovs-vswitchd with its database, dummy ports and an OpenFlow controller's commands."""

    needs = ["ovs-vswitchd", "ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-ofctl", "ovs-appctl"]

    def begin(self):
        run = self.folder / "run"
        run.mkdir()
        self.env = {**os.environ, "OVS_RUNDIR": str(run), "OVS_LOGDIR": str(self.folder), "OVS_DBDIR": str(self.folder),
                    "OVS_SYSCONFDIR": str(self.folder)}
        self.control, self.bridge = run / "vs.ctl", run / "br0.mgmt"
        socket = f"unix:{run}/db.sock"
        self.call("ovsdb-tool", "create", self.folder / "conf.db", SCHEMA)
        self.start("ovsdb-server", self.folder / "conf.db", f"--remote=p{socket}", f"--unixctl={run}/db.ctl",
                   f"--log-file={self.folder}/db.log", env=self.env)
        wait_for(lambda: (run / "db.sock").exists(), "the database")
        self.call("ovs-vsctl", f"--db={socket}", "--no-wait", "init")
        process = self.start("ovs-vswitchd", socket, f"--unixctl={self.control}", f"--log-file={self.folder}/vs.log",
                             "--enable-dummy", env=self.env)
        vsctl = ["ovs-vsctl", "--timeout=20", f"--db={socket}"]
        self.call(*vsctl, "add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=dummy")
        for port in ("p1", "p2"):
            self.call(*vsctl, "add-port", "br0", port, "--", "set", "interface", port, "type=dummy")
        return process.pid

    def call(self, *command):
        subprocess.run([str(word) for word in command], env=self.env, check=True, timeout=30, **QUIET)

    def work(self, turn):
        self.call("ovs-ofctl", "add-flow", f"unix:{self.bridge}",
                  f"table=0,priority={turn % 1000},in_port=1,tcp,tp_dst={turn % 60000},actions=output:2")
        self.call("ovs-appctl", "-t", self.control, "netdev-dummy/receive", "p1",
                  "in_port(1),eth(src=50:54:00:00:00:05,dst=50:54:00:00:00:07),eth_type(0x0800),"
                  f"ipv4(src=192.0.2.{turn % 250},dst=192.0.2.251,proto=6,tos=0,ttl=64,frag=no),"
                  f"tcp(src=8,dst={turn % 60000})")
        self.call("ovs-ofctl", "dump-flows", f"unix:{self.bridge}")


class Python(Service):
    """An interpreter whose every object is malloc's, in recursion, callbacks from C, threads and generators."""

    needs = ["/usr/bin/python3"]
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

    def begin(self):
        return self.start("/usr/bin/python3", "-c", self.PROGRAM, env={**os.environ, "PYTHONMALLOC": "malloc"}).pid

    def work(self, turn):
        time.sleep(0.1)
