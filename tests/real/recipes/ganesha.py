# SPDX-License-Identifier: MIT
"""nfs-ganesha with a VFS export, in its own network namespace, and clients of libnfs in there with it.

It listens on every address whatever its Bind_addr says, so it is never run outside such a namespace. The
kernel need not support NFS: the clients are programs, and each is a separate session.
"""
import os

from service import Service, run

PORT = 22049
CONFIG = """
NFS_CORE_PARAM {{
	Protocols = 4;
	NFS_Port = {port}; MNT_Port = 22050; NLM_Port = 22051; Rquota_Port = 22052;
	Enable_NLM = false; Enable_RQUOTA = false;
	DRC_TCP_Recycle_Expire_S = {lease};
	Plugins_Dir = "/usr/lib/x86_64-linux-gnu/ganesha";
}}
NFSV4 {{ Graceless = true; RecoveryBackend = fs; RecoveryRoot = "{folder}/recovery"; Lease_Lifetime = {lease}; }}
EXPORT_DEFAULTS {{ SecType = sys, none; Squash = No_Root_Squash; }}
EXPORT {{
	Export_Id = 1; Path = {folder}/export; Pseudo = /x;
	Access_Type = RW; Protocols = 4; Transports = TCP;
	FSAL {{ Name = VFS; }}
}}
MDCACHE {{ Entries_HWMark = 50; LRU_Run_Interval = 2; }}
LOG {{ Default_Log_Level = EVENT; }}
"""
# An address is needed, because with loopback alone names are not looked up at all (AI_ADDRCONFIG).
ENTER = 'ip link set lo up; ip addr add 192.0.2.1/32 dev lo; exec "$@"'


class Ganesha(Service):
    needs = ["ganesha.nfsd", "nfs-ls", "nfs-cp", "unshare", "nsenter", "ip",
             "/usr/lib/x86_64-linux-gnu/ganesha/libfsalvfs.so"]

    def __init__(self, folder, lease=60):
        """@lease: seconds for which it stores the state of a client that has gone."""
        super().__init__(folder)
        self.lease = lease

    def begin(self):
        self.export = self.folder / "export"
        self.export.mkdir()
        (self.folder / "recovery").mkdir()
        config = self.folder / "ganesha.conf"
        config.write_text(CONFIG.format(port=PORT, folder=self.folder, lease=self.lease))
        process = self.start("unshare", "-n", "sh", "-c", ENTER, "sh", "ganesha.nfsd", "-F", "-f", config,
                             "-L", self.folder / "log", "-p", self.folder / "pid")
        self.wait_ready(lambda: self.answers(process), "an answer to NFS")
        return process

    def url(self, path=""):
        return f"nfs://127.0.0.1/x{path}?version=4&nfsport={PORT}"

    def client(self, pid, *command, check=True):
        return run("nsenter", "-t", pid, "-n", *command, check=check, timeout=120)

    def answers(self, process):
        listed = self.client(process.pid, "sh", "-c", 'nfs-ls "$1" && echo listed', "sh", self.url(), check=False)
        return listed.endswith("listed\n")

    def work(self, turn):
        """Two sessions: one lists, one writes a file, whose size is then checked in the exported folder."""
        name = f"f{turn % 50}"
        both = 'nfs-ls "$1" && exec nfs-cp /etc/passwd "$2"'
        self.client(self.pid, "sh", "-c", both, "sh", self.url(), self.url(f"/{name}"))
        assert (self.export / name).stat().st_size == os.stat("/etc/passwd").st_size
        (self.export / name).unlink()
