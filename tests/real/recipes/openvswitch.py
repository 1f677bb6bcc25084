# SPDX-License-Identifier: MIT
"""ovs-vswitchd with its database on unix sockets, a dummy datapath of two ports, an OpenFlow controller's
commands."""
import os

from harness import wait_for
from service import Service, run

SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"


class Ovs(Service):
    needs = ["ovs-vswitchd", "ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-ofctl", "ovs-appctl", SCHEMA]

    def __init__(self, folder, env=None):
        """@env: added to the environment of ovs-vswitchd only."""
        super().__init__(folder)
        self.own_env = env or {}

    def begin(self):
        sockets = self.folder / "run"
        sockets.mkdir()
        self.env = {**os.environ, "OVS_RUNDIR": str(sockets), "OVS_LOGDIR": str(self.folder),
                    "OVS_DBDIR": str(self.folder), "OVS_SYSCONFDIR": str(self.folder)}
        self.control, self.bridge = sockets / "vs.ctl", sockets / "br0.mgmt"
        database = f"unix:{sockets}/db.sock"
        self.call("ovsdb-tool", "create", self.folder / "conf.db", SCHEMA)
        self.start("ovsdb-server", self.folder / "conf.db", f"--remote=p{database}", f"--unixctl={sockets}/db.ctl",
                   f"--log-file={self.folder}/db.log", env=self.env)
        self.wait_ready((sockets / "db.sock").exists, "the database")
        self.vsctl = ["ovs-vsctl", "--timeout=20", f"--db={database}"]
        self.call(*self.vsctl, "--no-wait", "init")
        process = self.start("ovs-vswitchd", database, f"--unixctl={self.control}", f"--log-file={self.folder}/log",
                             "--enable-dummy", env={**self.env, **self.own_env})
        self.call(*self.vsctl, "add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=dummy")
        for port in ("p1", "p2"):
            self.call(*self.vsctl, "add-port", "br0", port, "--", "set", "interface", port, "type=dummy")
        wait_for(self.bridge.exists, "the bridge")
        return process

    def call(self, *command):
        return run(*command, env=self.env, timeout=120)

    def appctl(self, *command):
        return self.call("ovs-appctl", "-t", self.control, *command)

    def work(self, turn):
        self.call("ovs-ofctl", "add-flow", f"unix:{self.bridge}",
                  f"table=0,priority={turn % 1000},in_port=1,tcp,tp_dst={turn % 60000},actions=output:2")
        self.appctl("netdev-dummy/receive", "p1",
                    "in_port(1),eth(src=50:54:00:00:00:05,dst=50:54:00:00:00:07),eth_type(0x0800),"
                    f"ipv4(src=192.0.2.{turn % 250},dst=192.0.2.251,proto=6,tos=0,ttl=64,frag=no),"
                    f"tcp(src=8,dst={turn % 60000})")
        assert f"tp_dst={turn % 60000}" in self.call("ovs-ofctl", "dump-flows", f"unix:{self.bridge}")
        if turn % 20 == 19:
            self.call("ovs-ofctl", "del-flows", f"unix:{self.bridge}")
