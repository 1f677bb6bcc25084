# SPDX-License-Identifier: MIT
"""What the checks share: processes that are ended whatever happens, repeated rounds of which the right ones are
counted, and a watch that is to be refused."""
import contextlib

from harness import Watch
from untouched import assert_untouched

LIMIT = 180.0  # seconds: this machine is emulated, and others may be using the processors
TRIES = 4


class Wrong(AssertionError):
    """Some of the rounds of a check were wrong."""

    def __init__(self, right, of, first):
        super().__init__(first)
        self.right, self.of = right, of


@contextlib.contextmanager
def started():
    """start(VICTIM, ARG...) for victims and watches that are ended at the end, if they still run."""
    programs = []

    def start(program):
        programs.append(program)
        return program

    try:
        yield start
    finally:
        for program in reversed(programs):
            end(program)


def end(program):
    """After a SIGKILL mmattach's keeper would still be there in the next check."""
    if isinstance(program, Watch) and program.alive():
        with contextlib.suppress(Exception):
            program.interrupt()
            program.process.wait(20)
    program.kill()


def in_rounds(n, one_round):
    """Call one_round(i) N times, also after a wrong one. Returns {"right", "of"}, or raises Wrong."""
    right, first = 0, ""
    for i in range(n):
        try:
            one_round(i)
            right += 1
        except (AssertionError, OSError) as error:  # OSError: the victim has died
            first = first or f"round {i + 1}: {error}"
    if right < n:
        raise Wrong(right, n, first)
    return {"right": right, "of": n}


def errors(said):
    """The messages that are errors: one a line, each of which may have a hint behind it."""
    lines = said.splitlines()
    strange = [line for line in lines if not line.startswith("mmattach: ")]
    assert not strange, f"no message of ours: {strange}"
    return [line for line in lines if not line.startswith("mmattach: hint: ")]


def assert_refused(victim, *args):
    """One line says why, nothing was begun, and the process is as it was. Returns the line."""
    watch = Watch("-p", victim.pid, "-d", "1s", *args)
    try:
        status = watch.wait(LIMIT)
        assert status != 0, f"it was not refused, and ended with {status}"
        found = errors(watch.said())
        assert len(found) == 1, f"{len(found)} lines of errors: {found}"
        assert_untouched(victim)
        return found[0]
    finally:
        end(watch)


def without_gap(watch):
    """What WATCH returns, a report and more. If the report says that for some time it was not watching, it is made again:
    while the host gives this machine no processor, mmattach may look as if it hung."""
    for _ in range(TRIES):
        made = watch()
        if not made[0]["run"]["gaps"]:
            break
    return made
