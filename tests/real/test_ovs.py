# SPDX-License-Identifier: MIT
"""ovs-vswitchd, stripped and without a symbol of its own: its allocation sites are found at the callers of
its wrappers."""
from harness import lost, rounds, wait_for
from openvswitch import Ovs
from reports import functions, of_family, where, whole_share
from untouched import assert_untouched

# Debian's 3.1.0-2+deb12u1: where xmalloc, xcalloc and xrealloc call libc.
WRAPPERS = {"0x16d423", "0x16d4c5", "0x16d815"}


def is_wrapper(frame):
    return frame["module"].endswith("/ovs-vswitchd") and frame["offset"] in WRAPPERS


def test_served_under_load(serve, watch):
    ovs = serve(Ovs)
    run = watch("-p", ovs.pid, "--verdicts", "no").wait_watching()
    with ovs.busy() as served:
        wait_for(lambda: len(served) >= rounds(25, 60), "load", 180)
    report = run.finish(limit=60)
    assert lost(report) == {}
    assert whole_share(report) > 0.999
    assert report["totals"]["allocs"] > 80 * len(served)
    assert_untouched(ovs)


def test_flows_that_stay_are_found_behind_the_wrappers(serve, watch):
    """Through its own interface: flows that are not deleted, each of some blocks, all of them allocated
    through xmalloc & co."""
    ovs = serve(Ovs)
    run = watch("-p", ovs.pid, "--verdicts", "no").wait_watching()
    flows = 400
    file = ovs.folder / "flows"
    file.write_text("".join(f"priority={i},in_port=1,ip,nw_dst=198.51.{i // 256}.{i % 256},actions=output:2\n"
                            for i in range(1, flows + 1)))
    ovs.call("ovs-ofctl", "add-flows", f"unix:{ovs.bridge}", file)
    report = run.finish(limit=60)
    groups = of_family(report, "libc")
    kept = [g for g in groups if g["blocks"] == flows]
    assert kept, sorted(g["blocks"] for g in groups)[-10:]
    for group in kept:
        assert is_wrapper(group["stack"][0]) and group["wrappers"] > 0
    assert not [where(g) for g in groups if is_wrapper(g["stack"][g["wrappers"]])]
    assert_untouched(ovs)


def test_a_library_that_leaks_in_it(serve, watch, built, tmp_path):
    """Preloaded into it (ovs_leak.c), losing a block for each connection it accepts."""
    ledger = tmp_path / "ledger"
    ovs = serve(Ovs, env={"LD_PRELOAD": str(built("ovs_leak.so")), "MM_LEDGER": str(ledger)})
    before = len(ledger.read_text().splitlines()) if ledger.exists() else 0
    run = watch("-p", ovs.pid, "--verdicts", "no").wait_watching()
    for _ in range(50):
        ovs.appctl("version")
    report = run.finish()
    truth = [line.split()[1] for line in ledger.read_text().splitlines()[before:]]
    assert len(truth) == 50
    groups = [g for g in of_family(report, "libc") if "lose_at_accept" in functions(g)]
    assert [(g["blocks"], where(g)) for g in groups] == [(50, "lose_at_accept")]
    assert set(groups[0]["examples"]) <= set(truth)
    callers = [frame["module"].rpartition("/")[2] for frame in groups[0]["stack"][1:]]
    assert callers[0] == "ovs_leak.so" and "ovs-vswitchd" in callers
    assert lost(report) == {}
    assert_untouched(ovs)
