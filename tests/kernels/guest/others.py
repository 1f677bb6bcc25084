# SPDX-License-Identifier: MIT
"""A scan, the frames of scripts, and a container."""
import pathlib
import shutil
import tempfile

import python_frames
import ruby_frames
from harness import VICTIMS, Contained, Victim, Watch
from proofs import LIMIT, started, without_gap
from scans import assert_adds_up, assert_truth, scan
from untouched import assert_untouched

NAMESPACES = ["--user", "--map-root-user", "--mount", "--pid", "--uts", "--ipc", "--net"]
LIBRARIES = ["lib64/ld-linux-x86-64.so.2", "lib/x86_64-linux-gnu/libc.so.6"]


def scanned():
    """What was lost before anything watched is found, and nothing else; the sleepers have seen no EINTR."""
    with started() as start:
        target = start(Victim("held", 2, 2000, 50))
        truth = target.ask("truth")
        report = scan("-p", target.pid).json()
        assert_untouched(target)
        assert_truth(report, truth)
        assert_adds_up(report)
        told = target.end()
        assert (told["eintr"], told["wrong"]) == (0, 0), f"{told}"


def frames(interpreter, arguments, of, engine):
    """Each kind of frame, as the interpreter itself has it."""
    with started() as start:
        target = start(Victim(interpreter, *arguments))

        def once():
            run = start(Watch("-p", target.pid, "--verdicts", "no", "--sizes", "exact", "--engine", engine)).wait_watching(LIMIT)
            answers = [answer for order in of.OF_EACH for answer in target.ask(order, LIMIT)]
            return run.finish(limit=LIMIT), answers

        report, answers = without_gap(once)
        of.assert_same_stacks(report, answers)
        of.no_doubts(report)
        assert_untouched(target)
        target.end()
        return {"said": f"{len(answers)} stacks"}


def python(engine):
    return frames("/usr/bin/python3", [python_frames.SCRIPT, "held"], python_frames, engine)


def ruby(engine):
    return frames("/usr/bin/ruby", ["--disable-gems", ruby_frames.SCRIPT], ruby_frames, engine)


# --- a container ---

def make_root():
    """A root directory with one program and the libraries that it needs."""
    root = pathlib.Path(tempfile.mkdtemp())
    for name in LIBRARIES:
        (root / name).parent.mkdir(parents=True)
        shutil.copy(f"/{name}", root / name)
    (root / "proc").mkdir()
    shutil.copy(VICTIMS / "paths", root / "program")
    return root


def container(engine):
    """Namespaces and a root directory of its own, watched from outside: its files are found."""
    inside = 'mount -t proc proc "$0/proc" && exec chroot "$0" /program'
    with started() as start:
        target = start(Contained("/usr/bin/unshare", *NAMESPACES, "--fork", "--kill-child", "sh", "-c", inside, make_root()))
        run = start(Watch("-p", target.pid, "--engine", engine)).wait_watching(LIMIT)
        target.ask("nested 50", LIMIT)
        report = run.finish(limit=LIMIT)
        nested = next(group["stack"] for group in report["groups"] if group["blocks"] == 50)
        assert nested[0]["file"].endswith("paths.c") and "main" in [frame["function"] for frame in nested], f"{nested}"
        assert_untouched(target)
        target.ask("nested 1")
