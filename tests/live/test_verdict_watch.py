# SPDX-License-Identifier: MIT
"""Verdicts of a watch: at its end, at the target's own end, in interim reports, in traces of any form.

The victim (loser.c) leaks blocks and keeps others reachable as ordered, some before the watch begins. The
expected verdict of each of its sites is written here; for the victims of tests/live/test_verdicts.py it is
that test's tool's verdict for the same process.
"""
import collections
import json
import os
import re
import signal
import subprocess
import time

import pytest

from harness import LIMIT, MMATTACH, VICTIMS, ended, wait_for
from test_verdicts import PROGRAMS, judged_by_us
from untouched import assert_untouched, wait_untraced


OURS = {"loser", "liblosses.so", "libstdc++.so.6", *PROGRAMS}


def where(group):
    """NAME of at_NAME or site_NAME in the group's stack, if the block is that site's."""
    frames = group["stack"][group["wrappers"]:]
    if not frames or os.path.basename(frames[0]["module"]) not in OURS:
        return None
    return next((f["function"].partition("(")[0].partition("_")[2] for f in frames if f["function"].startswith(("at_", "site_"))), None)


def by_site(report):
    """{site: {verdict: blocks}}"""
    sites = collections.defaultdict(collections.Counter)
    for g in report["groups"]:
        if where(g):
            sites[where(g)][g["verdict"]] += g["blocks"]
    return {site: dict(verdicts) for site, verdicts in sites.items()}


def assert_sums(report):
    """All groups together give the live memory, and the report's sums for each verdict."""
    told = report["run"]["verdicts"]["watched"]
    assert sum(g["bytes"] for g in report["groups"]) == report["totals"]["live_bytes"]
    for verdict, it in told.items():
        of = [g for g in report["groups"] if g["verdict"] == verdict]
        assert (sum(g["blocks"] for g in of), sum(g["bytes"] for g in of)) == (it["blocks"], it["bytes"]), verdict
    for g in report["groups"]:
        assert g["bytes_direct"] == (0 if g["verdict"] == "indirect" else g["bytes"])


BEFORE = ["lose 30", "keep 5", "head 7", "chain 4"]
MEANWHILE = ["lose 20", "keep 10", "inside 3", "chain 6", "ends 7", "hangs 1"]
EXPECTED = {
    "lose": {"definite": 20}, "keep": {"reachable": 10}, "inside": {"possible": 3}, "chain": {"definite": 6}, "link": {"indirect": 6},
    "ends": {"indirect": 7}, "hangs": {"reachable": 1},
}


def tell(target, orders):
    for order in orders:
        target.ask(order)


def watch_loser(victim, watch, *options, **kwargs):
    target = victim("loser")
    tell(target, BEFORE)
    w = watch("-p", target.pid, "--top", "0", *options, **kwargs).wait_watching()
    tell(target, MEANWHILE)
    return target, w


def test_attached(victim, watch):
    """Blocks older than the watch take part: blocks that hang on them get their verdict from them, and they
    are counted."""
    target, w = watch_loser(victim, watch)
    report = w.finish()
    assert_untouched(target)
    verdicts = report["run"]["verdicts"]
    assert verdicts["known"] and verdicts["why_not"] is None and verdicts["census"]
    assert 0 < verdicts["pause_s"] and verdicts["threads"] == 1 and verdicts["bytes_copied"] > 0
    assert by_site(report) == EXPECTED
    assert_sums(report)
    chain = next(g for g in report["groups"] if where(g) == "chain")
    link = next(g for g in report["groups"] if where(g) == "link")
    assert (chain["indirect_blocks"], chain["indirect_bytes"]) == (6, link["bytes"])
    # 30 older ones, 20 new ones, 7 heads, 10 chains
    assert verdicts["all"]["definite"]["blocks"] == 30 + 20 + 7 + 10
    assert verdicts["all"]["indirect"]["blocks"] == 7 + 10
    target.end()


def test_a_size_that_is_none(victim, watch):
    """A rule that uses an address as the size: such a block ends where its memory does, and the memory after
    it is a root as usual."""
    target = victim("decoys")
    w = watch("-p", target.pid, "--family", "libc", "--probe", "alloc part size=arg1").wait_watching()
    size = target.ask("part")["held"]
    report = w.finish()
    assert_untouched(target)
    held = [g for g in report["groups"] if g["bytes"] // g["blocks"] in range(size, size + 16)]
    assert [(g["verdict"], g["blocks"]) for g in held] == [("reachable", 1)], held
    target.end()


def test_pause_is_bounded(victim, watch):
    for options, taken in ((["--max-pause", "1us"], False), (["--max-pause", "1us", "--verdicts", "yes"], True),
                           (["--verdicts", "no"], False)):
        target, w = watch_loser(victim, watch, *options)
        report = w.finish()
        verdicts = report["run"]["verdicts"]
        assert verdicts["known"] is taken
        assert by_site(report) == (EXPECTED if taken else {s: {"unknown": sum(v.values())} for s, v in EXPECTED.items()})
        if options == ["--max-pause", "1us"]:
            assert verdicts["why_not"].startswith("the pause would have been about ")
            assert "more than --max-pause 1us (--verdicts yes" in verdicts["why_not"] and verdicts["pause_s"] == 0 and verdicts["expected_s"] > 1e-6
        assert_untouched(target)
        target.end()


def reported(*args, status=0):
    done = subprocess.run([MMATTACH, *map(str, args)], capture_output=True, timeout=LIMIT)
    assert done.returncode == status, done.stderr.decode()
    return done.stdout


def test_traces(victim, watch, tmp_path):
    """The reports of the watch, of its trace, of the trace in pieces, and of these shrunk are the same; a
    truncated one has no verdicts."""
    target = victim("loser")
    tell(target, BEFORE)
    w = watch("-p", target.pid, "--top", "0", "-o", tmp_path / "t.mmt", "--rotate", "64K").wait_watching()
    more = [order.split() for order in MEANWHILE if order.split()[0] in ("lose", "keep", "chain")]
    *first, last = [f"{name} {int(n) * 1000}" for name, n in more]
    tell(target, first)
    # a piece ends when enough of it is written: what follows is in the next one
    wait_for(lambda: sum(path.stat().st_size for path in tmp_path.glob("t.*.mmt")) > 64 << 10, "it is written")
    tell(target, [last])
    live = w.finish()
    target.end()
    pieces = sorted(tmp_path.glob("t.*.mmt"))
    assert len(pieces) > 1
    expected = {"lose": {"definite": 20000}, "keep": {"reachable": 10000}, "chain": {"definite": 6000},
                "link": {"indirect": 6000}}
    assert by_site(live) == expected
    assert json.loads(reported("report", "--format", "json", *pieces)) == live
    small = []
    for piece in pieces:
        small.append(tmp_path / f"small.{piece.name}")
        reported("shrink", piece, "-o", small[-1])
    assert json.loads(reported("report", "--format", "json", *small)) == live
    reported("shrink", *small, "-o", tmp_path / "all.mmt")
    assert json.loads(reported("report", "--format", "json", tmp_path / "all.mmt")) == live
    # without the last piece, and with the last one truncated
    whole = (tmp_path / "all.mmt").read_bytes()
    for cut in range(1, 2000, 217):
        (tmp_path / "cut.mmt").write_bytes(whole[:-cut])
        report = json.loads(reported("report", "--format", "json", tmp_path / "cut.mmt"))
        verdicts = report["run"]["verdicts"]
        assert verdicts["known"] is (by_site(report) == expected)
        assert verdicts["known"] or {g["verdict"] for g in report["groups"]} <= {"unknown"}


def test_filters(victim, watch, tmp_path):
    target, w = watch_loser(victim, watch, "-o", tmp_path / "t.mmt", "--error-exitcode", "9")
    w.finish(status=9)
    target.end()
    (tmp_path / "known").write_text("{\nlost\nMemcheck:Leak\nmatch-leak-kinds: definite,indirect,possible\nfun:*\n}\n")
    left = json.loads(reported("report", "--format", "json", "--suppressions", tmp_path / "known", "--error-exitcode", "9", tmp_path / "t.mmt"))
    assert by_site(left) == {"keep": {"reachable": 10}, "hangs": {"reachable": 1}}
    text = reported("report", tmp_path / "t.mmt").decode()
    assert "definitely lost" in text and re.search(r"lost with them, and counted above: .* in 6 blocks of other stacks", text)
    assert "match-leak-kinds: possible" in reported("report", "--gen-suppressions", tmp_path / "t.mmt").decode()


def sums(report, key):
    """Of all groups of a JSON report, of what is suppressed, and of the suppressions: [groups, blocks, bytes]"""
    parts = report["groups"] if key == "groups" else report[key]
    if key == "suppressed":
        return [parts["groups"], parts["blocks"], parts["bytes"]]
    return [len(parts) if key == "groups" else sum(p["groups"] for p in parts), sum(p["blocks"] for p in parts), sum(p["bytes"] for p in parts)]


def test_what_is_lost_with_a_suppressed_leak(victim, watch, tmp_path):
    """It is suppressed with it, and what else its stack has lost is not: in each format, of a merged trace, and
    of a scan."""
    target, trace, known, all_known = victim("loser"), tmp_path / "t.mmt", tmp_path / "known", tmp_path / "all"
    w = watch("-p", target.pid, "-o", trace).wait_watching()
    tell(target, ["chain 4", "either 10"])
    w.finish()
    known.write_text("leak:at_chain\nleak:at_known\n")
    all_known.write_text("leak:at_chain\nleak:at_known\n{\nnew\nMemcheck:Leak\nfun:at_news\n}\n")
    whole = json.loads(reported("report", "--format", "json", trace))
    assert by_site(whole) == {"chain": {"definite": 4}, "link": {"indirect": 4}, "known": {"definite": 5}, "news": {"definite": 5},
                              "both": {"indirect": 10}}
    merged = tmp_path / "m.mmt"
    reported("merge", "-o", merged, trace)
    reports = {"report": ("report", trace), "merge": ("report", merged), "scan": ("scan", "-p", target.pid, "--with-trace", trace)}
    for name, command in reports.items():
        def run(*more, file=known, status=9, command=command):
            return reported(*command, "--suppressions", file, "--error-exitcode", "9", "--top", "0", *more, status=status).decode()
        left = json.loads(run("--format", "json"))
        assert by_site(left) == {"news": {"definite": 5}, "both": {"indirect": 5}}, name
        assert sums(left, "suppressed")[:2] == [4, 4 + 4 + 5 + 5] and sums(left, "suppressions_used") == sums(left, "suppressed"), name
        assert sums(left, "suppressed")[2] + sums(left, "groups")[2] == left["totals"]["live_bytes"], name
        both = next(g for g in left["groups"] if where(g) == "both")
        rows = [line for line in run("--format", "csv").splitlines() if "at_both" in line]
        assert len(rows) == 1 and f",5,{both['bytes']}," in rows[0], rows
        assert re.search(r"hidden +\S+ (KiB|B) in 18 blocks of 4 groups, by suppressions", run()), name
        assert by_site(json.loads(run("--format", "json", file=all_known, status=0))) == {}, name
    left = json.loads(reported("report", "--format", "json", "--suppressions", known, trace))
    assert [g["number"] for g in left["groups"] if where(g) == "both"] == [2]
    listed = reported("report", "--suppressions", known, "--top", "0", "--block-list", "2", trace).decode()
    assert len(re.findall(r"\n +0x[0-9a-f]+ ", listed)) == 5, listed
    target.end()


KNOWN_LEAK = r"""
#include <stdlib.h>
static void *volatile kept;
__attribute__((noipa)) static void **KnownLeak(void) { void **p = malloc(100); kept = p; return p; }
__attribute__((noipa)) static void work(void) { *KnownLeak() = malloc(777); kept = NULL; }
int main(int argc, char **argv) { (void)argv; work(); if (argc > 1) { kept = malloc(55); kept = NULL; } return 0; }
"""


@pytest.mark.parametrize("more, status", [([], 0), (["more"], 9)])
def test_a_suppressed_leak_as_valgrind_and_lsan(tmp_path, more, status):
    """The exit status of all three, with and without a leak that no entry names."""
    (tmp_path / "known.c").write_text(KNOWN_LEAK)
    for name, flag in (("plain", []), ("lsan", ["-fsanitize=leak"])):
        subprocess.run(["gcc", "-g", "-O0", *flag, "-o", tmp_path / name, tmp_path / "known.c"], check=True, timeout=LIMIT)
    (tmp_path / "lsan.supp").write_text("leak:KnownLeak\n")
    (tmp_path / "valgrind.supp").write_text("{\nknown\nMemcheck:Leak\nfun:malloc\nfun:KnownLeak\n}\n")
    env = {**os.environ, "LSAN_OPTIONS": f"suppressions={tmp_path}/lsan.supp:exitcode=9:use_registers=0:use_stacks=0"}
    commands = [["valgrind", "-q", "--leak-check=full", "--error-exitcode=9", f"--suppressions={tmp_path}/valgrind.supp", tmp_path / "plain"],
                [tmp_path / "lsan"]]
    commands += [[MMATTACH, "--error-exitcode", "9", "--suppressions", tmp_path / name, "--", tmp_path / "plain"] for name in ("lsan.supp", "valgrind.supp")]
    for command in commands:
        done = subprocess.run([*command, *more], env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT)
        assert done.returncode == status, (command, done.stdout.decode(), done.stderr.decode())


def test_interim(victim, watch, tmp_path):
    """Only with `yes`: the target is stopped for each."""
    for option, taken in (("yes", True), ("auto", False)):
        target, w = watch_loser(victim, watch, "--interval", "1s", "--verdicts", option, "-o", tmp_path / f"{option}.mmt")
        wait_for(lambda: w.out.all.count("}") or any(line.endswith("]}") for line in w.out.all), "an interim report")
        w.interrupt()
        assert w.wait() == 0, w.said()
        reports, text, decoder = [], w.out.text(), json.JSONDecoder()
        while text.strip():
            report, at = decoder.raw_decode(text.lstrip())
            text = text.lstrip()[at:]
            reports.append(report)
        assert len(reports) >= 2
        assert reports[0]["run"]["verdicts"]["known"] is taken
        assert by_site(reports[-1]) == EXPECTED
        if taken:
            assert by_site(reports[0]) == EXPECTED
        assert json.loads(reported("report", "--format", "json", "--top", "0", tmp_path / f"{option}.mmt")) == reports[-1]
        assert_untouched(target)
        target.end()


ENDS = {"exit": 5, "abort": -signal.SIGABRT, "kill": -signal.SIGKILL, "term": -signal.SIGTERM}


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("threads", [0, 5])
def test_target_ends(victim, watch, how, threads):
    """Its memory is read before it is gone, and its exit status is its own."""
    target, w = watch_loser(victim, watch)
    if threads:
        target.ask(f"threads {threads}")
    if how in ("kill", "term"):
        os.kill(target.pid, -ENDS[how])
    else:
        target.say(how)
    report = w.finish(sig=None)
    assert target.wait() == ENDS[how]
    verdicts = report["run"]["verdicts"]
    assert verdicts["known"], verdicts
    assert verdicts["threads"] == threads + 1
    assert by_site(report) == EXPECTED | ({"thread": {"reachable": threads}} if threads else {})


def test_one_thread_ends(victim, watch):
    """Even if it is the first one: the others continue, and it is not held."""
    target, w = watch_loser(victim, watch)
    target.ask("threads 3")
    target.say("leave")
    wait_for(lambda: open(f"/proc/{target.pid}/stat").read().rpartition(")")[2].split()[0] == "Z", "the first thread has ended", 5)
    report = w.finish()
    assert report["run"]["verdicts"]["known"] and report["run"]["verdicts"]["threads"] == 3
    assert by_site(report) == EXPECTED | {"thread": {"reachable": 3}}
    wait_untraced(target.pid, 5)
    os.kill(target.pid, signal.SIGTERM)
    assert target.wait() == -signal.SIGTERM


@pytest.mark.parametrize("what", [signal.SIGSTOP, signal.SIGKILL])
def test_nobody_answers_at_its_end(victim, watch, what):
    """A target that ends is not held by an mmattach that is stopped, or gone."""
    target, w = watch_loser(victim, watch)
    os.kill(w.pid, what)
    began = time.monotonic()
    target.say("exit")
    assert target.wait(10) == 5
    assert time.monotonic() - began < 8
    os.kill(w.pid, signal.SIGCONT)
    w.interrupt()
    wait_for(lambda: ended(w.pid), "it has ended")


@pytest.mark.parametrize("name", PROGRAMS)
def test_from_the_start(watch, tmp_path, name):
    """For a program that was watched from its start, the verdicts of the watch are the tool's for the very
    same process."""
    out = tmp_path / "report"
    w = watch("--report", out, "--top", "0", "--", VICTIMS / name, *PROGRAMS[name], stdin=subprocess.PIPE)
    told = {}
    while True:
        line = w.out.take()
        assert line is not None, w.said()
        if line.startswith("ready"):
            pid = int(line.split()[1])
            break
        block = json.loads(line)
        told[block["addr"]] = (block["site"], block["size"])
    w.interrupt()
    wait_for(out.exists, "the report")
    wait_untraced(pid, 5)
    tool, _ = judged_by_us(told, pid)
    w.process.stdin.write(b"end\n")
    w.process.stdin.flush()
    assert w.wait() == 0, w.said()
    report = json.loads(out.read_text())
    assert report["run"]["verdicts"]["known"]
    ours = by_site(report)
    assert ours
    assert ours == {site: dict(v) for site, v in tool.sites.items() if site in ours}
    assert set(tool.sites) - set(ours) == set(), "sites that the watch has not seen"


def test_what_holds_the_oldest(victim, watch, tmp_path):
    """--who-points-at VERDICT: of each group the oldest block, with the number of the group."""
    target, trace = victim("routecache"), tmp_path / "t.mmt"
    w = watch("-p", target.pid, "-d", "2s", "-o", trace, "--who-points-at", "reachable", json_report=False)
    assert w.wait() == 0, w.said()
    answers = {group: addr for addr, group in
               re.findall(r"\n(0x[0-9a-f]+) is the beginning of a block of \d+ bytes, \[(\d+)\] [^,]+, ", w.out.text())}
    oldest = {}
    for group in ("1", "2"):
        listed = subprocess.run([MMATTACH, "report", "--block-list", group, "--top", "1", trace], stdout=subprocess.PIPE,
                                text=True, timeout=LIMIT, check=True).stdout
        oldest[group] = re.search(r"\n +(0x[0-9a-f]+) ", listed)[1]
        assert "route_add" in listed or group == "2"
    assert answers == oldest
    assert "data of routecache+0x" in w.out.text().partition(f"{oldest['1']} is the beginning")[2]
    assert_untouched(target)


def test_blocks_that_hold_the_oldest(victim, watch):
    """They are named by their group, too; the way to a root has an end."""
    target = victim("routecache", "0")
    w = watch("-p", target.pid, "-d", "1s", "--who-points-at", "reachable", json_report=False)
    assert w.wait() == 0, w.said()
    route = re.search(r"\n0x[0-9a-f]+ is the beginning of a block of 216 bytes, (\[\d\] route_add [^,]+), "
                      r"still reachable\n  block (0x[0-9a-f]+) \(216 bytes, ([^,]+), still reachable\) \+0  [^\n]+\n"
                      r"(?:  [^ ][^\n]+\n)*?  block \2 is (reached|held) through", w.out.text())
    assert route and route[1] == route[3], w.out.text()
    assert_untouched(target)


def test_pointers_behind_what_was_requested(tmp_path):
    """They count, since malloc's blocks end behind them; but not if it is known what was requested. valgrind
    knows it, too."""
    lost = {}
    for sizes in ("usable", "exact"):
        out = tmp_path / sizes
        subprocess.run([MMATTACH, "--sizes", sizes, "--format", "json", "--report", out, "--", VICTIMS / "remains"],
                       timeout=LIMIT, check=True)
        lost[sizes] = {g["stack"][0]["function"]: g["blocks"] for g in json.loads(out.read_text())["groups"]
                       if g["verdict"] == "definite"}
    assert lost == {"usable": {}, "exact": {"lost_new": 100}}


def test_the_loaders_own(victim, watch):
    """What dlopen allocates is in use, also the table of _dl_find_object, to whose beginning nothing points."""
    target = victim("dl")
    w = watch("-p", target.pid).wait_watching()
    tell(target, ["open"])
    loaders = [g for g in w.finish()["groups"]
               if os.path.basename(g["stack"][g["wrappers"]]["module"]).startswith("ld-")]
    assert loaders and {g["verdict"] for g in loaders} == {"reachable"}, loaders
    assert_untouched(target)


def test_what_the_exit_status_counts(victim, watch):
    """What is still reachable does not count, what has no verdict does."""
    target = victim("routecache")
    for more, status in ((), 0), (("--verdicts", "no"), 9), (("--verdicts", "no", "--ignore", "."), 0):
        w = watch("-p", target.pid, "-d", "1s", "--error-exitcode", "9", *more)
        assert w.wait() == status, (more, w.said())
    assert_untouched(target)
