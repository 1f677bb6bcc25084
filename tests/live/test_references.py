# SPDX-License-Identifier: MIT
"""Objects with references: exactly those that leak are reported, with the stacks that acquired them, whatever
the victim (refs.c) does with their addresses.

Counted: the references that the watched functions acquired and released. Absolute: the count in the object
(count=).
"""
import json
import re

import pytest

from harness import lost, wait_for
from test_trace import mmattach, pieces_of, report
from untouched import assert_untouched

COUNTED = """family unit refs of=unit
ref   object_new     obj=ret
ref   object_create  obj=ret
ref   object_ref
unref object_unref
"""
ABSOLUTE = """family unit refs of=unit
ref   object_new     obj=ret  count=*u32(ret+0x50)
ref   object_create  obj=ret  count=*u32(ret+0x50)
ref   object_ref     count=*u32(arg1+0x50)
unref object_unref   count=*u32(arg1+0x50)
"""
BOTH = pytest.mark.parametrize("rules", [COUNTED, ABSOLUTE], ids=["counted", "absolute"])


@pytest.fixture
def refs(victim, attach, tmp_path):
    """refs(RULES, BEFORE, ORDERS, OPTION...): what the victim had before and has now, and the watch of the
    ORDERS, which has ended."""
    def run(rules, before, orders, *options, status=0, **kwargs):
        target = victim("refs")
        file = tmp_path / "own.probes"
        file.write_text(rules)
        old = told = target.ask(before)
        watch = attach(target, "--probes", file, *options, **kwargs)
        for order in orders:
            told = target.ask(order, limit=120)
        watch.interrupt()
        assert watch.wait() == status, watch.said()
        assert_untouched(target)
        assert target.end() == told
        return old, told, watch

    return run


def read(watch):
    got = json.loads(watch.process_output())
    assert lost(got) == {}
    return got


def totals(got):
    return {t["family"]: (t["acquired"], t["released"], t["live"]) for t in got["families"] if t["references"]}


def changes(old, told):
    """Calls during the watch: (acquired, released)."""
    new = {key: told[key] - old[key] for key in ("births", "refs", "unrefs")}
    return new["births"] + new["refs"], new["unrefs"]


def where(use):
    return use["stack"][use["wrappers"]]["function"]


def nets(got):
    """{object: net} of all groups, as --per-object lists them."""
    found = {}
    for group in got["refs"]:
        for its in group["object_list"]:
            assert its["address"] not in found
            found[its["address"]] = group["net"]
    return found


def born_since(old, told):
    return {address: count for address, count in told["objects"].items() if address not in old["objects"]}


@BOTH
def test_who_forgets(refs, rules):
    """One look-up in ten leaks: exactly those objects, by signature, and which of the stacks is most
    suspect."""
    old, told, watch = refs(rules, "make 20", ["run 600", "jump 7"], "--per-object")
    got = read(watch)
    assert told["forgot"] == 30
    assert totals(got) == {"unit": (*changes(old, told), 30)}
    assert nets(got) == born_since(old, told)
    assert set(nets(got).values()) == {1}
    # objects are made at two places in make_one, which gives two signatures; otherwise all have the same
    assert len(got["refs"]) == 2
    for group in got["refs"]:
        assert (group["older"], group["counted"], group["noun"]) == (False, rules is ABSOLUTE, "unit")
        assert sorted(map(where, group["acquired"])) == ["look_up", "make_one", "touch"]
        assert sorted(map(where, group["released"])) == ["release", "touch"]
        assert {use["per_object"] for use in group["acquired"] + group["released"]} == {1.0}
        suspect = group["acquired"][0]
        assert (where(suspect), suspect["outstanding"], suspect["acquired_in_all"]) == ("look_up", 30, 300)
        assert set(group["examples"]) <= set(born_since(old, told))
    assert got["totals"]["allocs"] == 0 and got["groups"] == []


@BOTH
def test_text(refs, rules):
    _, _, watch = refs(rules, "make 2", ["run 600"], json_report=False)
    text = watch.process_output().decode()
    assert ": 30 of 1500 references acquired " in text
    entry = text[text.index("\n[1] "):]
    assert re.match(r"\n\[1\] \d+ units with 1 reference too many \(net 1\): acquired 3 times, released twice", entry)
    assert entry.index("MOST SUSPECT") < entry.index("#0 look_up") < entry.index("#0 touch")


def test_older_objects_counted(refs):
    """Objects older than the watch are known only by changes: relative counts, and fewer than before is no
    leak."""
    old, told, watch = refs(COUNTED, "make 10", ["more 6", "less 2", "less 8", "less 8"], "--per-object", "--error-exitcode", "9",
                            status=0)
    got = read(watch)
    assert totals(got)["unit"][:2] == changes(old, told)
    changed = {o: told["objects"].get(o, 0) - n for o, n in old["objects"].items()}
    assert nets(got) == {o: n for o, n in changed.items() if n}
    assert all(group["older"] and not group["counted"] and group["net"] < 0 for group in got["refs"])


def test_older_objects_absolute(refs):
    """The count in the object is right for older objects, too. Objects that were not touched are not
    known."""
    old, told, watch = refs(ABSOLUTE, "make 10", ["more 6", "less 2"], "--per-object", "--error-exitcode", "9", status=9)
    got = read(watch)
    touched = [o for o, n in told["objects"].items() if n != old["objects"][o]] + [o for o in told["objects"]
                                                                                  if nets(got).get(o) == 2]
    assert nets(got) == {o: told["objects"][o] for o in touched}
    assert sorted(nets(got).values()) == [2, 2, 3, 3, 3, 3]
    assert all(group["older"] and group["counted"] for group in got["refs"])


@BOTH
def test_addresses_used_again(refs, rules):
    """Objects die without a watched call, and the next one is created at the same address: what was known
    about the address is then void. The death of the last one is seen only by its count.
    """
    old, told, watch = refs(rules, "make 1", ["quiet 50", "run 1", "quiet 1"], "--per-object")
    got = read(watch)
    assert born_since(old, told) == {}
    assert totals(got)["unit"][:2] == changes(old, told)
    if rules is ABSOLUTE:
        assert nets(got) == {}
    else:
        assert list(nets(got).values()) == [2]
    note = "50 times an address became another object's while references to the one before were left"
    assert [n for n in got["notes"] if n.startswith(note)], got["notes"]


def test_a_reference_taken_where_nobody_looks(refs):
    old, told, watch = refs(ABSOLUTE, "make 1", ["hidden 12"], "--per-object")
    assert nets(read(watch)) == born_since(old, told)
    old, told, watch = refs(COUNTED, "make 1", ["hidden 12"], "--per-object")
    assert nets(read(watch)) == {} and len(born_since(old, told)) == 12


def test_status(refs):
    refs(COUNTED, "make 1", ["run 9"], "--error-exitcode", "9", status=0)
    refs(COUNTED, "make 1", ["run 20"], "--error-exitcode", "9", status=9)
    # objects that only lost older references are no error
    refs(COUNTED, "make 3", ["less 3"], "--error-exitcode", "9", status=0)


@BOTH
def test_per_object_text(refs, rules):
    """The sections of the old script: each object with its count, then the acquiring stacks, then the
    releasing ones."""
    old, told, watch = refs(rules, "make 1", ["run 100"], "--per-object", json_report=False)
    text = watch.process_output().decode()
    sections = text[text.index("\nROUND : 0\n"):]
    counts, traces = sections.split("\nRef Traces :\n")
    taken, dropped = traces.split("\n------\n\nUnref traces\n")
    assert dict(re.findall(r"^([0-9a-f]+) : (-?\d+)$", counts, re.M)) == {
        o[2:]: str(n) for o, n in born_since(old, told).items()}
    for o in born_since(old, told):
        assert len(re.findall(rf"^ptr : {o[2:]}$", taken, re.M)) == 3
        assert len(re.findall(rf"^ptr : {o[2:]}$", dropped, re.M)) == 2
    assert len(re.findall(r"^look_up \[refs\+0x[0-9a-f]+\]$", taken, re.M)) == len(born_since(old, told)) == 5


def test_rounds_keep_what_they_saw(victim, attach, tmp_path):
    """An object that is quiet after the first round appears in every later one, and its last count is right
    in each."""
    target = victim("refs")
    file = tmp_path / "own.probes"
    file.write_text(ABSOLUTE)
    watch = attach(target, "--probes", file, "--per-object", "--interval", "1s", json_report=False)
    first = set(target.ask("run 20")["objects"])
    assert len(first) == 1

    def rounds_seen():
        text = "\n".join(watch.out.all)
        return {int(number): dict(re.findall(r"^([0-9a-f]+) : (-?\d+)$", section, re.M))
                for number, section in re.findall(r"^ROUND : (\d+)\n(.*?)\n-----------$", text, re.M | re.S)}

    wait_for(lambda: any(seen for seen in rounds_seen().values()), "a round")
    second = set(target.ask("run 20")["objects"])
    now = max(rounds_seen())
    wait_for(lambda: max(rounds_seen()) >= now + 2, "two rounds more")
    watch.interrupt()
    assert watch.wait() == 0, watch.said()
    watch.process_output()
    seen = rounds_seen()
    assert list(seen) == sorted(seen)
    assert {"0x" + o for o in seen[min(n for n in seen if seen[n])]} >= first
    assert {"0x" + o for o in seen[max(seen)]} == second and len(second) == 2
    assert_untouched(target)
    target.end()


@BOTH
@pytest.mark.parametrize("form", ["json", "text"])
def test_live_and_from_the_trace(refs, tmp_path, rules, form):
    trace, small, again = (tmp_path / name for name in ("t.mmt", "small.mmt", "again.mmt"))
    options = ["-o", trace, "--format", form, "--top", "0", "--per-object"]
    _, _, watch = refs(rules, "make 9", ["run 300", "more 4", "quiet 9", "less 6", "hidden 3"], *options, json_report=False)
    live = watch.process_output()
    mmattach("shrink", trace, "-o", small)
    mmattach("shrink", small, "-o", again)
    for saved in (trace, small, again):
        assert report("--per-object", saved, form=form) == live


@BOTH
def test_rotated(refs, tmp_path, rules):
    trace = tmp_path / "t.mmt"
    _, _, watch = refs(rules, "make 9", ["run 10000", "more 4", "quiet 9", "threads 3 6000", "less 6", "hidden 3"], "-o", trace,
                       "--rotate", "64K", "--top", "0", "--per-object")
    live = watch.process_output()
    pieces = pieces_of(trace)
    assert len(pieces) > 3
    assert report("--per-object", *pieces) == live
    small = [tmp_path / f"small.{piece.name}" for piece in pieces]
    for piece, its in zip(pieces, small):
        mmattach("shrink", piece, "-o", its)
    assert report("--per-object", *small) == live
    together = tmp_path / "together.mmt"
    mmattach("shrink", *small, "-o", together)
    assert report("--per-object", together) == live
    # some shrunk, some not; the first ones shrunk together
    mmattach("shrink", *pieces[:2], "-o", together)
    assert report("--per-object", together, *small[2:3], *pieces[3:]) == live


@BOTH
def test_eight_threads(refs, rules):
    """All threads acquire from the pool at once, and all touch the same few objects: both methods give the
    truth. Their records fit into the ring of the kernel's probes, even if the reader has no processor meanwhile."""
    for _ in range(3):
        old, told, watch = refs(rules, "make 3", ["threads 8 90", "run 20"], "--per-object")
        got = read(watch)
        assert totals(got) == {"unit": (*changes(old, told), told["forgot"])}
        assert nets(got) == born_since(old, told)
        for group in got["refs"]:
            assert where(group["acquired"][0]) == "look_up"


UNSEEN = """family conn refs of=connection
ref   conn_new  obj=ret  count=*u32(ret)
unref conn_put  count=*u32(arg1)
"""


def test_a_count_is_read_before_it_is_changed(victim, attach, tmp_path):
    """The first instruction of conn_put releases the reference. No rule sees those that are acquired, as if
    that were inlined: the counts show them."""
    (tmp_path / "own.probes").write_text(UNSEEN)
    target = victim("leaky_refs")
    watch = attach(target, "--probes", tmp_path / "own.probes", "-d", "2s")
    assert watch.wait() == 0, watch.said()
    found = [(g["net"], g["objects"]) for g in read(watch)["refs"] if g["net"] > 0]
    assert any(net == 1 and objects > 5 for net, objects in found), found
    assert_untouched(target)
