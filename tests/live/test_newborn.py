# SPDX-License-Identifier: MIT
"""What a review found: children born while their maker becomes another program, and signals that are ignored."""
import json

import pytest

from harness import VICTIMS, Program, rounds
from untouched import assert_untouched


def test_child_of_a_maker_that_execs(watch):
    """Forked, and its maker exec'ed before it ran: it has our traps in its memory, and must be cleaned all the same."""
    for _ in range(rounds(8, 50)):
        family = Program([VICTIMS / "forkexec"])
        try:
            ready = family.out.take()
            assert ready.startswith("ready "), ready
            run = watch("-q", "-p", ready.split()[1], "-d", "20s")
            run.wait_watching()
            family.process.stdin.write(b"go\n")
            family.process.stdin.flush()
            told = json.loads(family.out.take())
            assert told == {"target": 0, "child": 0}
            assert run.wait() == 0, run.said()
        finally:
            family.kill()


@pytest.mark.parametrize("cycles", [0, 5], ids=["under one watch", "across attach and detach"])
def test_ignored_signals_interrupt_nothing(victim, attach, cycles):
    """The kernel delivers even ignored signals to a traced thread; its waits must not fail with EINTR for that."""
    target = victim("ignorer")
    for _ in range(max(cycles, 1)):
        watch = attach(target, "-d", "300ms" if cycles else "2s")
        watch.finish(sig=None)
        assert_untouched(target)
    told = target.end()
    assert told["sent"] > 100 and told["waits"] > 20, told
    # one thread may be woken between the keeper's last look at it and the keeper's exit
    assert told["eintr"] <= max(cycles, 1), told
