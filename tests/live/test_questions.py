# SPDX-License-Identifier: MIT
"""Started without arguments on a terminal, it asks; it shows a command that can be typed the next time."""
import fcntl
import os
import pathlib
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import termios

import pytest

from harness import LIMIT, MMATTACH, VICTIMS
from untouched import assert_untouched

WHICH = "which process?"
WHAT = "what to watch?"
HOW_LONG = "how long?"
WHERE_TO = "file for the trace?"


class Terminal:
    """mmattach in a session with its own terminal, without echo."""

    def __init__(self, *argv, **kwargs):
        self.master, slave = pty.openpty()
        mode = termios.tcgetattr(slave)
        mode[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, mode)
        env = {**os.environ, "MMATTACH_PAGER": ""}   # a pager would wait for its user
        self.process = subprocess.Popen([str(a) for a in argv], stdin=slave, stdout=slave, stderr=slave, start_new_session=True, env=env,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0), **kwargs)
        os.close(slave)
        self.text = ""
        self.at = 0

    def read(self):
        assert select.select([self.master], [], [], LIMIT)[0], f"nothing after {self.text!r}"
        try:
            self.text += os.read(self.master, 65536).decode(errors="replace").replace("\r\n", "\n")
        except OSError:  # it has ended
            return False
        return True

    def expect(self, what):
        """The output since the last call, up to @what."""
        while what not in self.text[self.at:]:
            assert self.read(), f"no {what!r} in {self.text[self.at:]!r}"
        end = self.text.index(what, self.at) + len(what)
        said, self.at = self.text[self.at:end], end
        return said

    def answer(self, question, text):
        said = self.expect(question)
        self.expect(" ")
        os.write(self.master, text.encode())
        return said

    def finish(self):
        while self.read():
            pass
        status = self.process.wait(30)
        os.close(self.master)
        return status


@pytest.fixture
def terminal():
    started = []

    def start(*argv, **kwargs):
        started.append(Terminal(*(argv or [MMATTACH]), **kwargs))
        return started[-1]

    yield start
    for t in started:
        if t.process.poll() is None:
            t.process.kill()
            t.process.wait()


def test_all_answers(victim, terminal, tmp_path):
    """Wrong answers are asked again, with an explanation; the command that is shown does the same as the
    answers."""
    target = victim("families")
    t = terminal(cwd=tmp_path)
    t.answer(WHICH, "\n")
    for wrong in ["2147483647", str(target.pid + 2**32), "0", "-1", "no such name"]:
        t.answer(WHICH, f"{wrong}\n")
        t.expect(wrong)
    t.answer(WHICH, f"  {target.pid} \n")
    t.expect("libc ")
    t.answer(WHAT, "libc,nothing\n")
    t.expect("'nothing' is not among them")
    t.answer(WHAT, ",\n")
    t.answer(WHAT, "libc, fd\n")
    t.answer(HOW_LONG, "soon\n")
    t.expect("write it as 30s")
    t.answer(HOW_LONG, "0s\n")
    t.answer(HOW_LONG, "1m\n")
    t.answer(WHERE_TO, "it's $HOME.mmt\n")
    t.expect("that is: ")
    command = t.expect("\n").strip()
    t.expect(f"watching {target.pid}")
    target.ask("plain 5")
    os.kill(t.process.pid, signal.SIGINT)
    assert t.finish() == 0, t.text
    assert re.search(r"\b5 blocks", t.text), t.text
    assert_untouched(target)
    # as a shell reads it
    words = shlex.split(command)
    assert words == [str(MMATTACH), "-p", str(target.pid), "--family", "libc,fd", "-d", "1m", "-o", "it's $HOME.mmt"]
    assert (tmp_path / "it's $HOME.mmt").exists()
    again = subprocess.run(["sh", "-c", command.replace("-d 1m", "-d 1s")], cwd=tmp_path, capture_output=True, timeout=60)
    assert again.returncode == 0, again.stderr
    assert_untouched(target)
    target.end()


def test_usual_answers(victim, terminal):
    """By its name, with default answers to the rest."""
    target = victim("families")
    t = terminal()
    t.answer(WHICH, "families\n")
    t.answer(WHAT, "\n")
    t.answer(HOW_LONG, "\n")
    t.answer(WHERE_TO, "\n")
    t.expect(f"that is: {MMATTACH} -p {target.pid} --family libc -d 15m\n")
    t.expect("watching ")
    os.write(t.master, b"\x03")
    assert t.finish() == 0, t.text
    assert_untouched(target)
    target.end()


@pytest.mark.parametrize("answers", range(4))
def test_the_input_ends(victim, terminal, answers):
    """Ctrl-D at any question: nothing is done."""
    target = victim("families")
    t = terminal()
    for question, text in [(WHICH, f"{target.pid}\n"), (WHAT, "\n"), (HOW_LONG, "\n"), (WHERE_TO, "\n")][:answers]:
        t.answer(question, text)
    t.answer([WHICH, WHAT, HOW_LONG, WHERE_TO][answers], "\x04")
    assert t.finish() == 2, t.text
    assert "watching" not in t.text
    assert_untouched(target)
    target.end()


def test_ctrl_c_while_it_asks(terminal):
    t = terminal()
    t.answer(WHICH, "\x03")
    assert t.finish() == -signal.SIGINT


def test_a_program_in_a_folder_with_a_blank(victim, terminal, tmp_path):
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "mmattach").symlink_to(MMATTACH)
    target = victim("families")
    t = terminal(tmp_path / "a b" / "mmattach")
    for question, text in [(WHICH, f"{target.pid}\n"), (WHAT, "\n"), (HOW_LONG, "1s\n"), (WHERE_TO, "\n")]:
        t.answer(question, text)
    t.expect("that is: ")
    assert shlex.split(t.expect("\n"))[0] == str(tmp_path / "a b" / "mmattach")
    assert t.finish() == 0
    assert_untouched(target)
    target.end()


def test_names_of_files_do_not_control_the_terminal(victim, terminal, tmp_path):
    """A file, and a process, may be called anything: neither the questions nor other commands print that raw."""
    program = tmp_path / "a\x1b[31mb\u202ec"
    shutil.copy(VICTIMS / "hot_static", program)
    target = victim(str(program), 0, 1)
    t = terminal()
    t.answer(WHICH, f"{target.pid}\n")
    offered = t.answer(WHAT, "\x03")
    t.finish()
    assert r"in a\x1b[31mb\xe2\x80\xaec" in offered and "\x1b" not in t.text, offered
    for words in (["probes", "-p", target.pid], ["repair", target.pid]):
        done = subprocess.run([MMATTACH, *map(str, words)], capture_output=True, timeout=60, check=True)
        assert rb"a\x1b[31mb" in done.stdout and b"\x1b" not in done.stdout + done.stderr
        assert "\u202e".encode() not in done.stdout
    assert_untouched(target)
    target.end()


def test_nobody_is_asked_without_a_terminal():
    done = subprocess.run([MMATTACH], stdin=subprocess.DEVNULL, capture_output=True, timeout=30)
    assert done.returncode == 2 and WHICH.encode() not in done.stdout + done.stderr


# --- what is there ---


def families_of(target):
    """{family: (functions, module)} that `probes -p` lists."""
    done = subprocess.run([MMATTACH, "probes", "-p", str(target.pid)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    listed = done.stdout[done.stdout.index("\nfamilies found in it"):]
    assert_untouched(target)
    return {name: (int(n), module) for name, n, module in re.findall(r"^  (\S+) +(\d+) functions?, in (\S+)$", listed, re.M)}


def test_families_of_a_process(victim):
    target = victim("families")
    found = families_of(target)
    assert set(found) == {"libc", "fd", "growth", "mmap", "thread"}
    assert {module for _, module in found.values()} == {"libc.so.6"}
    target.end()


ALLOCATORS = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4", "mimalloc": "libmimalloc.so.2"}


@pytest.mark.parametrize("name", ALLOCATORS)
def test_another_allocator(victim, attach, name):
    """A preloaded allocator is the one that is named, and watched: also in a watch that ends at once."""
    library = pathlib.Path("/usr/lib/x86_64-linux-gnu") / ALLOCATORS[name]
    if not library.exists():
        pytest.skip(f"optional: {name} is not installed")
    target = victim("families", env={**os.environ, "LD_PRELOAD": str(library)})
    assert families_of(target)["libc"][1].startswith(library.name.partition(".so")[0])
    watch = attach(target)
    target.ask("plain 6")
    got = watch.finish()
    assert got["totals"]["live_blocks"] == 6
    assert [note for note in got["notes"] if note.startswith(f"malloc is that of {library.name.partition('.so')[0]}")]
    assert_untouched(target)
    target.end()
