# SPDX-License-Identifier: MIT
"""Reports of sampled runs, from synthetic traces (tests/mmt_made.py): ten minutes of a service with a leak, a
cache, a table, and allocation sites of which little is known.

The traces of a real watch with --budget are tested in tests/live; the meaning of the numbers in
tests/unit/report/model/test_sampled.c.
"""
import csv
import io
import json
import re
import subprocess

import pytest

import mmt
from mmt_made import Trace
from test_unit import BUILD
from unwrapped import unwrapped

SECOND = 1000000
RUN = {"id": b"sixteen bytes...", "mode": "sampled"}
LEAK, CACHE, TABLE, RARE, WRITTEN = range(1, 6)
FUNCTIONS = {LEAK: "leak", CACHE: "cache", TABLE: "table", RARE: "rare", WRITTEN: "written"}
STAY = [(200, 0, 0)] * 9 + [(150, 0, 0), (90, 0, 0), (40, 0, 0)]
GO = [(200, 2, 0), (198, 8, 0), (190, 40, 0), (150, 90, 0), (60, 40, 0), (20, 15, 0), (5, 5, 0)]


def mmattach(*args, status=0):
    result = subprocess.run([BUILD / "mmattach", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    assert result.returncode == status, result.stderr.decode(errors="replace")
    return unwrapped(result.stdout.decode()) if status == 0 else result.stderr.decode()


def rounds(per_second, seconds):
    """A site's sums over rounds of one second in which the trap was always planted, as expected by chance: h
    is Poisson distributed."""
    hits, squares = per_second * seconds, (per_second + per_second**2) * seconds
    return {"site_hits": hits, "rounds": seconds, "exposed_us": seconds * SECOND, "hits2": squares, "hits_exposed": hits * SECOND,
            "exposed2": seconds * SECOND**2}


def sample(trace, stack, seen, steps, time_us=600 * SECOND, late_seen=None, late_exposed_us=None, size=64, part=1, **site):
    site = site or rounds(seen * part // 600, 600)
    trace.put("SAMPLE", time_us, stack=stack, seen=seen, late_seen=seen // 5 if late_seen is None else late_seen, usable_bytes=size * seen,
              site_seen=seen * part, steps=steps, **site,
              late_exposed_us=site.get("exposed_us", 0) // 5 if late_exposed_us is None else late_exposed_us)


def followed(trace, stack, n, size=56):
    for i in range(n):
        trace.put("ALLOC", address=0x10000 * stack + 64 * i, size=size, stack=stack)


def begin(**run):
    trace = Trace(**RUN, **run)
    trace.put("TARGET", pid=4711, comm="svc", exe="/bin/svc")
    trace.put("FAMILY_NAME", family=0, name="libc")
    for stack, function in FUNCTIONS.items():
        trace.stack(stack, function, "main")
    return trace


def budget(trace):
    trace.put("BUDGET", promise_ppm=10000, spent_us=3600000, wall_us=600 * SECOND, worst_ppm=8100, closed=3, closed_us=2100000, sites=412,
              sites_hit=97, sites_settled=80, candidates=5, unfound=18)
    trace.put("COUNT", which=mmt.MMT["MMT_COUNT_DUTY_PPM"], value=340000)


def service():
    trace = begin()
    for stack, n in ((LEAK, 200), (CACHE, 3), (TABLE, 60), (RARE, 3)):
        followed(trace, stack, n)
    sample(trace, LEAK, 600, STAY, flags=mmt.MMT["MMT_SAMPLE_STANDING"], **rounds(1, 600))
    sample(trace, CACHE, 60000, GO, size=1024)
    sample(trace, TABLE, 60, [(60, 0, 0)] * 11, late_seen=0, **rounds(1, 60))
    sample(trace, RARE, 3, [(3, 0, 0)] * 8, site_hits=3, rounds=600, exposed_us=600 * SECOND, hits2=3, hits_exposed=3 * SECOND, exposed2=600 * SECOND**2)
    sample(trace, WRITTEN, 600, [(50, 0, 0)] * 6 + [(50, 0, 50)])
    budget(trace)
    trace.put("END")
    return trace


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("sampled") / "svc.mmt"
    path.write_bytes(service().bytes())
    return path


@pytest.fixture(scope="module")
def report(path):
    return json.loads(mmattach("report", "--format", "json", path))


def function(group):
    return group["stack"][0]["function"]


def by_function(report):
    return {function(group): group for group in report["groups"]}


def test_what_was_made_is_decoded(path):
    records = mmt.read(path)
    assert sum(record.kind == "ALLOC" for record in records) == 266
    [leak] = [record.fields for record in records if record.kind == "SAMPLE" and record.fields["stack"] == LEAK]
    assert (leak["flags"], leak["seen"], leak["site_hits"], leak["hits2"]) == (1, 600, 600, 1200)
    assert leak["steps"][-1] == {"at_risk": 40, "gone": 0, "unknown": 0}


def test_run(report):
    run = report["run"]
    assert (run["mode"], run["duty"], run["seconds"]) == ("sampled", 0.34, 600)
    assert run["budget"] == {"promise": 0.01, "spent": 0.006, "worst_ten_seconds": 0.0081, "stopped_s": 3.6, "closed": 3,
                             "closed_s": 2.1, "sites": 412, "sites_hit": 97, "settled": 80, "candidates": 5, "unfound": 18}


def test_order(report):
    """Groups that leak come first; then unknown ones, the largest rate first; freed ones last."""
    assert [(function(group), group["turnover"]) for group in report["groups"]] == [
        ("leak", "stays"), ("written", "unknown"), ("rare", "unknown"), ("table", "table"), ("cache", "goes")]


def test_a_leak(report):
    leak = by_function(report)["leak"]
    assert (leak["blocks"], leak["bytes"], leak["seen"]) == (200, 200 * 56, 600)
    estimate = leak["estimate"]
    value, low, high = leak["allocs_per_minute"]
    assert value == 60 and 54 < low < 57 and 63 < high < 66, "an interval of 600 hits that come by chance"
    value, low, high = estimate["leaked_bytes_per_minute"]
    assert value == 60 * 64 and 0.85 * value < low < 0.95 * value and 1.05 * value < high < 1.15 * value
    assert estimate["leaked_blocks_per_minute"][0] == 60
    assert estimate["share_live"][0] == 1 and estimate["share_live"][2] == 1 and 0.9 < estimate["share_live"][1] < 1
    assert (estimate["share_age_s"], estimate["followed"], estimate["followed_to_share_age"]) == (300, 200, 40)
    assert (estimate["half_s"], estimate["at_least"]) == (None, False)
    assert leak["growth"]["shape"] == "grows" and leak["growth"]["bytes_per_minute"] == 3840
    assert [step["age_s"] for step in leak["survival"]] == [0, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300]
    assert leak["survival"][9] == {"age_s": 30, "at_risk": 150, "gone": 0, "unknown": 0}


def test_a_cache(report):
    cache = by_function(report)["cache"]
    estimate = cache["estimate"]
    assert cache["allocs_per_minute"][0] == 6000
    assert estimate["leaked_bytes_per_minute"][:2] == [0, 0], "what is left of it is going too"
    assert 0.03 < estimate["half_s"] < 0.1
    assert (estimate["share_live"][:2], estimate["share_age_s"]) == ([0, 0], 3)
    assert {key: cache["growth"][key] for key in ("shape", "bytes_per_minute", "since_s")} == {"shape": "level", "bytes_per_minute": 0, "since_s": 0}


def test_a_table(report):
    table = by_function(report)["table"]
    value, low, high = table["estimate"]["leaked_blocks_per_minute"]
    assert (value, low) == (0, 0) and 0 < high < 30, "none was seen in a fifth of its exposure"
    assert table["growth"]["shape"] == "level" and table["growth"]["since_s"] == 480


def test_nothing_followed_is_a_group_all_the_same(report):
    written = by_function(report)["written"]
    assert (written["why_unknown"], by_function(report)["rare"]["why_unknown"], by_function(report)["leak"]["why_unknown"]) == ("written", "few", None)
    assert (written["blocks"], written["examples"], written["oldest_s"]) == (0, [], 0)
    assert written["survival"][-1] == {"age_s": 1, "at_risk": 50, "gone": 0, "unknown": 50}
    assert written["growth"]["shape"] == "unknown"


def test_what_nobody_knows_is_in_no_sum(report):
    """Its rate is between nothing and everything; the upper bound is given in separate numbers."""
    groups = by_function(report)
    estimate = groups["written"]["estimate"]
    for unit, each in (("blocks", 1), ("bytes", 64)):
        value, low, high = estimate[f"leaked_{unit}_per_minute"]
        assert (value, low) == (None, 0) and 55 * each < high < 70 * each
        possible = estimate[f"may_leak_{unit}_per_minute"]
        assert possible[0] == 60 * each and possible[2] == high
    for name in ("leak", "cache", "table"):
        assert groups[name]["estimate"]["may_leak_bytes_per_minute"] == groups[name]["estimate"]["leaked_bytes_per_minute"]
    assert sum(group["estimate"]["leaked_bytes_per_minute"][0] or 0 for group in groups.values()) == 3840


def test_words(path):
    text = mmattach("report", path)
    first, _, rest = text.partition("\n")
    assert first.startswith("svc (4711), sampled for 10m: 1 group leaks, about 3840 B/min (")
    assert first.endswith("; 2 more may leak; 2 are mostly freed, or bounded")
    for words in ("budget    1.0%: 0.6% used, 0.81% in the worst ten seconds\n",
                  "sampled   412 call sites found in the code, 97 of them called, each watched 34% of the time on average; "
                  "80 of the sites are watched seldom by now, as all is freed; 5 of the sites are watched closely, as some of their groups may leak\n",
                  "not seen  18 call sites where no trap can be planted\n", "not seen  anything for 2.1s in all, 0.35% of the watch (3 times): the budget was used up, or mmattach got no processor\n",
                  "tracked   266 blocks: 0 freed, 266 still live\n", "numbers   are estimates",
                  "a rate that changes is measured only while its trap is planted",
                  "[1] leaks about 3840 B/min (", "64 B each\n    estimated from 600 calls that were seen, 100% of all\n", "    estimated from 60 calls that were seen, 10% of all\n",
                  " to 100%) are still live after 5m, of 40 tracked blocks of that age\n",
                  "[2] may leak: 50 of the 50 tracked blocks may be other blocks by now",
                  "[3] may leak: only 3 blocks were tracked\n",
                  "[4] bounded: not freed, but no allocation was seen late in the watch",
                  "[5] freed: half of it within ", "    none of 200 tracked blocks is still live after 3s\n",
                  "    still live after: 3ms 99%, 10ms 95%, 30ms 75%, 100ms 30%"):
        assert words in rest, words
    assert "leaks, or may leak\n  [1]" in rest and "mostly freed, or bounded\n  [4]" in rest


def may_leak(path):
    """The lines between the first one and the table."""
    return mmattach("report", path).partition("\n\n")[0].replace("\n    ", " ").splitlines()[1:]


def test_what_may_leak_is_named(path):
    """How much, and what would show it: below the first line."""
    written, rare = may_leak(path)
    assert re.fullmatch(r"\[2\] written 0x1009 may leak: it allocates about 3840 B/min \(3\d{3} B to 4\d{3} B\) that is not freed within 1s; to be certain, "
                        r"watch for a short time without --budget: more samples would not show it", written), written
    assert re.fullmatch(r"\[3\] rare 0x1007 may leak at most \d+ B/min; a watch of about 2h would show whether it leaks", rare), rare


@pytest.mark.parametrize("seen,steps,sums,advice", [
    (2, [(2, 0, 0)], rounds(1, 600), "a longer watch would show whether it leaks"),
    (6, [(6, 0, 0)], rounds(1, 600), "a watch of about 40m would show whether it leaks"),
    (600, [(20, 15, 0), (5, 3, 0)] + [(2, 0, 0)] * 8, rounds(1, 600), "a longer watch would show whether it leaks"),
    (600, [(100, 0, 0)] * 9, rounds(1, 600), "a longer watch would show whether it leaks"),
    (600, STAY, rounds(100, 6), "to be certain, see more of its calls: a larger --budget, or a short watch without one"),
    (600, [(100, 0, 0)] * 10 + [(90, 15, 0)], rounds(1, 600), "to be certain, watch for longer than its blocks are meant to live"),
])
def test_what_would_show_it(tmp_path, seen, steps, sums, advice):
    trace = begin()
    sample(trace, CACHE, seen, steps, **sums)
    (tmp_path / "t.mmt").write_bytes(trace.bytes())
    [line] = may_leak(tmp_path / "t.mmt")
    assert line.startswith("[1] cache 0x1003 may leak") and line.endswith("; " + advice), line


def test_the_first_two_and_their_callers(tmp_path):
    """More than two are counted only; two groups of one function are told apart; nothing that is known is named."""
    trace = begin()
    sample(trace, LEAK, 600, STAY, **rounds(1, 600))
    for stack in range(6, 9):
        trace.stack(stack, "get", f"caller{stack}", "main")
        sample(trace, stack, 6, [(6, 0, 0)], size=64 * stack, **rounds(1, 600))
    (tmp_path / "t.mmt").write_bytes(trace.bytes())
    lines = may_leak(tmp_path / "t.mmt")
    assert [line.partition(" may")[0] for line in lines] == ["[2] get from caller8 0x100c", "[3] get from caller7 0x100c"], lines


def test_more_than_was_promised(tmp_path):
    trace = begin()
    trace.put("BUDGET", promise_ppm=10000, wall_us=SECOND, worst_ppm=10300)
    (tmp_path / "t.mmt").write_bytes(trace.bytes())
    text = mmattach("report", tmp_path / "t.mmt")
    assert "1.0% in the worst ten seconds: EXCEEDED by 0.03%\n" in text
    assert "No allocation was seen." in text


def test_a_short_run_with_a_small_promise(tmp_path):
    """Attaching takes more than that share of one second, but no more than that share of ten."""
    trace = begin()
    trace.put("BUDGET", promise_ppm=2500, spent_us=8000, wall_us=SECOND, worst_ppm=800)
    (tmp_path / "t.mmt").write_bytes(trace.bytes())
    assert "budget    0.25%: 8ms used of the 25ms of any ten seconds, 0.08% in the worst ten seconds\n" in mmattach("report", tmp_path / "t.mmt")


def test_why_what_does_not_go_is_not_said_to_stay(tmp_path):
    trace = begin()
    sample(trace, LEAK, 10, [(10, 0, 0)] * 11, late_seen=0, **rounds(1, 10))
    sample(trace, CACHE, 2000, [(1000, 990, 0)] + [(10, 0, 0)] * 10, **rounds(1, 600))
    (tmp_path / "t.mmt").write_bytes(trace.bytes())
    text = mmattach("report", tmp_path / "t.mmt")
    assert "may leak: the tracked blocks stay live. It may have stopped growing: no allocation was seen in the last fifth of the watch, but its trap was" in text
    assert "may leak: hardly any is left, and these may be other blocks, at the addresses of those that were freed\n" in text
    assert "of the old blocks some stay live" not in text


def test_a_table_must_have_been_watched_of_late(tmp_path):
    """All traps were lifted in the last fifth of the run: that nothing was seen then means nothing."""
    for late_s, kind in ((2, "unknown"), (60, "table")):
        trace = begin()
        sample(trace, LEAK, 60, [(60, 0, 0)] * 11, late_seen=0, late_exposed_us=late_s * SECOND, **rounds(1, 60))
        (tmp_path / "t.mmt").write_bytes(trace.bytes())
        [group] = json.loads(mmattach("report", "--format", "json", tmp_path / "t.mmt"))["groups"]
        assert group["turnover"] == kind
        assert group["why_unknown"] == (None if kind == "table" else "no_table")


def test_a_rate_that_nothing_tells(tmp_path):
    trace = begin()
    sample(trace, RARE, 2, [(2, 0, 0)], site_hits=0, rounds=0, exposed_us=0)
    (tmp_path / "t.mmt").write_bytes(trace.bytes())
    text = mmattach("report", tmp_path / "t.mmt")
    assert "    how often it allocates is not known, as no round of its trap has ended, 64 B each\n    estimated from 2 calls that were seen" in text
    assert "0/min" not in text


def test_no_age_beyond_the_watch(tmp_path):
    """Where half is freed is interpolated between two ages, of which the later one may be beyond what was watched."""
    trace = begin()
    trace.put("MEMORY", 40 * SECOND, pid=4711, at_us=0)
    sample(trace, LEAK, 600, [(200, 0, 0)] * 9 + [(200, 120, 0)], time_us=40 * SECOND, **rounds(10, 40))
    trace.put("END", 40 * SECOND)
    path = tmp_path / "t.mmt"
    path.write_bytes(trace.bytes())
    group = json.loads(mmattach("report", "--format", "json", path))["groups"][0]
    assert group["estimate"]["half_s"] == 40


def test_hardly_seen(tmp_path):
    """Other blocks may be at the addresses of the tracked blocks; if all are seen by now, and a tenth was
    seen before, that would have been noticed."""
    trace = begin()
    sample(trace, LEAK, 600, STAY, flags=mmt.MMT["MMT_SAMPLE_STANDING"], **rounds(10, 60))
    sample(trace, CACHE, 600, STAY, **rounds(100, 6))
    (tmp_path / "t.mmt").write_bytes(trace.bytes())
    groups = by_function(json.loads(mmattach("report", "--format", "json", tmp_path / "t.mmt")))
    assert (groups["leak"]["turnover"], groups["leak"]["estimate"]["share_seen"]) == ("stays", 0.1)
    assert (groups["cache"]["turnover"], groups["cache"]["estimate"]["share_seen"]) == ("unknown", 0.01)
    text = mmattach("report", tmp_path / "t.mmt")
    assert "64 B each\n    estimated from 600 calls that were seen, 10% of all; by now every one is seen\n" in text
    assert "[2] may leak: the tracked blocks look live, but only 1.0% of the allocations were seen: other blocks may have" in text
    assert " to 100%) seem still live after 5m" in text


def test_what_is_left_may_be_others(tmp_path):
    """A site that frees its blocks at once, and a leak of the same size that reuses their addresses: also if
    that one is not shown."""
    trace = begin()
    sample(trace, LEAK, 6000, STAY, **rounds(100, 60))
    sample(trace, CACHE, 30000, [(9000, 6000, 0), (3000, 2500, 0)] + [(500, 0, 0)] * 10, **rounds(500, 60))
    (tmp_path / "t.mmt").write_bytes(trace.bytes())
    (tmp_path / "leak.supp").write_text("{\n  the leak\n  Memcheck:Leak\n  fun:leak\n}\n")
    groups = by_function(json.loads(mmattach("report", "--format", "json", tmp_path / "t.mmt")))
    assert groups["leak"]["turnover"] == "stays"
    assert (groups["cache"]["turnover"], groups["cache"]["why_unknown"], groups["cache"]["estimate"]["leaked_bytes_per_minute"][:2]) == ("unknown", "others", [None, 0])
    assert "[2] may leak: most is freed, and what is left may be blocks of other groups of that size" in mmattach("report", tmp_path / "t.mmt")
    [alone] = json.loads(mmattach("report", "--format", "json", "--suppressions", tmp_path / "leak.supp", tmp_path / "t.mmt"))["groups"]
    assert (function(alone), alone["turnover"]) == ("cache", "unknown")


@pytest.mark.parametrize("run", [{"mode": "exact"}, {"mode": "sampled", "frontend": "gdb"}])
def test_samples_in_any_run(tmp_path, run):
    """A trace that has samples but does not say that it is of a sampled run, which happens if its beginning
    was lost."""
    trace = Trace(**{**RUN, **run})
    trace.stack(LEAK, "leak", "main")
    followed(trace, LEAK, 200)
    sample(trace, LEAK, 600, STAY, **rounds(1, 600))
    (tmp_path / "t.mmt").write_bytes(trace.bytes())
    [group] = json.loads(mmattach("report", "--format", "json", tmp_path / "t.mmt"))["groups"]
    assert (group["turnover"], group["blocks"]) == ("stays", 200)


def test_some_are_seen_to_go(tmp_path):
    """Hardly any of the old ones is freed; but for each one that is, a hundred allocations were not seen."""
    trace = begin()
    sample(trace, LEAK, 600, [(200, 0, 0)] * 10 + [(150, 3, 0), (80, 0, 0)], **rounds(100, 6))
    (tmp_path / "t.mmt").write_bytes(trace.bytes())
    text = mmattach("report", tmp_path / "t.mmt")
    assert re.search(r"may leak: most tracked addresses are still in use, but some by other blocks now: 2\.\d% of the "
                     r"old blocks were seen to be freed, and only 1\.0% of the allocations were seen\n", text), text
    assert "other blocks may have" not in text


def test_what_goes_late(tmp_path):
    """Less than half is freed by the age that enough blocks have reached: this must not appear above "100% is
    still there"."""
    trace = begin()
    sample(trace, CACHE, 600, [(60, 0, 0)] * 8 + [(40, 12, 0), (3, 0, 0)], **rounds(1, 600))
    (tmp_path / "t.mmt").write_bytes(trace.bytes())
    [group] = json.loads(mmattach("report", "--format", "json", tmp_path / "t.mmt"))["groups"]
    assert (group["turnover"], group["estimate"]["share_live"][0], group["estimate"]["half_s"]) == ("goes", 1, None)
    text = mmattach("report", "--top", "1", tmp_path / "t.mmt")
    assert re.search(r"\[1\] freed, but late: \d+% of the blocks that reached an age of 3s were freed after that, and the others may be\n", text), text
    assert "slowly" not in text


def test_places_that_more_would_tell(path, tmp_path):
    """Of two nothing is known: one was written to, and more of that tells nothing; the other is seldom, and was seen for a part of the time."""
    assert ("  unclear   1 of the groups that may leak: too little was seen to know whether it does; a longer watch would show it\n" in mmattach("report", path))
    trace = begin()
    sample(trace, RARE, 3, [(3, 0, 0)], **rounds(1, 60))
    sample(trace, LEAK, 3, [(3, 0, 0)], **rounds(1, 600))
    sample(trace, CACHE, 600, STAY, **rounds(100, 6))
    (tmp_path / "t.mmt").write_bytes(trace.bytes())
    assert "  unclear   3 of the groups that may leak: too little was seen to know whether they do; a longer watch would show it, for 2 of them also a larger --budget\n" in mmattach(
        "report", tmp_path / "t.mmt")


def test_few_stay(tmp_path):
    """Most of it is freed; two blocks of the rest are too few for a conclusion."""
    trace = begin()
    sample(trace, CACHE, 600, [(20, 15, 0), (5, 3, 0)] + [(2, 0, 0)] * 8, **rounds(1, 600))
    (tmp_path / "t.mmt").write_bytes(trace.bytes())
    assert ("[1] may leak: most is freed, and of the rest too few blocks were tracked (2)\n" in
            mmattach("report", tmp_path / "t.mmt"))


def test_young_for_the_watch(tmp_path):
    """None of them is freed, but they were followed for thirty of six hundred seconds."""
    trace = begin()
    sample(trace, CACHE, 600, [(100, 0, 0)] * 10, **rounds(1, 600))
    (tmp_path / "t.mmt").write_bytes(trace.bytes())
    assert ("[1] may leak: too few of the 100 tracked blocks have been seen at an age of 1m40s\n" in
            mmattach("report", tmp_path / "t.mmt"))


def test_rows_of_many(tmp_path):
    trace = begin()
    for stack in range(6, 30):
        trace.stack(stack, f"f{stack}", "main")
        sample(trace, stack, 600, STAY if stack % 2 else GO, **rounds(1, 600))
    (tmp_path / "t.mmt").write_bytes(trace.bytes())
    text = mmattach("report", "--top", "15", tmp_path / "t.mmt")
    assert "  and 5 more: allocating about 300/min\n" in text and "  and 9 more: allocating about 540/min\n" in text
    assert "9 more groups not shown (--top 0 shows all)\n" in text
    assert text.startswith("svc (4711), sampled for 10m: 12 groups leak, together about 45.0 KiB/min (")


def test_bunches(tmp_path):
    """Ten at once, and rounds cut in the middle: the interval is wider, and open."""
    trace = begin()
    sums = rounds(1, 600)
    sample(trace, LEAK, 600, STAY, **{**sums, "hits2": 60 * 100, "full": 60})
    (tmp_path / "t.mmt").write_bytes(trace.bytes())
    [group] = json.loads(mmattach("report", "--format", "json", tmp_path / "t.mmt"))["groups"]
    estimate = group["estimate"]
    value, low, high = group["allocs_per_minute"]
    assert estimate["at_least"] and value == 60 and low < 50 and high > 70
    assert "[1] leaks about 3840 B/min or more (at least " in mmattach("report", tmp_path / "t.mmt")
    [row] = csv.DictReader(io.StringIO(mmattach("report", "--format", "csv", tmp_path / "t.mmt")))
    assert row["at_least"] == "true"
    assert groups_of("--min-bytes", "1G", tmp_path / "t.mmt") == ["leak"], "it may be any number more"


def test_stacks_share_a_site(tmp_path):
    """A third of what was seen there is a third of its rate, however many of the hits were counted in
    rounds."""
    trace = begin()
    sample(trace, LEAK, 600, STAY, part=3, **rounds(2, 600))
    (tmp_path / "t.mmt").write_bytes(trace.bytes())
    [group] = json.loads(mmattach("report", "--format", "json", tmp_path / "t.mmt"))["groups"]
    assert group["allocs_per_minute"][0] == 40


def test_nothing_bounds_what_was_not_watched(tmp_path):
    trace = begin()
    sample(trace, RARE, 1, [(1, 0, 0)], site_hits=0)
    (tmp_path / "t.mmt").write_bytes(trace.bytes())
    [group] = json.loads(mmattach("report", "--format", "json", tmp_path / "t.mmt"))["groups"]
    assert group["allocs_per_minute"] == [0, 0, None]


def test_csv(path):
    rows = {row["function"]: row for row in csv.DictReader(io.StringIO(mmattach("report", "--format", "csv", path)))}
    assert (rows["leak"]["turnover"], rows["leak"]["seen"], rows["leak"]["followed"]) == ("stays", "600", "200")
    assert float(rows["leak"]["leaked_bytes_per_minute"]) == 3840
    assert float(rows["leak"]["leaked_bytes_per_minute_low"]) < 3840 < float(rows["leak"]["leaked_bytes_per_minute_high"])
    assert (rows["written"]["leaked_bytes_per_minute"], float(rows["written"]["leaked_bytes_per_minute_low"])) == ("", 0)
    assert float(rows["written"]["may_leak_bytes_per_minute"]) == float(rows["leak"]["may_leak_bytes_per_minute"]) == 3840
    assert (rows["leak"]["at_least"], rows["leak"]["bytes_freed"]) == ("false", "")
    assert rows["leak"]["half_s"] == "" and 0.03 < float(rows["cache"]["half_s"]) < 0.1


def test_folded(path):
    """The estimated bytes that are live; a stack without any, or an unknown one, has no line."""
    lines = dict(line.rsplit(" ", 1) for line in mmattach("report", "--format", "folded", path).splitlines())
    assert lines["main;leak"] == str(3840 * 10)
    assert set(lines) == {"main;leak"}, "what is not known to stay is not claimed to"


def groups_of(*args):
    return [function(group) for group in json.loads(mmattach("report", "--format", "json", *args))["groups"]]


def test_filters(path):
    assert groups_of("--min-bytes", "38000", path) == ["leak", "written"], "by what is estimated for ten minutes"
    assert groups_of("--min-bytes", "39000", path) == ["written"], "it may be more than is likely: not known is not small"
    assert groups_of("--min-bytes", "100K", path) == [], "but not that much"
    assert groups_of("--older-than", "9m", path) == ["leak", "rare", "table", "cache"], "followed blocks of that age"
    assert groups_of("--older-than", "11m", path) == []
    assert groups_of("--focus", "cache", path) == ["cache"]


def test_exit_status(path):
    """Leaks cause the exit status, unknown groups do not."""
    mmattach("report", "--error-exitcode", "3", path, status=3)
    mmattach("report", "--error-exitcode", "3", "--ignore", "^leak$", path)


def test_suppressions(path, tmp_path):
    made = mmattach("report", "--gen-suppressions", path)
    assert "fun:leak" in made and "fun:cache" not in made and "fun:rare" not in made
    (tmp_path / "s").write_text("leak:^leak$\n")
    text = mmattach("report", "--suppressions", tmp_path / "s", "--error-exitcode", "3", path)
    assert "no group is known to leak" in text and "suppressions used" in text


def pieces(folder):
    """The run in two pieces: the second repeats all definitions."""
    first, second = begin(piece=1), begin(piece=2)
    followed(first, LEAK, 100)
    sample(first, LEAK, 300, [(100, 0, 0)] * 11, time_us=300 * SECOND, **rounds(1, 300))
    sample(first, RARE, 3, [(3, 0, 0)] * 8, time_us=300 * SECOND, **rounds(1, 3))
    second.put("TIME", 300 * SECOND)
    sample(second, RARE, 3, [(3, 0, 0)] * 8, time_us=300 * SECOND, **rounds(1, 3))
    sample(second, LEAK, 600, STAY, **rounds(1, 600))
    budget(second)
    second.put("END")
    paths = [folder / "svc.0001.mmt", folder / "svc.0002.mmt"]
    for path, trace in zip(paths, (first, second)):
        path.write_bytes(trace.bytes())
    return paths


def seen(*paths):
    report = json.loads(mmattach("report", "--format", "json", *paths))
    return {function(group): (group["seen"], group["blocks"], group["turnover"]) for group in report["groups"]}


def test_pieces(tmp_path):
    first, second = pieces(tmp_path)
    assert seen(first, second) == seen(second, first) == {"leak": (600, 100, "stays"), "rare": (3, 0, "unknown")}
    assert seen(first)["leak"] == (300, 100, "stays")
    assert seen(second) == {"leak": (600, 0, "stays"), "rare": (3, 0, "unknown")}


def test_what_a_piece_alone_tells(tmp_path):
    """Estimates are for the whole run; a piece has only its own blocks, and the report says so."""
    first, second = pieces(tmp_path)
    text = mmattach("report", second)
    assert "sampled for 10m: 1 group leaks, about 3840 B/min (" in text
    assert "tracked   0 blocks: 0 freed, 0 still live\n" in text
    for words in ("begins with piece 2 of its run: what is estimated, how old blocks become and the budget are those of the whole run until the trace's end;",
                  "and how many were followed and went, are those followed since piece 2 began"):
        assert words in text
    assert "older than the watch" not in text
    assert "begins with piece" not in mmattach("report", first) and "begins with piece" not in mmattach("report", first, second)


def test_a_piece_is_missing(tmp_path):
    first, _ = pieces(tmp_path)
    third = begin(piece=3)
    third.put("TIME", 300 * SECOND)
    sample(third, LEAK, 600, STAY, **rounds(1, 600))
    third.put("END")
    (tmp_path / "svc.0003.mmt").write_bytes(third.bytes())
    text = mmattach("report", first, tmp_path / "svc.0003.mmt")
    assert "piece 2 of the trace is missing: blocks that were released meanwhile are still listed as held; what is estimated does not suffer" in text


def test_shrunken(path, tmp_path):
    """The report is the same, except for the file's name; also for pieces that were shrunk one by one."""
    mmattach("shrink", path, "-o", tmp_path / "small.mmt")
    assert mmattach("report", "--format", "json", tmp_path / "small.mmt") == mmattach("report", "--format", "json", path)
    paths = pieces(tmp_path)
    for i, piece in enumerate(paths):
        mmattach("shrink", piece, "-o", tmp_path / f"small{i}.mmt")
    small = [tmp_path / "small0.mmt", tmp_path / "small1.mmt"]
    assert mmattach("report", "--format", "json", *small) == mmattach("report", "--format", "json", *paths)


def test_blocks(path):
    text = mmattach("report", "--block-list", "1", path)
    assert "[1] leaks about 3840 B/min" in text and "0x10000" in text and "and 180 more" in text
    text = mmattach("report", "--block-at", "0x10008,0x99", path)
    assert "0x10008 lies 8 bytes inside a block of 56 bytes" in text
    assert "0x99 is in no live block: freed, or older than the watch, or never allocated, or not among the blocks that this sampled run" in text


def test_refused(path):
    told = mmattach("diff", path, path, status=1)
    assert "cannot compare " in told and "svc.mmt: it is of a sampled run (--budget), which has only some" in told
    told = mmattach("scan", "--core", "/dev/null", "--with-trace", path, status=1)
    assert "the trace is of a sampled run (--budget)" in told


def loses(trace, stack, saw, lost):
    """The kernel's probes saw @saw blocks being allocated there, of which @lost were lost, in a minute."""
    trace.put("SAMPLE", 600 * SECOND, stack=stack, seen=600, late_seen=120, usable_bytes=64 * 600, site_seen=600, steps=GO,
              late_exposed_us=120 * SECOND, searched=20, lost=0, probes_saw=saw, probes_lost=lost, losing_us=60 * SECOND,
              losing_blocks=lost * 100, losing_least=lost * 90, losing_most=lost * 110, losing_bytes=lost * 5600, **rounds(1, 600))


@pytest.mark.parametrize("lost", [40, 0])
def test_what_looks_the_same_is_one_row_unless_only_a_part_loses_blocks(tmp_path, lost):
    """As the functions of an interpreter do that are called for one line of a script."""
    trace = begin()
    trace.stack(7, "xmalloc", "rule", "main")
    trace.stack(8, "xcalloc", "rule", "main")
    trace.stack(9, "xstrdup", "rule", "main")
    for stack, blocks in ((7, lost), (8, 0), (9, lost)):
        loses(trace, stack, 50, blocks)
    budget(trace)
    trace.put("END")
    (tmp_path / "alike.mmt").write_bytes(trace.bytes())
    report = json.loads(mmattach("report", "--format", "json", tmp_path / "alike.mmt"))
    estimates = [report["groups"][row["groups"][0]]["estimate"] for row in report["rows"]]
    assert all(row["name"].startswith("rule ") for row in report["rows"])
    assert [(e["probed"], e["probed_lost"], e["known_by_probes"]) for e in estimates] == (
        [(100, 80, True), (50, 0, False)] if lost else [(150, 0, False)])


@pytest.mark.parametrize("callers, sizes, named", [(5, 2, "use"), (4, 2, "inner"), (5, 1, "inner")])
def test_what_many_functions_call_for_blocks_of_many_sizes_is_a_wrapper(tmp_path, callers, sizes, named):
    trace = begin()
    for i in range(callers):
        trace.stack(10 + i, "inner", f"use{i}", "main")
        sample(trace, 10 + i, 600, STAY, size=64 * (1 + i % sizes), **rounds(1, 600))
    budget(trace)
    trace.put("END")
    (tmp_path / "inner.mmt").write_bytes(trace.bytes())
    rows = json.loads(mmattach("report", "--format", "json", tmp_path / "inner.mmt"))["rows"]
    assert len(rows) == callers and all(row["name"].startswith(named) for row in rows)
    shown = json.loads(mmattach("report", "--wrappers", "show", "--format", "json", tmp_path / "inner.mmt"))["rows"]
    assert all(row["name"].startswith("inner") for row in shown)
