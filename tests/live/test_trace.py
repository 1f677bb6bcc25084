# SPDX-License-Identifier: MIT
"""Live blocks, their allocation sites and ages: live, from the trace, shrunk, in pieces: all the same, and
right.

The victim (sites.c) has 64 stacks with live blocks, each with its own size and its own way of growing.
"""
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import time

import pytest

from harness import MMATTACH, VICTIMS, Program, last_for, lost, rounds, wait_for
from untouched import assert_untouched

ROUNDS, MS = 48, 45
SHAPES = {"steady": {"grows"}, "once": {"once", "level"}, "fills": {"level", "slows"}, "slow": {"grows", "slows", "unknown"}}


def mmattach(*args, status=0, **kwargs):
    """Run a command that needs no process; returns its stdout."""
    done = subprocess.run([str(MMATTACH), *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, timeout=120, **kwargs)
    assert done.returncode == status, f"{args}: {done.returncode}: {done.stderr.decode()}"
    return done.stdout


def report(*traces, form="json", **kwargs):
    return mmattach("report", "--format", form, "--top", "0", *traces, **kwargs)


def site_of(group):
    """The number of the stack (of 64), from the names of the six functions; None for any other stack."""
    names = [frame["function"] for frame in group["stack"]]
    bits = {}
    for name in names:
        if name.startswith("level"):
            bits[int(name[5])] = name.endswith("_r")
    if sorted(bits) != list(range(6)):
        return None
    return sum(1 << level for level, right in bits.items() if right)


def assert_right(got, told, slack=0.1):
    """Every group, count, byte and age is as the victim reports it."""
    groups = {site_of(g): g for g in got["groups"] if site_of(g) is not None}
    assert sorted(groups) == list(range(64))
    assert len(groups) == sum(1 for g in got["groups"] if site_of(g) is not None), "a stack is there twice"
    start = time_of(got["run"]["start"])
    end = start + got["run"]["seconds"]
    for site in told["sites"]:
        g = groups[site["site"]]
        assert (g["blocks"], g["bytes"], g["allocs"], g["frees"]) == (
            site["blocks"], site["bytes"], site["allocs"], site["frees"]), site
        assert g["series"][-1][1] == g["bytes"]
        assert abs(g["oldest_s"] - (end - site["oldest"] / 1e9)) < slack, site
        assert abs(g["youngest_s"] - (end - site["youngest"] / 1e9)) < slack, site


def time_of(rfc3339):
    date, millis = rfc3339.rstrip("Z").split(".")
    return time.mktime(time.strptime(date, "%Y-%m-%dT%H:%M:%S")) - time.timezone + int(millis) / 1000


def assert_growth(got, told, seconds):
    """What grows, and how fast, and what has levelled off."""
    groups = {site_of(g): g for g in got["groups"]}
    for site in told["sites"]:
        growth = groups[site["site"]]["growth"]
        assert growth["shape"] in SHAPES[site["kind"]], (site, groups[site["site"]])
        if site["kind"] == "steady":
            expected = site["bytes"] / seconds * 60
            assert 0.6 * expected < growth["bytes_per_minute"] < 1.6 * expected, (site, growth)
        if site["kind"] in ("once", "fills"):
            assert growth["bytes_per_minute"] <= site["bytes"] / seconds * 60


def pieces_of(trace):
    return sorted(trace.parent.glob(trace.stem + ".[0-9]*" + trace.suffix))


def watch_sites(victim, watch, tmp_path, *options, form="json", churn=0, pieces=0):
    """A complete watch of the victim with a trace: of blocks that come and go, too, in so many pieces. Returns its report
    as printed, the victim's own counts, the trace's path."""
    target = victim("sites")
    trace = tmp_path / "sites.mmt"
    w = watch("-p", target.pid, "-o", trace, "--top", "0", "--format", form, *options, json_report=False).wait_watching()
    if churn:
        target.ask(f"churn {churn}")
    for _ in range(100):
        if len(pieces_of(trace)) >= pieces:
            break
        target.ask("churn 20000")
    told = target.ask(f"run {ROUNDS} {MS}")
    w.interrupt()
    assert w.wait() == 0, w.said()
    out = w.process_output()
    assert_untouched(target)
    target.end()
    return out, told, trace


@pytest.mark.alone
def test_live_and_from_the_trace(victim, watch, tmp_path):
    out, told, trace = watch_sites(victim, watch, tmp_path)
    live = json.loads(out)
    assert lost(live) == {}
    assert_right(live, told)
    assert_growth(live, told, live["run"]["seconds"])
    assert report(trace) == out
    assert oct(trace.stat().st_mode & 0o777) == "0o600"


def test_text_live_and_from_the_trace(victim, watch, tmp_path):
    out, told, trace = watch_sites(victim, watch, tmp_path, form="text")
    assert report(trace, form="text") == out
    # the answer first: within one screen, the fastest growing site and how fast
    screen = out.decode().split("\n")[:25]
    assert any("level0" in line and "/min" in line for line in screen), "\n".join(screen)


@pytest.mark.parametrize("form", ["csv", "folded"])
def test_other_formats(victim, watch, tmp_path, form):
    out, told, trace = watch_sites(victim, watch, tmp_path, form=form)
    assert report(trace, form=form) == out
    lines = out.decode().strip().split("\n")
    if form == "folded":
        total = sum(int(line.rpartition(" ")[2]) for line in lines)
        assert total == json.loads(report(trace))["totals"]["live_bytes"]
    else:
        assert len(lines) >= 65


def test_shrunken(victim, watch, tmp_path):
    out, told, trace = watch_sites(victim, watch, tmp_path)
    small = tmp_path / "small.mmt"
    mmattach("shrink", trace, "-o", small)
    assert report(small) == out
    assert report(small, form="text") == report(trace, form="text")
    again = tmp_path / "again.mmt"
    mmattach("shrink", small, "-o", again)
    assert report(again) == out


def test_rotated(victim, watch, tmp_path):
    out, told, trace = watch_sites(victim, watch, tmp_path, "--rotate", "64K", pieces=3)
    pieces = pieces_of(trace)
    assert len(pieces) >= 3 and not trace.exists()
    assert report(*pieces) == out
    assert report(*reversed(pieces)) == out
    assert_right(json.loads(out), told)
    # each piece can be reported alone, with names
    last = json.loads(report(pieces[-1]))
    assert last["groups"] and all(site_of(g) is not None or g["stack"][0]["function"] for g in last["groups"])
    assert any("piece" in note for note in last["notes"])
    # shrunk one by one, and combined
    small = []
    for piece in pieces:
        small.append(tmp_path / f"small.{piece.name}")
        mmattach("shrink", piece, "-o", small[-1])
    assert report(*small) == out
    together = tmp_path / "together.mmt"
    mmattach("shrink", *small, "-o", together)
    assert report(together) == out
    # single blocks are those of all pieces
    largest = json.loads(out)["groups"][0]
    asked = "--block-list=1", "--block-at", largest["examples"][0]
    got = json.loads(report(*pieces, *asked))
    assert len(got["block_list"]) == largest["blocks"] and sum(b["bytes"] for b in got["block_list"]) == largest["bytes"]
    assert got["block_at"][0]["blocks"][0]["number"] == 1
    assert report(*pieces, *asked, form="text") == report(together, *asked, form="text")
    # a missing piece is reported, with a gap
    missing = json.loads(report(pieces[0], *pieces[2:]))
    assert missing["run"]["gaps"] and any("missing" in note for note in missing["notes"])


def test_older_pieces_are_not_mixed_in(victim, watch, tmp_path):
    target = victim("sites")
    (tmp_path / "t.0007.mmt").write_bytes(b"")
    w = watch("-p", target.pid, "-o", tmp_path / "t.mmt", "--rotate", "64K")
    assert w.wait() == 1
    assert "number 7" in w.said() and "older" in w.said()
    assert_untouched(target)
    target.end()


def test_on_another_machine(victim, watch, tmp_path):
    """The trace alone: the program is gone, and so is a library that it had loaded."""
    program, library = tmp_path / "service", tmp_path / "libplug.so"
    shutil.copy(VICTIMS / "unload", program)
    shutil.copy(VICTIMS / "libleak.so", library)
    target = victim(program)
    trace = tmp_path / "t.mmt"
    w = watch("-p", target.pid, "-o", trace).wait_watching()
    target.say(f"leak {library} 7 100")
    target.say(f"return {library} 3 100")
    wait_for(lambda: pathlib.Path(f"/proc/{target.pid}/stat").read_text().rpartition(")")[2].split()[0] == "S", "the victim is idle")
    live = w.finish()
    target.end()
    program.unlink()
    library.unlink()
    out = report(trace)
    assert json.loads(out) == live
    names = [f["function"] for g in live["groups"] for f in g["stack"]]
    assert "leak_some" in names and "main" in names
    # without names in the trace there is nothing to find them by
    assert trace.read_bytes().count(b"leak_some") <= 1


def test_raw_has_no_names(victim, watch, tmp_path):
    out, told, trace = watch_sites(victim, watch, tmp_path, "--raw")
    # the binary is here, and of the same build
    assert report(trace) == out


def test_filters_and_exit_code(victim, watch, tmp_path):
    out, told, trace = watch_sites(victim, watch, tmp_path)
    everything = json.loads(out)

    def with_options(*options, status=0):
        return json.loads(mmattach("report", "--format", "json", *options, trace, status=status))

    only = with_options("--focus", "^level5_l$", "--ignore", "level4_r")
    assert {site_of(g) for g in only["groups"]} == set(range(16))
    assert only["filtered"]["groups"] == len(everything["groups"]) - 16
    assert only["totals"] == everything["totals"]
    big = with_options("--min-bytes", "4K")
    numbered = [{**g, "number": i, "row": i - 1} for i, g in enumerate((g for g in everything["groups"] if g["bytes"] >= 4096), 1)]
    assert big["groups"] == numbered
    old = with_options("--older-than", "900ms")
    for g in old["groups"]:
        assert g["youngest_s"] >= 0.9 and g["blocks"] >= 1
    assert sum(g["blocks"] for g in old["groups"]) < sum(g["blocks"] for g in everything["groups"])
    # reachable blocks are no error, as with valgrind
    assert everything["run"]["verdicts"]["known"] and {g["verdict"] for g in everything["groups"]} == {"reachable"}
    with_options("--error-exitcode", "9", status=0)
    with_options("--error-exitcode", "9", "--focus", "nobody_is_called_so")
    refused = subprocess.run([str(MMATTACH), "report", "--focus", "(", str(trace)], capture_output=True)
    assert refused.returncode == 1 and b"--focus '('" in refused.stderr


def test_suppressions(victim, watch, tmp_path):
    out, told, trace = watch_sites(victim, watch, tmp_path)
    supp = tmp_path / "known"
    supp.write_text("leak:level5_r\n{\n  the left ones\n  Memcheck,mmattach:Leak\n  fun:malloc\n  ...\n  fun:level4_l\n  fun:level5_l\n}\n")
    left = json.loads(mmattach("report", "--format", "json", "--suppressions", supp, trace))
    assert {site_of(g) for g in left["groups"]} - {None} == set(range(16, 32))
    assert sorted(u["groups"] for u in left["suppressions_used"]) == [16, 32]
    assert left["suppressed"]["groups"] == 48
    # generated suppressions suppress the groups that they were generated from
    text = mmattach("report", "--top", "0", "--gen-suppressions", trace).decode()
    entries = text[text.index("\n{\n"):]
    supp.write_text(entries)
    none = json.loads(mmattach("report", "--format", "json", "--suppressions", supp, trace))
    assert none["groups"] == []


def test_double_frees_with_both_stacks(victim, watch, tmp_path):
    target = victim("sites")
    trace = tmp_path / "t.mmt"
    w = watch("-p", target.pid, "-o", trace, "--free-stacks").wait_watching()
    target.ask("twice 3")
    got = w.finish()
    target.end()
    assert got["totals"]["double_frees"] == 3
    (entry,) = got["double_frees"]
    assert entry["count"] == 3
    assert entry["second"]["stack"][0]["function"] == "give_again"
    assert entry["first"]["stack"][0]["function"] == "give_first"
    assert entry["alloc"]["stack"][0]["function"] in ("twice", "main")
    assert json.loads(report(trace)) == got


def test_a_watch_that_does_not_come_about_leaves_the_old_trace(victim, watch, tmp_path):
    trace = tmp_path / "t.mmt"
    trace.write_bytes(b"last night's")
    w = watch("-p", "4194304", "-o", trace)
    assert w.wait() == 1
    assert trace.read_bytes() == b"last night's"
    assert [p.name for p in tmp_path.iterdir()] == ["t.mmt"]
    target = victim("sites")
    watch("-p", target.pid, "-o", trace).wait_watching().finish()
    target.end()
    assert json.loads(report(trace))["target"]["pid"] == target.pid
    refused = subprocess.run([str(MMATTACH), "report", str(trace), "-o", str(trace)], capture_output=True)
    assert refused.returncode == 2
    assert json.loads(report(trace))["target"]["pid"] == target.pid


def test_nobody_reads_the_interim_reports(victim, tmp_path):
    """A pipe that is full: the watch ends all the same, and the trace is complete."""
    target = victim("sites")
    trace = tmp_path / "t.mmt"
    reader, writer = os.pipe()
    w = Program([MMATTACH, "-p", str(target.pid), "-o", trace, "--interval", "1s", "--top", "0"], stdout=writer)
    os.close(writer)
    assert w.err.find(r"^watching"), w.said()
    target.ask("run 60 50")  # three rounds, of a report longer than a pipe
    w.process.send_signal(signal.SIGINT)
    wait_for(lambda: not any("without an end" in n for n in json.loads(report(trace))["notes"]), "the trace's end",
             every=0.2)
    w.process.send_signal(signal.SIGINT)  # the report itself cannot be printed either
    w.wait()
    os.close(reader)
    assert_untouched(target)
    target.end()


def test_killed_in_the_middle(victim, watch, tmp_path):
    """kill -9: at most the last second is missing, and the report says that the trace ended early."""
    target = victim("sites")
    trace = tmp_path / "t.mmt"
    w = watch("-p", target.pid, "-o", trace).wait_watching()
    target.ask("run 10 20")
    first = target.ask("run 1 1")
    last_for(1.3)  # a second, and the time for writing
    target.say("run 1000 2")
    wait_for(lambda: trace.stat().st_size > 0, "a trace")
    w.process.send_signal(signal.SIGKILL)
    w.process.wait()
    got = json.loads(report(trace))
    assert any("without an end" in note for note in got["notes"])
    groups = {site_of(g): g for g in got["groups"]}
    for site in first["sites"]:
        if site["kind"] in ("steady", "slow"):
            assert groups[site["site"]]["blocks"] >= site["blocks"]
    told = target.out.take(60)
    assert told is not None
    assert_untouched(target)
    target.end()


def test_damaged(victim, watch, tmp_path):
    """Truncated or overwritten anywhere: never a crash, everything before the damage is there, and the damage
    is named."""
    out, told, trace = watch_sites(victim, watch, tmp_path, churn=20000)
    whole, bad = trace.read_bytes(), tmp_path / "bad.mmt"
    everything = json.loads(out)
    chance = random.Random(4)
    last = None
    for cut in sorted(chance.randrange(16, len(whole)) for _ in range(rounds(25, 400))):
        bad.write_bytes(whole[:cut])
        got = json.loads(report(bad))
        # after the end record there are only names
        assert any("without an end" in note or "damaged at its end" in note for note in got["notes"]), (cut, got["notes"])
        # the longer the file, the more is known
        assert last is None or got["totals"]["allocs"] >= last["totals"]["allocs"]
        last = got
    assert last["totals"]["allocs"] > 0.5 * everything["totals"]["allocs"]
    for _ in range(rounds(25, 400)):
        at = chance.randrange(16, len(whole))
        bad.write_bytes(whole[:at] + bytes([whole[at] ^ chance.randrange(1, 256)]) + whole[at + 1:])
        got = json.loads(report(bad))
        assert any("bad.mmt" in note and "damage" in note for note in got["notes"]), (at, got["notes"])
        assert got["totals"]["allocs"] <= everything["totals"]["allocs"]
    for size in (0, 7):
        bad.write_bytes(whole[:size])
        refused = subprocess.run([str(MMATTACH), "report", str(bad)], capture_output=True)
        assert refused.returncode == 1 and b"bad.mmt" in refused.stderr, refused
    bad.write_bytes(b"something else altogether, and long enough for a head")
    refused = subprocess.run([str(MMATTACH), "report", str(bad)], capture_output=True)
    assert refused.returncode == 1 and b"not a trace" in refused.stderr


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], check=True)
    yield place
    # lazily: a test that failed may have left a process writing there
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.mark.parametrize("policy", ["go-on", "end"])
def test_disk_full(victim, watch, small_disk, policy):
    target = victim("sites")
    trace = small_disk / "t.mmt"
    w = watch("-p", target.pid, "-o", trace, "--on-trace-error", policy).wait_watching()
    target.say("churn 60000")
    assert w.err.find(r"cannot write the trace .*No space left", 60), w.said()
    if policy == "go-on":
        assert target.out.take(60)
        told = target.ask("run 4 1")
        w.interrupt()
    assert w.wait(60) == 1, w.said()
    live = json.loads(w.out.text())
    assert any("No space left" in note for note in live["notes"])
    if policy == "go-on":
        assert_right(live, told)
    else:
        assert target.out.take(60)
    # what was written is complete
    got = json.loads(report(trace))
    assert got["totals"]["allocs"] > 5000
    assert not any("damaged" in note for note in got["notes"]), got["notes"]
    assert_untouched(target)
    target.end()


def test_interim_reports(victim, watch, tmp_path):
    target = victim("sites")
    trace = tmp_path / "t.mmt"
    w = watch("-p", target.pid, "-o", trace, "--interval", "1s", "--format", "text", json_report=False).wait_watching()
    target.ask("run 50 50")
    w.interrupt()
    assert w.wait() == 0, w.said()
    text = w.out.text()
    assert text.count("interim report") >= 2, text
    assert text.rindex("still allocated") > text.rindex("interim report")
    # the trace knows nothing of them
    assert b"interim report" not in report(trace, form="text")
    target.end()


def test_an_interim_report_when_asked(victim, watch):
    """SIGUSR1: a report with verdicts at once, and the watch continues. That is what a scan advises if it
    finds a watch there."""
    target = victim("sites")
    w = watch("-p", target.pid, "--format", "text", json_report=False).wait_watching()
    target.ask("run 50 50")
    scan = subprocess.run([MMATTACH, "scan", "-p", str(target.pid)], stderr=subprocess.PIPE, text=True, check=False)
    assert scan.returncode == 1 and f"kill -USR1 {w.process.pid} " in scan.stderr, scan.stderr
    os.kill(w.process.pid, signal.SIGUSR1)
    w.out.find("interim report 1: the watch goes on")
    target.ask("run 50 50")
    w.interrupt()
    assert w.wait() == 0, w.said()
    text = w.out.text()
    first, last = text[:text.rindex("\nsites (")], text[text.rindex("\nsites ("):]
    assert "in a pause of" in first and "in a pause of" in last and "interim report" not in last
    assert_untouched(target)
    target.end()


def test_a_storm_of_wishes(victim, watch):
    """SIGUSR1 every millisecond, until mmattach has ended: the last report is complete, with its names."""
    target = victim("sites")
    w = watch("-p", target.pid, "-d", "3s", "--format", "text", json_report=False).wait_watching()
    target.ask("run 5 5")
    while w.alive():
        os.kill(w.process.pid, signal.SIGUSR1)
        last_for(0.001)
    assert w.wait() == 0, w.said()
    text = w.out.text()
    reports = re.findall(r"^interim report", text, re.M)
    assert 1 <= len(reports) < 20, len(reports)
    last = text[text.rindex("\nsites ("):]
    assert "interim report" not in last and last.count("level0") > 10, last[:3000]
    assert_untouched(target)
    target.end()


def test_one_verdict_only(victim, watch, tmp_path):
    """--show at the end of a watch, and for its trace: the same groups, and the number left out is
    reported."""
    target = victim("sites")
    trace = tmp_path / "t.mmt"
    w = watch("-p", target.pid, "-o", trace).wait_watching()
    target.ask("run 50 50")
    w.finish()
    target.end()
    everything = json.loads(report(trace))["groups"]
    for verdict in {g["verdict"] for g in everything}:
        shown = json.loads(report("--show", verdict, trace))
        assert {site_of(g) for g in shown["groups"]} == {site_of(g) for g in everything if g["verdict"] == verdict}
        assert shown["filtered"]["groups"] == len(everything) - len(shown["groups"])


def test_names_that_wish_us_ill(victim, watch, tmp_path):
    """Control characters, quotes and broken UTF-8 in the path and the arguments, in every format."""
    evil = os.fsencode(tmp_path) + b"/ev\x1b[2Jil \"q\" \xff;=1\n"
    shutil.copy(VICTIMS / "sites", evil)
    target = victim(os.fsdecode(evil), os.fsdecode(b"arg\x1b]0;x\x07\xfe\""))
    trace = tmp_path / "t.mmt"
    w = watch("-p", target.pid, "-o", trace).wait_watching()
    target.ask("run 2 1")
    w.finish()
    target.end()
    for form in ("text", "json", "csv", "folded"):
        out = report(trace, form=form)
        out.decode("utf-8")
        assert b"\x1b" not in out and b"\x07" not in out, form
    json.loads(report(trace))
