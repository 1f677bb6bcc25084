# SPDX-License-Identifier: MIT
"""The same calls watched by mmattach and by gdb in batch mode: the same report, except for times, pids and
addresses."""
import json
import subprocess

import pytest

from harness import LIMIT, MMATTACH, Program
from session import ENVIRONMENT, GDB, SCRIPT, comparable
from test_families import LIBC, OWN
from test_references import ABSOLUTE, COUNTED
from untouched import assert_untouched

TAKE = "alloc pool_take ptr=*arg3 size=arg2 tag=str(arg4) if=i32(ret)==0\n"
PAIR = """family pair of=handle
alloc pair_open  ptr=*arg1 also=*(arg1+8) if=i32(ret)==0
free  pair_close if=i32(ret)==0
"""

PLUG = "alloc plug_malloc size=arg1\nfree plug_free\nalloc malloc\nfree free\n"

# (victim, orders, rules, options): the situations that a watch can be in.
CASES = {
    "medley": ("medley", ["go"], "", ["--free-stacks"]),
    "medley-exact": ("medley", ["go"], "", ["--sizes", "exact"]),
    "medley-in": ("medley", ["go"], "", ["--in", "_ZL6op_newP6workerP4held", "--in", "_ZL14op_realloc_anyP6workerP4held"]),
    "families": ("families", ["types 20", "grow 12", "plain 3", "blind 4"], OWN + LIBC, ["--sizes", "exact"]),
    "conditions": ("families", ["pairs 40"], PAIR, []),
    "names": ("rules", ["take 28"], TAKE, []),
    "sites": ("sites", ["run 2 1", "twice 3"], "", ["--free-stacks"]),
    "stacks": ("paths", ["keep 150", "aligned 5", "edge 2", "nested 3"], "", []),
    "shallow": ("paths", ["keep 60"], "", ["--depth", "3"]),
    "c++": ("cpaths", ["keep 60"], "", []),
    "refs": ("refs", ["run 60", "jump 3", "quiet 5"], COUNTED, []),
    "refs-absolute": ("refs", ["make 4", "less 2", "run 40", "hidden 2"], ABSOLUTE, []),
    "modules": ("dl", ["open", "call 9", "close", "open", "call 3"], PLUG, []),
}

WITHOUT_MEMORY = {"conditions", "refs", "refs-absolute"}

BATCH = """set breakpoint pending off
source {script}
set mmleak program {program}
mmleak start {options}
break -qualified write
echo started\\n
{rounds}
mmleak stop
mmleak report --format json --top 0 -o {report}
"""


def by_mmattach(attach, target, orders, options):
    # with gdb as the tracer there are none
    watch = attach(target, "--top", "0", "--verdicts", "no", *options)
    for order in orders:
        target.ask(order)
    return watch.finish()


def quoted(word):
    return f'"{word}"' if " " in word else word


def batch_script(orders, options, folder):
    """Each order's answer is one write: the target runs until the last answer."""
    script = folder / "batch.gdb"
    script.write_text(BATCH.format(script=SCRIPT, program=MMATTACH, options=" ".join(map(quoted, options)),
                                   rounds="\n".join(["continue"] * len(orders)), report=folder / "report"))
    return script


def by_gdb(target, orders, options, folder):
    """A batch of commands: gdb attaches, watches until the last answer, reports, and detaches."""
    run = Program([GDB, "-nx", "-q", "-batch", "-p", target.pid, "-x", batch_script(orders, options, folder)],
                  stdin=subprocess.DEVNULL, env=ENVIRONMENT)
    try:
        assert run.out.find("^started$"), run.out.text(1) + run.said()
        for order in orders:
            target.say(order)
        assert run.wait(2 * LIMIT) == 0, run.out.text() + run.said()
        for _ in orders:
            target.out.take()
    finally:
        run.kill()
    assert (folder / "report").exists(), run.out.text() + run.said()
    return json.loads((folder / "report").read_text())


@pytest.mark.parametrize("case", CASES)
def test_same_report(victim, attach, tmp_path, case):
    name, orders, rules, options = CASES[case]
    if rules:
        file = tmp_path / "own.probes"
        file.write_text(rules)
        options = ["--probes", str(file), *options]
    reports = []
    for watched in (lambda target: by_mmattach(attach, target, orders, options),
                    lambda target: by_gdb(target, orders, options, tmp_path)):
        target = victim(name)
        reports.append(watched(target))
        assert_untouched(target)
        target.end()
    ours, gdbs = reports
    assert (ours["run"]["engine"], gdbs["run"]["engine"]) == ("ptrace", "gdb")
    assert ours["run"]["events"] > 0
    # there are no verdicts, and gdb's report says why
    assert not ours["run"].pop("verdicts")["known"]
    theirs = gdbs["run"].pop("verdicts")
    assert not theirs["known"] and ("gdb is the tracer" in (theirs["why_not"] or "")) is (case not in WITHOUT_MEMORY)
    assert comparable(gdbs) == comparable(ours)
