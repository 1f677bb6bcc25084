# SPDX-License-Identifier: MIT
"""A GlusterFS mount in one process: no glusterd, no network, storage and FUSE in one graph.

The kernel's caches are switched off, so that each operation on a path reaches the translators: a stat of
"a/b" is lookups and one stat.
"""
import contextlib
import os
import threading

from service import Service, run

VOLUME_ID = "11111111-2222-3333-4444-555555555555"
XLATORS = "/usr/lib/x86_64-linux-gnu/glusterfs/10.3/xlator"
STALLED = 60.0  # seconds after which a mount that does not answer is ended

LAYERS = """
volume posix
 type storage/posix
 option directory {brick}
 option volume-id {volume_id}
end-volume
volume locks
 type features/locks
 subvolumes posix
end-volume
{extra}
volume top
 type debug/io-stats
 subvolumes {below}
end-volume
"""


def type_of(translator):
    """The name in a volume file for the translator in the file @translator: types are looked up below a
    folder of /usr."""
    up = "../" * (len(os.path.normpath(XLATORS).split("/")) - 1)
    return up + str(translator).removesuffix(".so").lstrip("/")


class Gluster(Service):
    """One glusterfs process: storage/posix, features/locks, perhaps one of ours, debug/io-stats, FUSE."""

    needs = ["glusterfs", "setfattr"]

    def __init__(self, folder, layer=None, options=None):
        """@layer: the .so file of a translator to put above features/locks, with its @options."""
        super().__init__(folder)
        self.layer, self.options = layer, options or {}

    def volume(self):
        if not self.layer:
            return LAYERS.format(brick=self.brick, volume_id=VOLUME_ID, extra="", below="locks")
        options = "".join(f" option {name} {value}\n" for name, value in self.options.items())
        ours = f"volume ours\n type {type_of(self.layer)}\n{options} subvolumes locks\nend-volume"
        return LAYERS.format(brick=self.brick, volume_id=VOLUME_ID, extra=ours, below="ours")

    def begin(self):
        self.brick, self.mount = self.folder / "brick", self.folder / "mount"
        self.brick.mkdir()
        self.mount.mkdir()
        run("setfattr", "-n", "trusted.glusterfs.volume-id", "-v", "0x" + VOLUME_ID.replace("-", ""), self.brick)
        volume = self.folder / "volume.vol"
        volume.write_text(self.volume())
        process = self.start("glusterfs", "-N", "-f", volume, "-l", self.folder / "log", "--entry-timeout=0",
                             "--attribute-timeout=0", self.mount)
        self.wait_ready(lambda: os.path.ismount(self.mount), "the mount", every=0.02)
        return process

    def finish(self):
        if os.path.ismount(self.mount):
            run("umount", self.mount, check=False)

    @contextlib.contextmanager
    def answering(self):
        """Inside the block: if the mount does not answer, glusterfs is killed, and a process that waits for
        it gets an error."""
        timer = threading.Timer(STALLED, self.process.kill)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def work(self, turn):
        with self.answering():
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
