# SPDX-License-Identifier: MIT
"""Services that lose blocks and record each in a ledger, one line per block: kept busy while they are
watched.

glusterfs with a translator that loses a note at each mkdir, and inodes (leaky_xlator.c); ovs-vswitchd with a
library that loses a block for each connection that it accepts (ovs_leak.c).
"""
import pathlib

from gluster import Gluster, type_of
from openvswitch import Ovs

EVERY_S = 0.05  # between the beginnings of two units of load


class Lossy:
    """The ledger's lines begin with @word, the losing function is @function; @options are mmattach's for this
    service."""

    def __init__(self, service, ledger, word, function, options=()):
        self.service, self.ledger, self.word, self.function, self.options = service, ledger, word, function, list(options)

    def lost(self):
        return sum(line.startswith(self.word + " ") for line in self.ledger.read_text().splitlines())

    def during(self, watch, every=EVERY_S):
        """@watch(), which returns a report, while the service is busy: (the report, blocks lost a minute
        meanwhile, units served). @every: seconds between the beginnings of two units of load."""
        self.service.load(0.5)
        with self.service.busy(every=every) as served:
            before, turns = self.lost(), len(served)
            report = watch()
            return report, 60 * (self.lost() - before) / report["run"]["seconds"], len(served) - turns

    def found(self, report):
        """The groups of the losing function that are reported as leaking."""
        return [g for g in report["groups"] if g["turnover"] == "stays" and any(f["function"] == self.function for f in g["stack"])]


def lossy_mount(begin, folder, targets):
    """@begin(recipe, ...) starts a service; @targets: the folder of the translators."""
    folder, targets = pathlib.Path(folder), pathlib.Path(targets)
    options = {"ledger": folder / "ledger", "passing": type_of(targets / "passing_xlator.so")}
    mount = begin(Gluster, layer=targets / "leaky_xlator.so", options=options)
    return Lossy(mount, folder / "ledger", "note", "leaky_mkdir", ["--lose-sigtrap"])


def lossy_switch(begin, folder, targets):
    """The block is lost in lose_at_accept, which only forwards the allocation: the allocation site is its
    caller."""
    ledger = pathlib.Path(folder, "ledger")
    ovs = begin(Ovs, env={"LD_PRELOAD": str(pathlib.Path(targets, "ovs_leak.so")), "MM_LEDGER": str(ledger)})
    return Lossy(ovs, ledger, "accept", "accept")
