# SPDX-License-Identifier: MIT
"""Sudden death: of mmattach at any moment, and of its keeper. The target lives on."""
import contextlib
import os
import pathlib
import signal

import pytest

from harness import children, comm, ended, last_for, random_moment, rounds, slept_so_often, wait_for
from untouched import assert_code_whole, assert_untouched, code_differences, wait_untraced

ALL_GONE = 1.0  # seconds after its death within which every trap is lifted


def assert_let_go(target):
    """Within a second it is not traced any more, and its code is restored."""
    wait_untraced(target.pid, ALL_GONE)
    assert_untouched(target)


def test_killed_at_random_moments(victim, watch):
    target = victim("hot", 4)
    for turn in range(rounds(30, 500)):
        run = watch("-p", target.pid)
        random_moment(0.4)
        run.process.kill()
        run.wait()
        assert_let_go(target)
        if turn % 5 == 0:
            target.wait_working()
    assert target.end()["damaged"] == 0


def test_killed_once_planted(victim, attach):
    """The same when it is certain that traps are planted and are being hit."""
    target = victim("hot", 4)
    for _ in range(rounds(20, 300)):
        run = attach(target)
        random_moment(0.05)
        run.process.kill()
        run.wait()
        assert_let_go(target)
    assert target.end()["damaged"] == 0


def test_killed_under_the_storm(victim, attach):
    """No sleeper sees an EINTR, and no signal is lost, when the keeper leaves by itself."""
    target = victim("storm", 64)
    target.say("signals")
    for _ in range(rounds(8, 100)):
        run = attach(target)
        random_moment(0.1)
        run.process.kill()
        run.wait()
        assert_let_go(target)
    told = target.end()
    assert (told["eintr"], told["odd"], told["damaged"], told["lost"], told["doubled"]) == (0, 0, 0, 0, 0)


def test_keeper_goes_with_it(victim, attach):
    target = victim("hot", 2)
    run = attach(target)
    keeper = run.keeper()
    run.process.kill()
    run.wait()
    wait_for(lambda: ended(keeper), "the keeper has ended", ALL_GONE)
    assert_let_go(target)
    target.end()


def rank(pid):
    return int(pathlib.Path(f"/proc/{pid}/oom_score_adj").read_text())


def test_which_is_killed_if_memory_runs_out(victim, attach):
    """Neither the target, nor the keeper, without which the target would die."""
    target = victim("hot", 1)
    run = attach(target)
    assert rank(run.pid) == 1000 and rank(run.keeper()) <= rank("self") and rank(target.pid) == rank("self")
    run.finish()
    target.end()


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_other_ends(victim, attach, sig):
    """Signals that may or may not be meant as an end: the target is never harmed."""
    target = victim("hot", 4)
    run = attach(target)
    run.interrupt(sig)
    run.wait()
    assert_let_go(target)
    assert target.end()["damaged"] == 0


def test_keeper_killed_idle_target(victim, attach):
    """No thread ran into a trap, so everything is repaired; and a message says what happened."""
    target = victim("hot", 0, 4)
    run = attach(target)
    keeper = run.keeper()
    assert code_differences(target.pid), "no traps stood before the keeper was killed"
    os.kill(keeper, signal.SIGKILL)
    assert run.wait() == 1
    assert "keeper" in run.said() and "kill" in run.said().lower(), run.said()
    assert_untouched(target)
    target.end()


def test_keeper_killed_as_it_ends(victim, attach):
    """mmattach sees the signal that ends the watch first, and its keeper's death only then: once nothing put the traps
    back."""
    target = victim("hot", 0, 4)
    for _ in range(rounds(5, 300)):
        run = attach(target)
        keeper = run.keeper()
        os.kill(run.pid, signal.SIGSTOP)
        run.interrupt()
        os.kill(keeper, signal.SIGKILL)
        os.kill(run.pid, signal.SIGCONT)
        run.wait()
        assert "the keeper was killed" in run.said(), run.said()
        assert_let_go(target)
    target.end()


def kill_keeper_when(run, there):
    """Once there() is true mmattach stands still, so that its keeper is killed at that moment. Was it?"""
    while not there() and run.alive():
        pass
    run.process.send_signal(signal.SIGSTOP)  # not if it was found ended
    keeper = [pid for pid in children(run.pid) if comm(pid) == "mm-keeper" and not ended(pid)]
    hit = there() and len(keeper) == 1
    for pid in keeper:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    run.process.send_signal(signal.SIGCONT)
    run.wait()
    return hit


def until_hit(one_round, times):
    """It was possible to kill it at the right moment so often."""
    hits = 0
    for _ in range(20 * times):
        hits += one_round()
        if hits >= times:
            return
    raise AssertionError(f"only {hits} of {times}")


def test_keeper_killed_in_the_pause_for_verdicts(victim, attach):
    """The watch has ended before that, and its traps are still planted."""
    target = victim("hot", 0, 4)
    state = pathlib.Path(f"/proc/{target.pid}/stat")

    def in_pause():
        return b") t " in state.read_bytes()

    def one_round():
        run = attach(target, "--verdicts", "yes")
        assert not in_pause()
        run.interrupt()
        hit = kill_keeper_when(run, in_pause)
        assert not hit or "the keeper was killed" in run.said(), run.said()
        assert_let_go(target)
        return hit

    until_hit(one_round, rounds(3, 300))
    target.end()


def test_all_stood_still(victim, attach):
    """As in a virtual machine that is frozen: that mmattach read nothing meanwhile does not mean that it
    hangs."""
    target = victim("hot", 2)
    run = attach(target)
    keeper = run.keeper()
    for _ in range(rounds(2, 20)):
        os.kill(run.pid, signal.SIGSTOP)
        os.kill(keeper, signal.SIGSTOP)
        last_for(3)
        before = slept_so_often(keeper)
        os.kill(keeper, signal.SIGCONT)
        wait_for(lambda: slept_so_often(keeper) > before + 1, "the keeper has looked about")
        os.kill(run.pid, signal.SIGCONT)
        target.wait_working()
    last_for(1)  # time in which it could end
    assert run.alive() and not ended(keeper), run.said()
    assert run.finish()["totals"]["allocs"] > 0
    assert_untouched(target)
    assert target.end()["damaged"] == 0


def test_keeper_stopped_by_name(victim, attach):
    """SIGTERM to the keeper, as an impatient administrator may send it: it leaves cleanly."""
    target = victim("hot", 4)
    run = attach(target)
    os.kill(run.keeper(), signal.SIGTERM)
    run.wait()
    wait_untraced(target.pid, ALL_GONE)
    assert_code_whole(target.pid)
    assert target.end()["damaged"] == 0
