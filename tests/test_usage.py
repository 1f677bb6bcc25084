# SPDX-License-Identifier: MIT
"""What the options refuse, by a line each: status 2, the reason, no result, and the process is not touched."""
import os
import pathlib
import shlex
import subprocess
import time

import pytest

TOP = pathlib.Path(__file__).parent.parent
MMATTACH = TOP / os.environ.get("MM_BUILD", "build/release") / "mmattach"
INPUTS = TOP / "tests/golden/inputs"

# PID is a process; a word that ends in .mmt an input of the goldens
REFUSED = [
    # words
    ("", "usage: mmattach "),
    ("-p nonsense", "-p nonsense: not a process id"),
    ("-p -5", "-p -5: not a process id"),
    ("-p 0", "-p 0: not a process id"),
    ("-p", "-p needs an argument"),
    ("-p PID -n x", "-p and -n: only one process can be watched"),
    ("--", "program"),
    ("-p PID -d soon", "soon"),
    ("-p PID --formt json", "did you mean --format?"),
    ("-p PID --format poem", "poem"),
    ("-p PID --sizes huge", "huge"),
    ("-p PID --debug=nothing", "nothing"),
    ("report service.mmt --color blue", "--color blue: must be auto, always or never"),

    # rules
    ("-p PID --probe alloc", "alloc"),
    ("-p PID --probe 'grab malloc'", "grab"),
    ("probes --family dicts", "there is no such family or pack"),
    ("probes --probes /nonexistent", "cannot read the rules of /nonexistent: No such file"),
    ("probes --probe 'alloc f sise=arg1'", "alloc has no sise= (column 9)"),
    ("probes --ref f", "must name two functions"),

    # scans
    ("scan", "nothing to scan"),
    ("scan -p PID --core x", "only one process or core file"),
    ("scan -p PID --exe x", "--exe goes with --core"),
    ("scan --core x --max-pause 1s", "no process is stopped"),
    ("scan -p PID --show lost", "not a verdict"),

    # where memory grows
    ("-p PID --growth --family fd", "only where memory grows"),
    ("-p PID --growth --probe 'alloc f'", "only where memory grows"),
    ("-p PID --growth --in f", "only where memory grows"),
    ("-p PID --growth --verdicts yes", "no blocks"),
    ("-p PID --growth --max-pause 1s", "no blocks"),
    ("-p PID --growth --sizes exact", "--sizes"),
    ("-p PID --growth --free-stacks", "--free-stacks"),
    ("-p PID --growth --per-object", "--per-object"),

    # a budget
    ("-p PID --budget 1% --family fd", "family fd: these are no blocks"),
    ("-p PID --budget 1% --family gobject", "references are counted one by one"),
    ("-p PID --budget 1% --family growth", "where memory grows"),
    ("-p PID --budget 1% --family mmap", "no blocks of memory"),
    ("-p PID --budget 1% --probe 'alloc site_x if=arg1>8'", "more is needed than their result"),
    ("-p PID --budget 1% --in main", "the moment when this is reached is not seen"),
    ("-p PID --budget 1% --ref a:b", "references are counted one by one"),

    # a sample
    ("-p PID --sample 64K --engine ptrace", "--engine ptrace"),
    ("-p PID --sample 64K --budget 1%", "--budget"),
    ("-p PID --sample 64K --growth", "--growth"),
    ("-p PID --sample 64K --family fd", "`alloc open ptr=u32(ret)"),
    ("-p PID --sample 64K --ref get_ref:put_ref", "get_ref"),
    ("-p PID --sample 64K --family thread", "`free pthread_tryjoin_np if=i32(ret)==0"),
    ("-p PID --sample 64K --probe 'free put_thing if=arg2==1'", "`free put_thing if=arg2==1"),
    ("-p PID --sample 64K --engine auto --unwinder dwfl", "--unwinder"),
    ("-p PID --sample 2T", "at most 1T"),

    # the kernel's probes
    ("-p PID --engine uprobe --budget 1%", "a budget is kept by lifting traps"),
    ("-p PID --engine uprobe --budget 1%", "--engine ptrace can"),
    ("-p PID --engine uprobe --unwinder dwfl", "no thread waits"),
    ("-p PID --engine uprobe --unwinder dwfl", "--engine ptrace can"),
    ("-p PID --engine uprobe --in main", "are not followed in the kernel"),
    ("-p PID --engine uprobe --in main", "--engine ptrace can"),

    # formats
    ("report --per-object --format folded refs.mmt", "--per-object goes with"),
    ("diff --format massif service.mmt service_later.mmt", "bytes over the time of one watch"),
    ("diff --format massif service.mmt service_later.mmt", "pprof"),
    *((f"report --format {form} --older-than 1s -o /dev/null service.mmt",
       f"--older-than: --format {form} has all that was allocated, of any age")
      for form in ("pprof", "speedscope", "massif", "heaptrack")),
    ("--format pprof --interval 1s -d 2s -- /bin/true", "--interval"),
    ("report service.mmt -o service.mmt", "service.mmt"),

    # labels
    *((f"merge -o /dev/null --label '{label}' service.mmt", "not KEY=VALUE") for label in ("", "host", "=a", "a=1,", "a b=1")),
    ("merge -o /dev/null --label pod=x,pod=y service.mmt", "pod has a value already"),
    ("merge -o /dev/null --label zone=eu,pod=x --label pod=x service.mmt", "pod has a value already"),
]


@pytest.fixture(scope="module")
def process():
    """The pid of one that sleeps until the end."""
    it = subprocess.Popen(["sleep", "infinity"])
    while pathlib.Path(f"/proc/{it.pid}/stat").read_text().rpartition(")")[2].split()[0] != "S":
        time.sleep(0.003)
    yield it.pid
    it.kill()
    it.wait()


def times_slept(pid):
    """A process that is stopped, however briefly, gives up its processor once more."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return next(line for line in status.splitlines() if line.startswith("voluntary_ctxt_switches"))


@pytest.mark.parametrize("line, said", REFUSED, ids=lambda text: text or "nothing")
def test_it_is_refused(line, said, process):
    words = [str(INPUTS / word) if word.endswith(".mmt") else word for word in shlex.split(line.replace("PID", str(process)))]
    before = times_slept(process)
    ended = subprocess.run([MMATTACH, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    assert said in ended.stderr
    assert times_slept(process) == before
