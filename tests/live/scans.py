# SPDX-License-Identifier: MIT
"""Run `mmattach scan`, and look into its JSON report."""
import json
import re
import subprocess

from harness import MMATTACH

LIMIT = 120.0
CART = "shop::cart"
ITEM = "shop::item"


class Scanned:
    def __init__(self, args, done):
        self.args = args
        self.status = done.returncode
        self.out = done.stdout.decode(errors="replace")
        self.err = done.stderr.decode(errors="replace")

    def json(self, status=0):
        assert self.status == status, f"{self.args}: status {self.status}: {self.err}"
        return json.loads(self.out)


def scan(*args, form="json", **kwargs):
    """mmattach scan with @args; kwargs are subprocess.run's."""
    argv = [str(a) for a in (MMATTACH, "scan", "--format", form, *args)]
    kwargs.setdefault("stdin", subprocess.DEVNULL)
    return Scanned(argv, subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT, **kwargs))


def groups(report, verdict=None, label=None):
    return [g for g in report["groups"] if (verdict is None or g["verdict"] == verdict) and (label is None or g["label"] == label)]


def assert_schema(report):
    """Every key of the contract, with its type (DESIGN: keys are added to a watch's, never renamed)."""
    assert {"mmattach", "target", "run", "totals", "groups", "refs", "double_frees", "suppressed", "filtered",
            "suppressions_used", "notes", "scan"} <= set(report)
    assert report["mmattach"]["schema"] == 1
    assert report["run"]["mode"] == "scan"
    for g in report["groups"]:
        assert g["verdict"] in ("unknown", "definite", "indirect", "possible", "reachable")
        assert isinstance(g["label"], str) or g["stack"], g
        assert g["blocks"] > 0 and g["size_low"] <= g["bytes"] // g["blocks"] <= g["size_high"]
        assert all(re.fullmatch("0x[0-9a-f]+", s) for s in g["examples"])
    s, run = report["scan"], report["run"]["verdicts"]
    assert run["known"] != bool(run["why_not"])
    assert run["census"] == s["heap"]["known"]
    for verdict, watched in run["watched"].items():
        with_stack = [g for g in groups(report, verdict) if g["stack"]]
        assert watched["blocks"] >= sum(g["blocks"] for g in with_stack) and watched["bytes"] >= sum(g["bytes"] for g in with_stack)
        assert watched["blocks"] == sum(g["blocks"] for g in with_stack) or not run["known"] or report["filtered"]["groups"] or report["suppressed"]["groups"]
    assert sum(v["blocks"] for v in run["all"].values()) == report["totals"]["live_blocks"]
    assert sum(v["bytes"] for v in run["all"].values()) == report["totals"]["live_bytes"]


def assert_adds_up(report):
    """In each arena, blocks, free memory and top add up to what the allocator has from the system."""
    heap = report["scan"]["heap"]
    assert heap["known"], heap["layout"]
    assert report["scan"]["problems"] == []
    for a in heap["arenas"]:
        parts = sum(a[k]["bytes"] for k in ("used", "fast", "tcache", "bins")) + a["top"] + a["other"]
        assert parts == a["walked"] == a["system"], a
    assert heap["mmapped"]["claimed"] in (None, heap["mmapped"]["bytes"])
    assert heap["adds_up"]
    assert heap["system"] == heap["used"] + heap["free"]["bytes"] + heap["top"] + heap["other"]


def sums(report, verdict, label):
    found = groups(report, verdict, label)
    return sum(g["blocks"] for g in found)


def assert_truth(report, truth):
    """The carts and items that it lost are lost, no others are, and those it still uses are reachable."""
    assert_schema(report)
    assert sums(report, "definite", CART) == truth["lost_carts"]
    assert sums(report, "indirect", ITEM) == truth["lost_items"]
    assert sums(report, "reachable", CART) == truth["kept_carts"]
    assert sums(report, "reachable", ITEM) == truth["kept_carts"] * 3
    lost = groups(report, "definite", CART)[0]
    assert lost["class"] == CART and lost["class_module"].endswith("/held")
    assert lost["indirect_blocks"] == truth["lost_items"]
    assert lost["indirect_bytes"] == sum(g["bytes"] for g in groups(report, "indirect", ITEM))
    assert report["totals"]["live_blocks"] >= truth["kept"] + 4 * (truth["lost_carts"] + truth["kept_carts"])
