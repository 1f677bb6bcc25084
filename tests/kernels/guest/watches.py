# SPDX-License-Identifier: MIT
"""Watches as they are usual: leaks found, with verdicts; a budget; children; a process that notices every
disturbance."""
import pathlib
import signal
import tempfile

from harness import Victim, Watch, wait_for
from proofs import LIMIT, assert_refused, started
from untouched import assert_untouched

LEAKS = {"session_open", "cache_insert", "log_context"}
ENOUGH = 3000   # allocations
UNHARMED = {"eintr": 0, "odd": 0, "damaged": 0, "lost": 0, "doubled": 0, "wrong_info": 0, "mask_kept": True}
BUDGET = "5%"
# An emulated machine may be without a processor while a thread of it is stopped, which the keeper cannot know before.
SPENT, WORST = 1.25, 1.5


def watch_for(start, target, seconds, *args):
    """The report of a watch that ends by itself, of a process that is untouched then."""
    report = start(Watch("-p", target.pid, "-d", f"{seconds}s", *args)).finish(sig=None, limit=seconds + LIMIT)
    assert_untouched(target)
    return report


def was_too_slow(report):
    """The keeper leaves, as it promises, if no event is read for 1.5 s: in a machine that gets a tenth of a processor,
    and emulates it, that is as long as a few milliseconds of a real one."""
    return any("did not read events" in gap["why"] for gap in report["run"]["gaps"])


def end_of_service(target):
    """Its own normal end: it prints how often it leaked."""
    target.process.send_signal(signal.SIGTERM)
    assert target.wait(LIMIT) == 0, target.said()


def leaks_found(report):
    """The functions of the service that are in a group that is definitely lost."""
    lost = [group for group in report["groups"] if group["verdict"] == "definite"]
    return LEAKS & {frame["function"] for group in lost for frame in group["stack"]}


def groups(engine, frontend):
    """The service's three leaks are found, by the engine that was asked for, or chosen. One request in a hundred, in some
    300 allocations, forgets its context: a watch that has seen enough of them must find all; an emulated machine may serve
    too few in the first few seconds, which are fewer for probes, as more of its requests are served meanwhile. Or it is
    too slow for the keeper: then the process must be untouched, and is watched again."""
    with started() as start:
        target = start(Victim("leaky_service"))
        for seconds in 4 if frontend == "ptrace" else 2, 12, 36:
            report = watch_for(start, target, seconds, "--engine", engine, "--verdicts", "yes")  # however long the pause is
            assert report["run"]["engine"] == frontend, f"watched by {report['run']['engine']}"
            if report["totals"]["allocs"] > ENOUGH and not was_too_slow(report):
                break
        assert report["totals"]["allocs"] > ENOUGH, report["totals"]
        assert leaks_found(report) == LEAKS, f"lost: {leaks_found(report)}, verdicts: {report['run']['verdicts']}"
        end_of_service(target)


def refused(engine):
    with started() as start:
        target = start(Victim("leaky_service"))
        said = assert_refused(target, "--engine", engine)
        end_of_service(target)
        return {"said": said}


def budget():
    with started() as start:
        target = start(Victim("leaky_service"))
        report = watch_for(start, target, 15, "--budget", BUDGET)
        spent = report["run"]["budget"]
        assert report["run"]["mode"] == "sampled" and report["groups"]
        assert spent["spent"] <= SPENT * spent["promise"], f"{spent}"
        assert spent["worst_ten_seconds"] <= WORST * spent["promise"], f"{spent}"
        end_of_service(target)
        return {"said": f"{100 * spent['spent']:.1f} of {100 * spent['promise']:.0f} %"}


def storm(engine):
    """No sleeper sees an EINTR, no signal is lost, no block is damaged."""
    with started() as start:
        target = start(Victim("storm", 12))
        target.say("signals")
        report = watch_for(start, target, 4, "--engine", engine, "--verdicts", "yes")  # however long the pause is
        assert report["totals"]["allocs"] > 0
        told = target.end()
        assert {key: told[key] for key in UNHARMED} == UNHARMED, f"{told}"


# --- children ---

def of_children(report, parent):
    """(allocations, frees, live blocks) of each, by its pid."""
    return {each["pid"]: (each["allocs"], each["frees"], each["live_blocks"])
            for each in report["processes"] if each["pid"] != parent}


def follow_by_ptrace():
    """From their first instruction: each allocates 100 blocks and keeps them, 100 more, and frees 5 of its parent's."""
    folder = pathlib.Path(tempfile.mkdtemp()) / "traces"
    with started() as start:
        target = start(Victim("births"))
        run = start(Watch("-p", target.pid, "--follow", "--engine", "ptrace", "-o", f"{folder}/"))
        assert run.err.find(r"^watching \d+ process", LIMIT), run.said()
        pids = target.ask("chain 3 100 5", LIMIT)["pids"]
        wait_for(lambda: all(list(folder.glob(f"{pid}-*.mmt")) for pid in pids), "each has a trace", LIMIT)
        found = of_children(run.finish(limit=LIMIT), target.pid)
        assert found == {pid: (200, 105, 100) for pid in pids}, f"{found}"
        assert_untouched(target)
        assert target.end() == {"bad": 0}


def follow_by_uprobe():
    """Children are found some time after their start: each allocates 10 blocks then, and frees 6."""
    with started() as start:
        target = start(Victim("births"))
        run = start(Watch("-p", target.pid, "--follow", "--engine", "uprobe"))
        assert run.err.find(r"^watching \d+ process", LIMIT), run.said()
        assert target.ask("later 2 15000", LIMIT) == {"bad": 0}
        found = of_children(run.finish(limit=LIMIT), target.pid)
        assert sorted(found.values()) == [(10, 6, 5)] * 2, f"{found}"
        assert_untouched(target)
        assert target.end() == {"bad": 0}
