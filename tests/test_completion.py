# SPDX-License-Identifier: MIT
"""Completion in the shells themselves: bash (with and without bash-completion), zsh and fish, each on a
terminal, where keys are typed and the line is read that becomes of them. Which words can follow is tested by
tests/unit/attach/cli/test_complete.c."""
import fcntl
import os
import pathlib
import pty
import select
import shutil
import subprocess
import termios
import time

import pytest

from test_unit import BUILD

TOP = pathlib.Path(__file__).parent.parent
FOLDER = TOP / "completions"
BASH_COMPLETION = pathlib.Path("/usr/share/bash-completion/bash_completion")
PROMPT = "ready:"
LIMIT = 30
NAMED = "import ctypes, sys, time; ctypes.CDLL(None).prctl(15, sys.argv[1].encode()); print(flush=True); time.sleep(60)"
# A shell, how it is started, and what makes it know mmattach.
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], f"PS1={PROMPT}; . {FOLDER}/mmattach"),
    "bash-completion": (["bash", "--norc", "--noprofile", "-i"], f"PS1={PROMPT}; . {BASH_COMPLETION}"),
    "zsh": (["zsh", "-f", "-i"],
            f"PS1={PROMPT}; bindkey -e; fpath=({FOLDER} $fpath); autoload -U compinit; compinit -u -d $MM_DUMP"),
    "fish": (["fish", "--no-config", "-i"],
             f"function fish_prompt; echo -n {PROMPT}; end; source {FOLDER}/mmattach.fish"),
}


class Terminal:
    """A shell on a terminal, in @folder, with the mmattach that is tested as the first one in PATH."""

    def __init__(self, shell, folder):
        words, self.setup = SHELLS[shell]
        need(words[0], shell)
        (folder / "bin").mkdir()
        (folder / "bin/mmattach").symlink_to(BUILD.resolve() / "mmattach")
        (folder / "own/completions").mkdir(parents=True)
        (folder / "own/completions/mmattach").symlink_to(FOLDER / "mmattach")
        self.ours, theirs = pty.openpty()
        env = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "HOME": str(folder),
               "TERM": "dumb", "MM_DUMP": str(folder.parent / "zcompdump"),    # zsh reads all its functions once
               "BASH_COMPLETION_USER_DIR": str(folder / "own"), "LC_ALL": "C", "COLUMNS": "200"}
        self.process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder,
                                        env=env, start_new_session=True, preexec_fn=take_terminal)
        os.close(theirs)
        self.said = ""
        self.type(self.setup + "\r")
        self.type("echo is-set-$((40 + 2))-up\r" if shell != "fish" else "echo is-set-(math 40 + 2)-up\r")
        self.wait_for("is-set-42-up")

    def type(self, keys):
        os.write(self.ours, keys.encode())

    def wait_for(self, text):
        end = time.monotonic() + LIMIT
        while text not in self.said:
            assert time.monotonic() < end, self.said
            if select.select([self.ours], [], [], 0.1)[0]:
                self.said += os.read(self.ours, 65536).decode(errors="replace")

    def becomes(self, keys):
        """The line that @keys make: it is given to printf instead of being run. @ and + mark its ends."""
        self.said = ""
        self.type(keys)
        self.type("+\x01printf '<%s>' @\r")
        self.wait_for("+>")
        return self.said[self.said.rindex("<@") + 2:].split("+>")[0].replace("><", " ")

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.ours)


def take_terminal():
    """fish wants stdin to be its controlling terminal."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def need(program, shell):
    if not shutil.which(program) or (shell == "bash-completion" and not BASH_COMPLETION.exists()):
        pytest.skip(f"{shell} is not installed")


@pytest.fixture(params=SHELLS)
def terminal(request, tmp_path):
    (tmp_path / "my trace.mmt").touch()
    (tmp_path / "service.mmt").touch()
    made = Terminal(request.param, tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("keys, line", [
    ("mmattach --unwi\tdw\t", "mmattach --unwinder dwfl "),
    ("mmattach --engi\tuprobe-s\t", "mmattach --engine uprobe-session "),
    ("mmattach repo\tser\t", "mmattach report service.mmt "),
    ("mmattach report --format=js\t", "mmattach report --format=json "),
    ("mmattach scan --format=h\t", "mmattach scan --format=html "),
    ("mmattach --family libc,glus\t", "mmattach --family libc,glusterfs "),
    ("mmattach --report=ser\t", "mmattach --report=service.mmt "),
    ("mmattach report my\t", "mmattach report my trace.mmt "),
    ("mmattach scan --who\t", "mmattach scan --who-points-at "),
    ("mmattach diff --growth\t", "mmattach diff --growth"),
    ("mmattach -- mmatt\t", "mmattach -- mmattach "),
])
def test_keys(terminal, keys, line):
    assert terminal.becomes(keys).rstrip() == line.rstrip()


def test_process(terminal):
    pid = str(os.getpid())
    assert terminal.becomes(f"mmattach -p {pid}\t").rstrip() == f"mmattach -p {pid}"
    assert terminal.becomes(f"mmattach repair {pid}\t").rstrip() == f"mmattach repair {pid}"


@pytest.mark.parametrize("name", ["zq$(>pwned)", "zq`>pwned`", "zq;>pwned", "zq&>pwned", "zq'\"\\x", "zq!e",
                                  "zq*", "zq%s", "zq\x1b[31m"])
def test_a_name_is_a_word_and_no_command(terminal, tmp_path, name):
    """A process chooses its own name; a user who completes it and presses Enter must not run it."""
    named = subprocess.Popen(["/usr/bin/python3", "-c", NAMED, name], stdout=subprocess.PIPE)
    try:
        named.stdout.readline()
        line = terminal.becomes("mmattach -n zq\t")
    finally:
        named.kill()
        named.wait()
    # one that has control characters is not offered
    assert line.rstrip() == f"mmattach -n {name if name.isprintable() else 'zq'}"
    assert not (tmp_path / "pwned").exists()


def output(*words, **env):
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, timeout=LIMIT,
                          env={**os.environ, **env}).stdout


def formats():
    out = subprocess.run([BUILD / "mmattach", "formats"], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in out.splitlines()[1:]]


def bash_offers(*words):
    """Without a terminal: what the function leaves in COMPREPLY."""
    script = (f'. {FOLDER}/mmattach; COMP_WORDS=({BUILD.resolve()}/mmattach "$@"); COMP_CWORD=$#; '
              '_mmattach; printf "%s\\n" "${COMPREPLY[@]}"')
    return output("bash", "-c", script, "bash", *words).split()


def test_bash_function():
    assert bash_offers("--fo") == ["--follow", "--format", "--focus"]
    # as bash splits --format=j
    assert bash_offers("--format", "=", "j") == ["json"]
    assert bash_offers("--format", "=") == formats()
    assert bash_offers("--verdicts", "") == ["auto", "yes", "no"]


def test_fish_lists_with_descriptions(tmp_path):
    need("fish", "fish")
    (tmp_path / "mmattach").symlink_to(BUILD.resolve() / "mmattach")
    asked = f"source {FOLDER}/mmattach.fish; complete -C 'mmattach --for'"
    assert output("fish", "--no-config", "-c", asked, PATH=f"{tmp_path}:{os.environ['PATH']}",
                  HOME=str(tmp_path)) == "--format\tform of the report\n"


def test_zsh_lists_with_descriptions(tmp_path):
    terminal = Terminal("zsh", tmp_path)
    try:
        terminal.said = ""
        terminal.type("mmattach report --fo\t\t")
        terminal.wait_for("form of the report")
        terminal.wait_for("--focus")
        assert "--format" in terminal.said
    finally:
        terminal.close()
