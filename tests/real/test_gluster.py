# SPDX-License-Identifier: MIT
"""A GlusterFS mount with a translator in it that loses dicts, inodes and blocks, and records which
(leaky_xlator.c)."""
import contextlib
import os
import struct

import pytest

from gluster import Gluster, type_of
from harness import lost, wait_for
from reports import blocks, functions, of_family, where
from untouched import assert_untouched, state_letters

INODE_REF = 0x50  # struct inode of 10.3: the offset of its count, four bytes


class LeakyMount:
    """The mount, and the losses that its translator has recorded since the last call of lost()."""

    def __init__(self, service, ledger):
        self.service, self.ledger, self.read = service, ledger, 0
        self.pid, self.mount = service.pid, service.mount
        self.alive, self.said, self.process = service.alive, service.said, service.process

    def lost(self):
        """{what: [address, ...]} since the last call."""
        told = self.ledger.read_text()
        new, self.read = told[self.read:], len(told)
        found = {}
        for what, address in (line.split() for line in new.splitlines()):
            found.setdefault(what, []).append(address)
        return found

    @contextlib.contextmanager
    def used(self):
        """The mount answers before it has finished its own work: at the end of this block it has finished."""
        with self.service.answering():
            yield
        wait_for(lambda: state_letters(self.pid) == {"S"}, "all its threads wait", every=0.02)

    def stat_all(self, names):
        with self.used():
            for name in names:
                os.stat(self.mount / name)

    def mkdir_all(self, names):
        with self.used():
            for name in names:
                os.mkdir(self.mount / name)

    def look_for_nothing(self, times):
        """Lookups only, of names that do not exist."""
        with self.used():
            for i in range(times):
                assert not os.path.exists(self.mount / f"none{i}")

    def work(self, units, dicts=0):
        """So many units of load, and more until so many dicts are lost."""
        with self.used():
            self.service.work_through(units)
            while self.ledger.read_text()[self.read:].count("dict ") < dicts:
                self.service.work_through(5)

    def word(self, address):
        """Four bytes of its memory."""
        with open(f"/proc/{self.pid}/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            return struct.unpack("<I", memory.read(4))[0]


@pytest.fixture
def mounted(serve, built, tmp_path):
    ledger = tmp_path / "ledger"
    options = {"ledger": ledger, "passing": type_of(built("passing_xlator.so"))}
    service = serve(Gluster, layer=built("leaky_xlator.so"), options=options)
    mount = LeakyMount(service, ledger)
    mount.work(20)  # what is made only once is made before the watch
    mount.lost()
    return mount


@pytest.fixture
def watch_mount(mounted, watch):
    """watch_mount(ARG...): mmattach, attached to it. glusterfs has a handler for SIGTRAP, which prints why it
    died."""
    return lambda *args, **kwargs: watch("-p", mounted.pid, "--lose-sigtrap", *args, **kwargs).wait_watching()


@pytest.fixture
def families(watch_mount):
    """families(A, B): a watch of these, without verdicts, which split their groups."""
    return lambda *names: watch_mount("--verdicts", "no", "--family", ",".join(names))


def leaked(report, family):
    """The groups of references that were not released, without objects older than the watch."""
    return [group for group in of_family(report, family, "refs") if group["net"] > 0 and not group["older"]]


def suspect(group):
    """The allocation site of its most suspect reference."""
    return where(group["acquired"][0])


def test_one_dict_in_ten_lookups(mounted, families):
    run = families("dict")
    mounted.look_for_nothing(300)
    report = run.finish()
    truth = mounted.lost()["dict"]
    assert len(truth) >= 30
    groups = of_family(report, "dict", "refs")
    assert [(g["objects"], g["net"], suspect(g)) for g in groups] == [(len(truth), 1, "leaky_lookup")]
    assert groups[0]["examples"] and set(groups[0]["examples"]) <= set(truth)
    taken = groups[0]["acquired"][0]
    assert (taken["outstanding"], taken["acquired_in_all"]) == (len(truth), len(truth))
    assert taken["stack"][0]["module"].endswith("/leaky_xlator.so")
    assert sum(t["count"] for t in groups[0]["acquired"]) == sum(t["count"] for t in groups[0]["released"]) + len(truth)
    assert lost(report) == {}
    assert_untouched(mounted)


def test_the_rest_of_a_loaded_mount_keeps_none(mounted, families):
    run = families("dict")
    mounted.work(20, dicts=20)
    report = run.finish()
    truth = mounted.lost()["dict"]
    totals = next(t for t in report["families"] if t["family"] == "dict")
    assert len(truth) >= 20 and totals["acquired"] > 20 * len(truth)
    groups = of_family(report, "dict", "refs")
    assert sum(g["objects"] for g in groups) == totals["live"] == len(truth)
    assert {(g["net"], suspect(g)) for g in groups} == {(1, "leaky_lookup")}
    assert totals["acquired"] - totals["released"] == len(truth)


def test_one_inode_in_ten_stats(mounted, families):
    names = [f"file{i}" for i in range(100)]
    for name in names:
        (mounted.mount / name).write_bytes(b"x")
    mounted.lost()
    run = families("inode")
    mounted.stat_all(names)
    report = run.finish()
    truth = mounted.lost()["inode"]
    assert len(set(truth)) == len(truth) == 10
    groups = leaked(report, "inode")
    assert [(g["objects"], g["net"], suspect(g)) for g in groups] == [(len(truth), 1, "leaky_stat")]
    assert set(groups[0]["examples"]) <= set(truth)
    assert groups[0]["counted"]


def test_inode_counts_are_the_field(mounted, families):
    """Under load, with inodes older than the watch: the reported count is the one in the object."""
    names = [f"file{i}" for i in range(50)]
    for name in names:
        (mounted.mount / name).write_bytes(b"x")
    run = families("inode")
    mounted.work(20)
    mounted.stat_all(names)
    report = run.finish()
    truth = mounted.lost()["inode"]
    groups = of_family(report, "inode", "refs")
    for group in groups:
        nets = {mounted.word(int(address, 16) + INODE_REF) for address in group["examples"]}
        assert nets == {group["net"]}, group
    kept = leaked(report, "inode")
    assert {suspect(g) for g in kept} == {"leaky_stat"}
    assert sum(g["objects"] * g["net"] for g in kept) == len(truth)


def test_a_block_a_mkdir_by_its_type(mounted, families):
    run = families("gf")
    mounted.mkdir_all(f"folder{i}" for i in range(40))
    report = run.finish()
    truth = mounted.lost()["note"]
    notes = [g for g in of_family(report, "gf") if g["tag"] == "gf_leaky_mt_note"]
    assert [(g["blocks"], g["bytes"], where(g)) for g in notes] == [(40, 40 * 200, "leaky_mkdir")]
    assert len(truth) == 40 and set(notes[0]["examples"]) <= set(truth)
    assert all(g["tag"] for g in of_family(report, "gf"))
    assert_untouched(mounted)


def test_pooled_objects(mounted, families):
    """A lost dict is a lost object of a pool: allocated in dict_new, for a lookup."""
    run = families("mempool")
    mounted.look_for_nothing(100)
    report = run.finish()
    truth = mounted.lost()["dict"]
    dicts = [g for g in of_family(report, "mempool")
             if "dict_new" in functions(g)[:g["wrappers"] + 2] and g["blocks"] > 5]
    assert [g["blocks"] for g in dicts] == [len(truth)]
    assert set(dicts[0]["examples"]) <= set(truth)
    assert dicts[0]["bytes"] >= 48 * len(truth)


def test_pools_and_types_balance_under_load(mounted, families):
    """All families at once; of all that the load allocates only the translator's losses stay."""
    run = families("gf", "mempool", "dict", "inode")
    mounted.work(6)
    report = run.finish(limit=60)
    truth = mounted.lost()
    notes = [g for g in of_family(report, "gf") if g["tag"] == "gf_leaky_mt_note"]
    assert blocks(notes) == len(truth["note"])
    assert sum(g["objects"] for g in leaked(report, "dict")) == len(truth["dict"])
    assert lost(report) == {}
    assert_untouched(mounted)


def test_a_translator_that_was_unloaded_is_named(mounted, families):
    run = families("gf", "dict")
    mounted.mkdir_all(["passing"])
    with open(f"/proc/{mounted.pid}/maps", encoding="utf-8") as maps:
        assert "passing_xlator" not in maps.read()
    report = run.finish()
    truth = mounted.lost()
    notes = [g for g in of_family(report, "gf") if "passing_note" in functions(g)]
    assert [(g["blocks"], where(g), functions(g)[g["wrappers"] + 1]) for g in notes] == \
        [(len(truth["passing-note"]), "passing_note", "passing_notify")]
    assert notes[0]["stack"][notes[0]["wrappers"]]["module"].endswith("/passing_xlator.so")
    dicts = [g for g in leaked(report, "dict") if "passing_notify" in functions(g["acquired"][0])]
    assert [(g["objects"], g["net"]) for g in dicts] == [(len(truth["passing-dict"]), 1)]


def test_post_mortem_says_the_same(mounted, watch_mount, watch, tmp_path):
    """With the mount gone: the saved trace names everything."""
    trace = tmp_path / "gluster.mmt"
    run = watch_mount("--family", "dict,gf", "-o", trace)
    mounted.mkdir_all(["passing"])
    mounted.look_for_nothing(150)
    report = run.finish()
    mounted.service.__exit__()
    again = watch("report", trace).finish(sig=None)
    assert again["refs"] == report["refs"] and again["groups"] == report["groups"]


def test_per_object_sections(mounted, watch_mount):
    """The old script's sections, one object after the other."""
    run = watch_mount("--family", "dict", "--per-object", json_report=False)
    mounted.look_for_nothing(50)
    run.interrupt()
    assert run.wait() == 0, run.said()
    text = run.out.text()
    truth = mounted.lost()["dict"]
    for title in ("ROUND : 0", "Net ref counts for each ptr", "Ref Traces", "Unref traces"):
        assert title in text
    for address in truth:
        assert f"{address.removeprefix('0x')} : 1" in text


def test_libc_under_load(mounted, watch_mount):
    """The default family on the same mount: __gf_malloc is a wrapper there, and the note's allocation site is
    its caller."""
    run = watch_mount()
    mounted.mkdir_all(f"folder{i}" for i in range(40))
    mounted.work(5)
    report = run.finish(limit=60)
    notes = [g for g in of_family(report, "libc") if "leaky_mkdir" in functions(g)]
    assert blocks(notes) == len(mounted.lost()["note"])
    assert lost(report) == {}
    assert_untouched(mounted)
