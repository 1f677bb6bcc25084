# SPDX-License-Identifier: MIT
"""Found in a review: children born while their parent becomes another program, and signals that are
ignored."""
import json

import pytest

from harness import VICTIMS, Program, rounds
from untouched import assert_untouched


def test_child_of_a_maker_that_execs(watch):
    """The parent forks and then execs before the child has run: the child has our traps in its memory, and
    must be cleaned all the same."""
    for _ in range(rounds(5, 50)):
        family = Program([VICTIMS / "forkexec"])
        try:
            ready = family.out.take()
            assert ready.startswith("ready "), ready
            run = watch("-p", ready.split()[1], "-d", "20s")
            run.wait_watching()
            family.process.stdin.write(b"go\n")
            family.process.stdin.flush()
            told = json.loads(family.out.take())
            assert told == {"target": 0, "child": 0}
            assert run.wait() == 0, run.said()
        finally:
            family.kill()


@pytest.mark.alone  # a thread that waits long for a processor loses its signal to another one, and sees EINTR
@pytest.mark.parametrize("cycles", [0, 5], ids=["under one watch", "across attach and detach"])
def test_ignored_signals_interrupt_nothing(victim, attach, cycles):
    """The kernel delivers even ignored signals to a traced thread; its waits must not fail with EINTR because
    of that."""
    target = victim("ignorer")
    for _ in range(max(cycles, 1)):
        watch = attach(target, "-d", "300ms" if cycles else "2s")
        watch.finish(sig=None)
        assert_untouched(target)
    told = target.end()
    assert told["sent"] > 100 and told["waits"] > 20, told
    # hardly any: a thread can be woken for a signal that another one takes, or between the keeper's last
    # check and its exit
    assert told["eintr"] * 50 <= told["sent"], told


def test_exec_while_attaching(victim, watch):
    """SEIZE waits for an exec, and the exec for threads that only we can reap: no process may wait for
    ever."""
    target = victim("reexec")
    for _ in range(rounds(20, 300)):
        run = watch("-p", target.pid, "-d", "5ms")
        # attached, or reported that it could not (the program is changing all the time); but ended
        assert run.wait() in (0, 1), run.said()
    target.process.stdin.close()
    told = json.loads(target.out.take())
    assert told["execs"] > 10 and told["bad"] == 0, told
    assert target.wait() == 0


def test_allocator_frees_at_the_end_of_a_thread(victim, attach):
    """glibc frees a thread's cache once more when it ends: these are not double frees by the program."""
    target = victim("forker", "thread")
    watch = attach(target, "-d", "1s")
    report = watch.finish(sig=None)
    assert report["totals"]["allocs"] > 1000
    assert report["totals"]["double_frees"] == 0
    target.end()
