# SPDX-License-Identifier: MIT
"""`mmattach merge`: the merged trace has the sums of its parts, whatever the order and the steps in which it was made.

Traces of no program (mmt_made.py), so that every number is known; and those of tests/golden/inputs.
"""
import itertools
import json
import os
import random
import shutil
import subprocess

import pytest

from mmt_made import MMT, Trace
from test_exports import INPUTS, MMATTACH, names_of_formats, run

REAL = ["service", "service_later", "verdicts", "medley", "unloaded", "families", "scopes"]
SECOND = 1_000_000
FUNCTIONS = ["leak", "cache", "session", "log"]
LIBRARY = {"path": "/lib/libsvc.so", "build_id": "c0ffee"}


def merge(out, *words, check=True):
    done = subprocess.run([str(word) for word in (MMATTACH, "merge", *words, "-o", out)], capture_output=True, text=True, timeout=120,
                          check=False)
    assert not check or (done.returncode, done.stderr) == (0, ""), done.stderr
    return out if check else done


def text_of(path, *options):
    return run(MMATTACH, "report", *options, path).decode()


def json_of(path, *options):
    return run(MMATTACH, "report", "--format", "json", *options, path)


def report(path, *options):
    return json.loads(json_of(path, *options))


def begun(number, seconds=10, **fields):
    """A trace of process 1000 + NUMBER, with a library at an address of its own."""
    made = Trace(**{"mode": "exact", "id": f"process {number:08}".encode(), "host": f"host{number % 3}",
                    "start": 10**18 + number * 10**9, **fields})
    made.put("TARGET", pid=1000 + number, comm="svc", exe="/bin/svc", args=["svc", str(number)])
    made.put("FAMILY_NAME", family=1, name="libc")
    made.put("MODULE", number=0, file=1, bias=number << 20, low=number << 20, high=(number << 20) + 0x10000, **LIBRARY)
    made.put("PROBE", number=0, family=1, rule="alloc malloc size=arg1", module="/lib/libc.so.6")
    made.seconds = seconds
    made.number = number
    return made


def define(made, functions=FUNCTIONS):
    """A stack for each function, called by main; in an order of the trace's own, so that numbers differ."""
    order = [*functions]
    random.Random(made.number).shuffle(order)
    for at, name in enumerate(order):
        offset = 0x100 * (1 + FUNCTIONS.index(name)) if name in FUNCTIONS else 0x8000
        for frame, pc, function in ((2 * at, offset, name), (2 * at + 1, 0x4000, "main")):
            made.put("FRAME", number=frame, pc=(made.number << 20) + pc, module=0)
            made.put("NAMES", frame=frame, names=[(function, "svc.c")])
        made.put("NODE", number=2 * at + 1, caller=0, frame=2 * at + 1)
        made.put("NODE", number=2 * at + 2, caller=2 * at + 1, frame=2 * at)
        made.put("STACK", number=at, node=2 * at + 2)
    return {name: at for at, name in enumerate(order)}


def svc(folder, number, seconds=10):
    """A process in which some blocks of each function stay; written as NUMBER.mmt."""
    made, rng = begun(number, seconds), random.Random(number)
    stacks = define(made)
    made.put("FAMILY", family=1)
    address = 0x10000
    for at in range(rng.randint(20, 60)):
        now = seconds * SECOND * at // 60
        made.put("ALLOC", now, address=address, size=rng.choice([16, 100, 5000]), stack=stacks[rng.choice(FUNCTIONS)])
        if rng.random() < 0.5:
            made.put("FREE", now + 10, address=address)
        address += 0x10000
    made.put("HITS", probe=0, hits=number + 1)
    made.put("LOST", reason="ring full", count=number)
    made.put("COUNT", which=1, value=100 + number)
    return finished(made, folder / f"{number}.mmt")


def finished(made, path):
    made.put("END", made.seconds * SECOND)
    path.write_bytes(made.bytes())
    return path


def by_function(document):
    """Of each stack, by its first function: blocks, bytes, allocs, frees."""
    found = {}
    for group in document["groups"]:
        sums = found.setdefault((group["stack"][0]["function"], group["verdict"]), [0] * 4)
        for i, key in enumerate(("blocks", "bytes", "allocs", "frees")):
            sums[i] += group[key]
    return found


def added(documents):
    sums = {}
    for document in documents:
        for key, numbers in by_function(document).items():
            sums[key] = [a + b for a, b in zip(sums.get(key, [0] * 4), numbers)]
    return sums


# --- sums ---

def assert_sums(whole, parts):
    for key in ("allocs", "frees", "unmatched_frees", "double_frees", "live_blocks", "live_bytes"):
        assert whole["totals"][key] == sum(part["totals"][key] for part in parts), key
    assert whole["run"]["events"] == sum(part["run"]["events"] for part in parts)
    for verdict in ("definite", "possible", "indirect", "reachable", "unknown"):
        for of in ("watched", "all"):
            for key in ("blocks", "bytes"):
                assert whole["run"]["verdicts"][of][verdict][key] == sum(part["run"]["verdicts"][of][verdict][key] for part in parts)
    for name in ("block_sizes", "block_ages"):
        for at in (1, 2):
            assert sum(row[at] for row in whole[name]) == sum(row[at] for part in parts for row in part[name])


def test_numbers_are_the_sums(tmp_path):
    paths = [svc(tmp_path, number) for number in range(5)]
    whole, parts = report(merge(tmp_path / "all.mmt", *paths)), [report(path) for path in paths]
    assert_sums(whole, parts)
    assert len(whole["groups"]) == len(FUNCTIONS)
    found, wanted = by_function(whole), added(parts)
    assert {key: numbers[:2] for key, numbers in found.items()} == {key: numbers[:2] for key, numbers in wanted.items()}
    assert whole["run"]["lost"] == {"ring full": sum(range(5))}
    assert sum(probe["hits"] for probe in whole["run"]["probes"]) == sum(range(1, 6))


@pytest.mark.parametrize("names", [REAL, ["service", "service_later"], ["verdicts", "started"]])
def test_numbers_of_programs_are_the_sums(names, tmp_path):
    paths = [INPUTS / f"{name}.mmt" for name in names]
    whole, parts = report(merge(tmp_path / "all.mmt", *paths)), [report(path) for path in paths]
    assert_sums(whole, parts)
    assert {key: numbers[:2] for key, numbers in by_function(whole).items()} == \
        {key: numbers[:2] for key, numbers in added(parts).items()}


def comparable(document):
    """Groups without what is about the process as such, and which of several wrappers represents the others."""
    groups = []
    for group in document["groups"]:
        stack = [{key: value for key, value in frame.items() if key != "pc"} for frame in group["stack"][group["wrappers"]:]]
        left_out = ("examples", "processes", "worst_process", "worst_bytes", "number", "indirect_groups", "wrappers")
        groups.append({**{key: value for key, value in group.items() if key not in left_out}, "stack": stack})
    return sorted(groups, key=str)


@pytest.mark.parametrize("name", ["service", "verdicts", "growth", "wrappers", "started"])
def test_of_one_process_it_says_what_the_trace_says(name, tmp_path):
    one, single = report(merge(tmp_path / "one.mmt", INPUTS / f"{name}.mmt")), report(INPUTS / f"{name}.mmt")
    assert comparable(one) == comparable(single)
    assert one["totals"] == single["totals"]
    hung = [sorted(sum(hang["bytes"] for hang in group.get("indirect_groups", [])) for group in document["groups"])
            for document in (one, single)]
    assert hung[0] == hung[1]


def test_without_verdicts_blocks_are_unknown(tmp_path):
    document = report(merge(tmp_path / "all.mmt", INPUTS / "service.mmt", INPUTS / "unjudged.mmt"))
    sums, unjudged = document["run"]["verdicts"]["watched"], report(INPUTS / "unjudged.mmt")["totals"]
    assert sums["unknown"] == {"blocks": unjudged["live_blocks"], "bytes": unjudged["live_bytes"]}
    assert sums["definite"]["blocks"] == report(INPUTS / "service.mmt")["run"]["verdicts"]["watched"]["definite"]["blocks"]
    assert any(note.startswith("1 process: no verdicts") for note in document["notes"])


def test_a_group_says_in_how_many_processes_it_is(tmp_path):
    paths = []
    for number, (leak, others) in enumerate(((100, 1), (3000, 0), (200, 1))):
        made = begun(number)
        stacks = define(made)
        made.put("FAMILY", family=1)
        made.put("ALLOC", 1, address=0x5000, size=leak, stack=stacks["leak"])
        for at in range(others):
            made.put("ALLOC", address=0x6000 + at * 16, size=50, stack=stacks["cache"])
        paths.append(finished(made, tmp_path / f"{number}.mmt"))
    whole = merge(tmp_path / "all.mmt", *paths)
    document = report(whole)
    groups = {group["stack"][0]["function"]: group for group in document["groups"]}
    assert {name: (group["processes"], group["worst_bytes"]) for name, group in groups.items()} == {"leak": (3, 3000), "cache": (2, 50)}
    assert document["processes"][groups["leak"]["worst_process"]]["pid"] == 1001
    assert document["processes"][groups["cache"]["worst_process"]]["pid"] == 1000     # of equals the first one
    text = text_of(whole)
    assert "in 3 of 3 processes, most in svc (1001) on host1: 3000 B" in text
    assert "3 processes of svc:" in text
    table = text_of(whole, "--by", "process").split("\n\n")[1].splitlines()
    assert [line.split()[-3] for line in table[1:]] == ["(1001)", "(1002)", "(1000)"]
    rows = text_of(whole, "--format", "csv").splitlines()
    assert {"processes", "worst_process_name", "worst_bytes"} <= set(rows[0].split(","))
    assert ',3,3000,"svc (1001) on host1",' in rows[1]


def test_a_part_of_what_is_lost_with_others_is_suppressed(tmp_path):
    """Of the ten nodes four are lost with a leak that is suppressed: they are in no number of the others."""
    made = Trace(mode="exact")
    made.put("FAMILY_NAME", family=0, name="libc")
    for stack, function in enumerate(["known", "leak", "node"]):
        made.stack(stack, function, "main")
    for number in range(2):
        made.put("PROCESS", number=number, pid=42 + number, run_id=f"{number:032x}", start=10**18, frontend="ptrace", mode="exact",
                 run_us=20 * SECOND, live_blocks=6, live_bytes=600)
    made.put("VERDICTS", number=1, flags=MMT["MMT_VERDICTS_TAKEN"], had_ns=1000, sums=[{"blocks": 0, "bytes": 0}] * 5)
    made.put("FAMILY", family=0)
    definite, indirect = MMT["MMT_VERDICT_DEFINITE"], MMT["MMT_VERDICT_INDIRECT"]
    for stack, verdict, blocks in ((0, definite, 1), (1, definite, 1), (2, indirect, 10)):
        made.put("MERGED", stack=stack, verdict=verdict, blocks=blocks, bytes=100 * blocks, oldest_us=SECOND, youngest_us=SECOND)
        made.put("PLACE", stack=stack, allocs=blocks, bytes=100 * blocks)
    for on, blocks in enumerate([4, 6]):
        made.put("HANG", family=0, verdict=definite, on=on, stack=2, blocks=blocks, bytes=100 * blocks)
    made.put("END", 20 * SECOND)
    (tmp_path / "all.mmt").write_bytes(made.bytes())
    (tmp_path / "known").write_text("leak:known\n")
    whole = report(tmp_path / "all.mmt")
    assert [(row["bytes"], row["series"][-1][1]) for row in whole["rows"]] == [(700, 700), (500, 500), (1000, 1000)]
    left = report(tmp_path / "all.mmt", "--suppressions", tmp_path / "known")
    assert [(group["bytes"], group["series"][-1][1]) for group in left["groups"]] == [(100, 100), (600, 600)]
    assert [(row["bytes"], row["series"][-1][1]) for row in left["rows"]] == [(700, 700), (600, 600)]
    assert (left["suppressed"]["blocks"], left["suppressed"]["bytes"]) == (5, 500)


def test_a_shorter_run_keeps_what_it_had(tmp_path):
    paths = []
    for number, seconds in enumerate((10, 100)):
        made = begun(number, seconds)
        stacks = define(made, ["leak"])
        made.put("FAMILY", family=1)
        made.put("ALLOC", 5 * SECOND, address=0x5000, size=1000, stack=stacks["leak"])
        made.put("ALLOC", (seconds - 1) * SECOND, address=0x6000, size=10, stack=stacks["leak"])
        paths.append(finished(made, tmp_path / f"{number}.mmt"))
    document = report(merge(tmp_path / "all.mmt", *paths))
    assert document["run"]["seconds"] == 100
    series = dict(document["groups"][0]["series"])
    assert {series[at] for at in series if 11 <= at < 99} == {2010}
    assert series[max(series)] == 2020
    assert (document["groups"][0]["oldest_s"], document["groups"][0]["youngest_s"]) == (95, 1)
    assert any("shorter time than others" in note for note in document["notes"])


# --- order ---

@pytest.mark.parametrize("names", [("service", "verdicts", "medley"), ("jit", "wrappers", "refs"), ("unloaded", "children", "growth"),
                                   ("families", "scopes", "in_gdb")])
def test_the_order_does_not_matter(names, tmp_path):
    a, b, c = (INPUTS / f"{name}.mmt" for name in names)
    assert_order(a, b, c, tmp_path)


def assert_order(a, b, c, tmp_path):
    ab, cb = merge(tmp_path / "ab", a, b), merge(tmp_path / "cb", c, b)
    ways = [merge(tmp_path / "1", ab, c), merge(tmp_path / "2", a, cb), merge(tmp_path / "3", c, ab)]
    ways += [merge(tmp_path / f"of{i}", *order) for i, order in enumerate(itertools.permutations((a, b, c)))]
    assert len({json_of(way) for way in ways}) == 1
    assert len({way.read_bytes() for way in ways}) == 1
    shrunk = tmp_path / "shrunk.mmt"
    run(MMATTACH, "shrink", ways[0], "-o", shrunk)
    assert json_of(shrunk) == json_of(ways[0])


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_runs_of_other_lengths_does_not_matter(seed, tmp_path):
    lengths = random.Random(seed).sample([1, 3, 10, 77, 5000], 3)
    assert_order(*(svc(tmp_path, 10 * seed + i, length) for i, length in enumerate(lengths)), tmp_path)


def test_a_tree_of_merges_by_gnu_parallel(tmp_path):
    """As doc/fleet.md shows it: eight at a time, two at once."""
    if not shutil.which("parallel"):
        assert not os.environ.get("MM_REQUIRE"), "the package parallel is not installed"
        pytest.skip("no GNU parallel")
    parts = tmp_path / "parts"
    parts.mkdir()
    paths = [svc(parts, number, 1 + number % 7) for number in range(64)]
    reduce = f"ls {parts}/*.mmt | parallel --will-cite -j2 -N8 {MMATTACH} merge {{}} -o {tmp_path}/step.{{#}}"
    subprocess.run(["bash", "-c", reduce], check=True, timeout=120)
    steps = sorted(tmp_path.glob("step.*"))
    assert len(steps) == 8
    whole = report(merge(tmp_path / "tree.mmt", *steps))
    assert json_of(tmp_path / "tree.mmt") == json_of(merge(tmp_path / "flat.mmt", *paths)) == json_of(parts)
    assert len(whole["processes"]) == 64
    assert_sums(whole, [report(path) for path in paths])


# --- labels, folders, pieces ---

def test_labels(tmp_path):
    a, b = svc(tmp_path, 1), svc(tmp_path, 2)
    merge(tmp_path / "a.mmt", "--label", "host=a1,pod=x", "--label", "zone=eu", a)
    merge(tmp_path / "b.mmt", "--label", "pod=y", b)
    merge(tmp_path / "all.mmt", "--label", "pod=never,fleet=7", tmp_path / "a.mmt", tmp_path / "b.mmt")
    labels = {process["pid"]: process["labels"] for process in report(tmp_path / "all.mmt")["processes"]}
    assert labels == {1001: {"host": "a1", "pod": "x", "zone": "eu", "fleet": "7"}, 1002: {"pod": "y", "fleet": "7"}}


def test_a_folder_stands_for_its_traces(tmp_path):
    folder = tmp_path / "traces"
    folder.mkdir()
    paths = [svc(folder, number) for number in range(3)]
    (folder / "notes.txt").write_text("no trace")
    want = json_of(merge(tmp_path / "all.mmt", *paths))
    out = merge(folder / "fleet.mmt", folder)
    assert json_of(out) == want
    assert json_of(merge(out, folder)) == want      # its own output is no input
    out.unlink()
    assert json_of(folder) == want
    empty = tmp_path / "empty"
    empty.mkdir()
    done = merge(tmp_path / "x.mmt", empty, check=False)
    assert done.returncode == 1 and "there is no trace in" in done.stderr


def test_pieces_are_one_run(tmp_path):
    pieces = sorted(INPUTS.glob("pieces.*.mmt"))
    assert len(pieces) > 1
    whole = report(merge(tmp_path / "all.mmt", pieces[1], INPUTS / "service.mmt", pieces[0]))
    assert len(whole["processes"]) == 2
    single = json.loads(run(MMATTACH, "report", "--format", "json", *pieces))
    assert_sums(whole, [single, report(INPUTS / "service.mmt")])


# --- what is refused, what is left out ---

def refused(tmp_path, *words):
    done = merge(tmp_path / "x.mmt", *words, check=False)
    assert done.returncode in (1, 2) and "hint: " in done.stderr, done.stderr
    assert not (tmp_path / "x.mmt").exists()
    return done.stderr


def sample(path, number, interval):
    made = begun(number, frontend="uprobe", sample=interval)
    made.stack(0, "leak", "main")
    made.put("FAMILY", family=1)
    for at in range(50):
        made.put("ALLOC", at * 1000, address=0x10000 * (at + 1), size=100 * (at + 1), stack=0)
    return finished(made, path)


def test_what_does_not_add_up_is_refused_by_name(tmp_path):
    a, b = svc(tmp_path, 1), svc(tmp_path, 2)
    refusal = refused(tmp_path, a, INPUTS / "sampled.mmt")
    assert "sampled.mmt" in refusal and "has estimates (--budget), the other has not" in refusal
    assert "1.mmt: its run of process 1001 is among the traces before it" in refused(tmp_path, a, a)
    both = merge(tmp_path / "both.mmt", a, b)
    assert "2.mmt: its run of process 1002" in refused(tmp_path, both, b)
    small, large = sample(tmp_path / "small.mmt", 3, 1024), sample(tmp_path / "large.mmt", 4, 4096)
    assert "samples with different intervals" in refused(tmp_path, small, large)
    assert "one is a sample (--sample), the other has all calls" in refused(tmp_path, a, small)
    assert "nosuch.mmt" in refused(tmp_path, a, tmp_path / "nosuch.mmt")


def test_samples_of_one_interval_add_up(tmp_path):
    paths = [sample(tmp_path / f"{number}.mmt", number, 1024) for number in range(3)]
    whole, parts = report(merge(tmp_path / "all.mmt", *paths)), [report(path) for path in paths]
    assert_sums(whole, parts)
    assert whole["groups"][0]["sampled_blocks"] == sum(part["groups"][0]["sampled_blocks"] for part in parts)
    width, widths = (whole["groups"][0]["bytes_between"], [part["groups"][0]["bytes_between"] for part in parts])
    assert max(high - low for low, high in widths) < width[1] - width[0] < sum(high - low for low, high in widths)
    assert_order(*paths, tmp_path)


MINUTE_US = 60 * SECOND
STEPS = 9  # of age: the last one begins at 10 s


def steps(blocks, gone_at=None):
    """At risk, gone, unknown: so many blocks reach 10 s; or all are freed in step GONE_AT."""
    if gone_at is None:
        return [(blocks, 0, 0)] * STEPS
    return [(blocks, 0, 0)] * gone_at + [(blocks, blocks, 0)]


def budgeted(path, number, **what):
    """A run of a minute with a budget: of each function (a minute's calls, what becomes of the blocks)."""
    made = begun(number, seconds=60, mode="sampled")
    stacks = define(made, [*what])
    made.put("FAMILY", family=1)
    made.put("BUDGET", promise_ppm=10000, spent_us=5000 * (number + 1), wall_us=MINUTE_US, worst_ppm=9000 + number, closed=number,
             closed_us=0, sites=10, sites_hit=len(what), sites_settled=0, candidates=1, unfound=0)
    for name, (calls, fate) in what.items():
        made.put("SAMPLE", stack=stacks[name], flags=0, seen=calls, late_seen=calls // 5, usable_bytes=100 * calls, site_seen=calls,
                 site_hits=calls, rounds=60, full=0, exposed_us=MINUTE_US, hits2=calls + calls * calls // 60, hits_exposed=calls * SECOND,
                 exposed2=60 * SECOND * SECOND, steps=fate, late_exposed_us=MINUTE_US // 5)
    return finished(made, path)


def estimates(path):
    return {group["stack"][0]["function"]: group for group in report(path, "--top", "0")["groups"]}


def test_few_in_each_of_several_processes(tmp_path):
    """Together they would be enough; the reason is still that there are too few, and not that none is added by now."""
    old = [(12, 0, 0)] * (STEPS - 1) + [(7, 0, 0)]
    paths = [budgeted(tmp_path / f"{i}.mmt", i, leak=(60, old)) for i in range(2)]
    assert [estimates(path)["leak"]["why_unknown"] for path in paths] == ["young", "young"]
    group = estimates(merge(tmp_path / "all.mmt", *paths))["leak"]
    assert (group["turnover"], group["why_unknown"], group["estimate"]["needed_age_s"]) == ("unknown", "few", 10)


def test_runs_with_a_budget_add_up(tmp_path):
    """A group leaks if it does in one process; what leaks is the sum of what leaks in each."""
    paths = [budgeted(tmp_path / "0.mmt", 0, leak=(600, steps(50)), cache=(60, steps(50, 2))),
             budgeted(tmp_path / "1.mmt", 1, leak=(1200, steps(50)), cache=(90, steps(50, 2)), log=(30, steps(2))),
             budgeted(tmp_path / "2.mmt", 2, leak=(300, steps(50, 1)), log=(30, steps(50, 1)))]
    merged = merge(tmp_path / "all.mmt", *paths)
    parts, whole = [estimates(path) for path in paths], estimates(merged)
    assert set(whole) == {"leak", "cache", "log"}
    assert [whole[name]["turnover"] for name in ("leak", "cache", "log")] == ["stays", "goes", "unknown"]
    for name, group in whole.items():
        rates = [part[name]["allocs_per_minute"] for part in parts if name in part]
        rate = group["allocs_per_minute"]
        assert rate[0] == pytest.approx(sum(value for value, low, high in rates))
        assert rate[0] - rate[1] == pytest.approx(sum((value - low) ** 2 for value, low, high in rates) ** 0.5, rel=1e-4)
        assert rate[2] - rate[0] == pytest.approx(sum((high - value) ** 2 for value, low, high in rates) ** 0.5, rel=1e-4)
        assert group["seen"] == sum(part[name]["seen"] for part in parts if name in part)
    kept = [part["leak"]["estimate"]["leaked_bytes_per_minute"] for part in parts]
    assert [value > 0 for value, low, high in kept] == [True, True, False]
    assert whole["leak"]["estimate"]["leaked_bytes_per_minute"][0] == pytest.approx(kept[0][0] + kept[1][0])
    assert (whole["leak"]["processes"], whole["leak"]["worst_process"]) == (2, 1)
    assert whole["leak"]["worst_bytes"] == int(kept[1][0])
    budget = report(merged)["run"]["budget"]
    assert (budget["promise"], budget["worst_ten_seconds"], budget["closed"], budget["sites"]) == (0.01, 0.009002, 3, 30)
    assert budget["stopped_s"] == pytest.approx(0.03)
    text = text_of(merged)
    assert "in 2 of 3 processes, most in svc (1001) on host1" in text and "KiB/min" in text, text
    assert_order(*paths, tmp_path)


def test_one_run_with_a_budget_stays_as_it_is(tmp_path):
    """Merging alone changes no estimate."""
    merged = merge(tmp_path / "one.mmt", INPUTS / "sampled.mmt")
    alone, one = report(INPUTS / "sampled.mmt", "--top", "0"), report(merged, "--top", "0")
    for name in ("turnover", "estimate", "survival", "seen"):
        assert [group[name] for group in one["groups"]] == [group[name] for group in alone["groups"]], name


def test_damaged_traces_are_left_out_only_if_that_is_wanted(tmp_path):
    good, other, cut, no_trace = svc(tmp_path, 1), svc(tmp_path, 2), svc(tmp_path, 3), tmp_path / "text.mmt"
    cut.write_bytes(cut.read_bytes()[:-20])
    no_trace.write_text("hello")
    assert "3.mmt: it is damaged" in refused(tmp_path, good, cut)
    assert "text.mmt is not a trace" in refused(tmp_path, good, no_trace)
    done = merge(tmp_path / "all.mmt", "--skip-damaged", good, cut, no_trace, other, check=False)
    assert done.returncode == 0 and "is left out" in done.stderr
    document = report(tmp_path / "all.mmt")
    absent = sorted(process["how"] for process in document["processes"] if process["absent"])
    assert absent == ["3.mmt: its trace is damaged", "text.mmt: not a trace"]
    assert_sums(document, [report(good), report(other)])
    assert any(note.startswith("2 processes: there is no trace") for note in document["notes"])
    text = text_of(tmp_path / "all.mmt")
    assert "no trace: text.mmt: not a trace" in text
    # those that are in no sum are not among those of which it is a report
    assert text.startswith("2 processes of ") and "in 2 of 2 processes" in text
    assert "processes 4, on 2 hosts, of 2 no trace;" in text


def test_nothing_but_lines(tmp_path):
    (tmp_path / "text.mmt").write_text("hello")
    merge(tmp_path / "all.mmt", "--skip-damaged", tmp_path / "text.mmt", check=False)
    text = text_of(tmp_path / "all.mmt")
    assert "There is no trace of any process" in text and "no trace: text.mmt: not a trace" in text
    assert "watched   for a time not known" in text
    assert 'mmattach_live_bytes{processes="1"' in text_of(tmp_path / "all.mmt", "--format", "openmetrics")


def test_questions_about_single_blocks_are_refused(tmp_path):
    whole = merge(tmp_path / "all.mmt", svc(tmp_path, 1), svc(tmp_path, 2))
    for option in (["--older-than", "1s"], ["--block-list", "1"], ["--block-at", "5000"], ["--per-object"]):
        done = subprocess.run([MMATTACH, "report", *option, whole], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 1 and f"{option[0]}: a merged trace has sums" in done.stderr
    done = subprocess.run([MMATTACH, "scan", "-p", str(os.getpid()), "--with-trace", whole], capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.returncode == 1 and "--with-trace: a merged trace has sums" in done.stderr
    done = subprocess.run([MMATTACH, "report", "--by", "process", tmp_path / "1.mmt"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and "the trace is of one process" in done.stderr


def test_calls_of_objects_are_summed_and_that_is_said(tmp_path):
    whole, single = report(merge(tmp_path / "all.mmt", INPUTS / "refs.mmt", INPUTS / "counted_refs.mmt")), []
    for name in ("refs", "counted_refs"):
        single += [f for f in report(INPUTS / f"{name}.mmt")["families"] if f["references"]]
    for key in ("acquired", "released"):
        assert sum(row[key] for row in [f for f in whole["families"] if f["references"]]) == sum(row[key] for row in single)
    assert whole["refs"] == []
    assert any("objects with references are not listed" in note for note in whole["notes"])


# --- other formats ---

@pytest.mark.parametrize("index", ["inuse_space", "inuse_objects", "alloc_space", "alloc_objects"])
def test_pprof_merges_to_the_same(index, tmp_path):
    """pprof adds up profiles by itself: with the same totals, also of each function."""
    names = ["service", "service_later", "medley"]
    profiles = []
    for name in names:
        profiles.append(tmp_path / f"{name}.pb")
        run(MMATTACH, "report", "--format", "pprof", "-o", profiles[-1], INPUTS / f"{name}.mmt")
    ours = tmp_path / "all.pb"
    run(MMATTACH, "report", "--format", "pprof", "-o", ours, merge(tmp_path / "all.mmt", *(INPUTS / f"{name}.mmt" for name in names)))

    def top(*paths):
        printed = run("go", "tool", "pprof", "-top", "-unit=B" if index.endswith("space") else "-unit=", "-nodefraction=0",
                      f"-sample_index={index}", *paths, env={**os.environ, "HOME": "/tmp"}).decode()
        lines = printed[printed.index("flat%"):].splitlines()[1:]
        total = [line for line in printed.splitlines() if line.startswith("Showing")]
        return total, sorted(line.split(None, 5)[0::3] + [line.split(None, 5)[5]] for line in lines)

    assert top(ours) == top(*profiles)


def test_a_diff_of_fleets(tmp_path):
    before = merge(tmp_path / "before.mmt", *(svc(tmp_path, number) for number in range(3)))
    after = merge(tmp_path / "after.mmt", *(svc(tmp_path, number) for number in range(3, 6)))
    text = run(MMATTACH, "diff", before, after).decode()
    assert "leak svc.c" in text or "leak" in text
    for form in names_of_formats():
        assert run(MMATTACH, "report", "--format", form, after)


def test_no_line_is_too_long(tmp_path):
    paths = [svc(tmp_path, number) for number in range(12)]
    text = text_of(merge(tmp_path / "all.mmt", *paths))
    head = text[text.index("  processes "):]
    assert max(map(len, head.splitlines())) <= 100
    assert "and 7 more; --by process lists them" in head
