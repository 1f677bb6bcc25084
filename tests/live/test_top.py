# SPDX-License-Identifier: MIT
"""mmattach top, in a terminal (tmux) and without one: what it shows, what keys do, that a watch's options reach the
watch, and that the process is left as it was however the view ends."""
import fcntl
import os
import pathlib
import re
import shlex
import shutil
import signal
import struct
import subprocess
import termios

import pytest

from harness import MMATTACH, VICTIMS, Watch, children, ended, last_for, random_moment, rounds, wait_for
from test_references import COUNTED
from untouched import assert_untouched, wait_untraced

pytestmark = pytest.mark.waiting

need_tmux = pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")
LIMIT = 60
LOOK = 0.05     # seconds between two looks at a screen: each starts a program

F_SETPIPE_SZ = 1031


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def watcher_of(view):
    """The mmattach that watches for it; what looks up names is another child."""
    return wait_for(lambda: next((c for c in children(view) if "--quiet" in command_of(c)), None), "a watcher")


class Terminal:
    """A terminal of its own, in a tmux server of its own, in which top runs."""

    def __init__(self, folder, *args, size=(80, 24), place=None):
        self.socket = str(folder / "tmux")
        command = " ".join(shlex.quote(str(a)) for a in (MMATTACH, "top", *args))
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(size[0]), "-y", str(size[1]),
                  f"TMPDIR={shlex.quote(str(place or folder))} exec {command}")
        self.tmux("set-option", "-g", "remain-on-exit", "on")
        self.view = int(self.tmux("display-message", "-p", "#{pane_pid}"))

    def tmux(self, *args, check=True):
        return subprocess.run(["tmux", "-S", self.socket, *args], check=check, capture_output=True, text=True).stdout

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def lines(self):
        return self.screen().rstrip("\n").split("\n")

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def resize(self, columns, lines):
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def wait_shown(self, text):
        """@text, a regular expression, is on the screen."""
        last = ""

        def shown():
            nonlocal last
            last = self.screen()
            return re.search(text, last, re.M)
        try:
            return wait_for(shown, f"{text!r} on the screen", every=LOOK)
        except AssertionError as e:
            raise AssertionError(f"{e}:\n{last}") from None

    def watcher(self):
        return watcher_of(self.view)

    def quit(self):
        self.keys("q")
        wait_for(lambda: ended(self.view), "the view ends")

    def end(self):
        self.tmux("kill-server", check=False)


@pytest.fixture
def service(victim):
    """It has few requests: what is shown does not depend on how many, and each costs a watch processor time."""
    return victim("leaky_service", "calm")


@pytest.fixture
def terminal(tmp_path):
    opened = []

    def open_terminal(*args, **kwargs):
        opened.append(Terminal(tmp_path, *args, **kwargs))
        return opened[-1]

    yield open_terminal
    for each in opened:
        each.end()


@pytest.fixture
def shown(service, terminal):
    """The view of a service."""
    t = terminal("-p", service.pid)
    t.wait_shown("leaky_service.c:")
    return t


def check_left(victim, folder=None):
    wait_untraced(victim.pid, LIMIT)
    assert_untouched(victim)
    assert not folder or not list(folder.glob("mmattach-top-*")), "no file is left"


# --- what it shows ---


@need_tmux
@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
def test_it_shows_and_sorts_and_ends(service, terminal, tmp_path, size):
    t = terminal("-p", service.pid, size=size)
    t.wait_shown(r"leaky_service.c:\d+")
    t.wait_shown(r"^leaky_service \(\d+\) +[\d.]+s +\d+ events/s +live [\d.]+ [KM]iB \+[\d.]+ .iB/min$")
    t.wait_shown(r"stopped [\d.]+% of the time")
    t.wait_shown(r"^ +[\d.]+ .iB +\+[\d.]+ .iB/min +\d+ .*\|.{2,}\| +cache_insert leaky_service.c:52")
    for key, head in (("g", r"\*growth"), ("r", r"\*calls/s"), ("c", r"\*calls "), ("b", r"\*live")):
        t.keys(key)
        t.wait_shown(head)
    t.keys("p")
    t.wait_shown("PAUSED")
    t.keys("Space")
    wait_for(lambda: "PAUSED" not in t.screen(), "it goes on", every=LOOK)
    assert max(map(len, t.lines())) <= size[0] and len(t.lines()) == size[1]
    t.quit()
    check_left(service, tmp_path)


@need_tmux
def test_a_stack_is_opened(shown):
    shown.keys("c", "End", "Enter")
    shown.wait_shown(r"^    #0 .*\n")
    shown.wait_shown("#1 .*handle_request|#0 .*handle_request|handle_request")
    shown.keys("Enter")
    wait_for(lambda: "#0" not in shown.screen(), "it is closed", every=LOOK)


@need_tmux
def test_filter(shown):
    shown.keys("/")
    shown.wait_shown("^filter .*:")
    shown.type("^session_")
    shown.keys("Enter")
    shown.wait_shown(r"filter: \^session_ \(1 of \d\)")
    assert "session_open" in shown.screen() and "cache_insert" not in shown.screen()
    shown.keys("/", "C-u")
    shown.type("(")
    shown.keys("Enter")
    shown.wait_shown("no regular expression")
    shown.keys("/", "C-u", "Enter")
    shown.wait_shown("cache_insert")
    assert "filter:" not in shown.screen()


@need_tmux
def test_mark(shown):
    shown.keys("m")
    shown.wait_shown(r"since the mark, \S+ ago")
    shown.wait_shown(r"\*more")
    shown.wait_shown(r"^ +\+[\d.]+ .?i?B +\+.*cache_insert")
    shown.keys("m")
    shown.wait_shown(r"\*live")


@need_tmux
def test_help(shown):
    shown.keys("h")
    shown.wait_shown("^m +numbers since now")
    shown.keys("x")
    shown.wait_shown(r"\*live")
    shown.keys("?")
    shown.wait_shown("any key goes back")


@need_tmux
def test_save(service, shown, tmp_path):
    saved = tmp_path / "saved.mmt"
    shown.keys("s")
    shown.type(str(saved))
    shown.keys("Enter")
    shown.wait_shown("^saved: mmattach report ")
    out = subprocess.run([MMATTACH, "report", saved], check=True, capture_output=True, text=True).stdout
    assert f"leaky_service ({service.pid})" in out and "cache_insert" in out and "damaged" not in out
    shown.keys("s")
    shown.type(str(saved))
    shown.keys("Enter")
    shown.wait_shown("cannot save the trace: File exists")
    shown.keys("s")
    shown.type(str(tmp_path / "no/folder"))
    shown.keys("Enter")
    shown.wait_shown("cannot save the trace: No such file")
    shown.quit()
    check_left(service, tmp_path)
    assert saved.exists()


@need_tmux
def test_sizes(service, shown):
    shown.resize(60, 12)
    wait_for(lambda: len(lines := shown.lines()) == 12 and lines[-1].startswith("b g r c sort"),
             "the last line is the twelfth", every=LOOK)
    shown.keys("Enter")
    for columns, lines in ((10, 3), (1, 1), (2, 200), (300, 2), (20, 5)):
        shown.resize(columns, lines)
        shown.keys("j", "k", "NPage", "PPage", "Enter", "h", "x", "/", "Escape")
        wait_for(lambda lines=lines: len(shown.screen().split("\n")) == lines + 1, f"{lines} lines", every=LOOK)
        assert not ended(shown.view)
    shown.resize(10, 3)
    shown.wait_shown(r"^ +[\d.]+ .iB")
    shown.resize(80, 24)
    shown.wait_shown(r"cache_insert leaky_service.c:\d+")
    shown.quit()
    check_left(service)


@need_tmux
def test_names_that_would_move_the_cursor(victim, terminal, tmp_path):
    program = tmp_path / "a\x1b[2J\u202eb"
    shutil.copy(VICTIMS / "leaky_service", program)
    service = victim(str(program), "calm")
    t = terminal("-p", service.pid, size=(140, 40))
    t.wait_shown("cache_insert")
    t.keys("Enter")
    t.wait_shown(r"#0 .*\\x1b\[2J")
    lines = t.lines()
    assert lines[0].startswith(r"a\x1b[2J\xe2\x80\xaeb (") and "events/s" in lines[0]
    assert "\u202e" not in t.screen()
    t.quit()
    check_left(service)


@need_tmux
def test_objects(victim, terminal, tmp_path):
    target = victim("refs")
    (tmp_path / "own.probes").write_text(COUNTED)
    t = terminal("-p", target.pid, "--probes", tmp_path / "own.probes")
    t.wait_shown("events/s")
    wait_for(lambda: target.ask("make 7") and re.search(r"^ +\d+ .*refs.c:", t.screen(), re.M), "a row of references",
             every=LOOK)
    t.quit()
    check_left(target, tmp_path)


# --- options of a watch ---


@need_tmux
def test_budget(service, terminal, tmp_path):
    t = terminal("-p", service.pid, "--budget", "2%", size=(120, 24))
    t.wait_shown("the first estimates come after ten seconds|budget 2")
    t.wait_shown(r"budget 2\S*%: \S+% used, \S+% left; worst ten seconds \S+%")
    t.wait_shown(r"^ +[~?]\S+ .*~\d+ .*leaky_service.c:")
    t.quit()
    check_left(service, tmp_path)


@need_tmux
def test_output(service, terminal, tmp_path):
    trace = tmp_path / "own.mmt"
    trace.write_bytes(b"an older file of that name")
    t = terminal("-o", trace, "--free-stacks", "-p", service.pid)
    t.wait_shown("cache_insert")
    assert "--free-stacks" in command_of(t.watcher())
    t.quit()
    check_left(service, tmp_path)
    out = subprocess.run([MMATTACH, "report", trace], check=True, capture_output=True, text=True).stdout
    assert "cache_insert" in out and "without an end" not in out


@need_tmux
def test_duration(service, terminal, tmp_path):
    t = terminal("-p", service.pid, "-d", "2s")
    t.wait_shown("the watch has ended; this is what was seen")
    check_left(service, tmp_path)
    t.wait_shown("cache_insert")
    t.keys("c")
    t.wait_shown(r"\*calls ")
    t.quit()


@need_tmux
def test_family_and_interval(victim, terminal):
    target = victim("fds")
    t = terminal("-p", target.pid, "--family", "fd", "--interval=1s")
    t.wait_shown("events/s")
    t.quit()
    check_left(target)


@need_tmux
def test_pieces(victim, terminal, tmp_path):
    service = victim("leaky_service")   # not calm: three pieces are soon full
    t = terminal("-p", service.pid, "-o", tmp_path / "a.mmt", "--rotate", "64K")
    t.wait_shown("cache_insert")
    wait_for(lambda: (tmp_path / "a.0003.mmt").exists(), "three pieces")
    seen = t.wait_shown(r"^leaky_service \(\d+\) +(\S+)")[1]
    wait_for(lambda: t.wait_shown(r"^leaky_service \(\d+\) +(\S+)")[1] != seen, "it goes on")
    t.quit()
    check_left(service)


@need_tmux
def test_a_trace_that_is_being_written(service, terminal, tmp_path):
    watch = Watch("-p", service.pid, "-o", tmp_path / "a.mmt")
    try:
        watch.wait_watching()
        t = terminal(tmp_path / "a.mmt")
        t.wait_shown("leaky_service.c:")
        watch.finish()
        t.wait_shown("the trace has ended")
    finally:
        watch.kill()


@need_tmux
def test_a_trace_whose_writer_was_killed(service, terminal, tmp_path):
    watch = Watch("-p", service.pid, "-o", tmp_path / "a.mmt").wait_watching()
    t = terminal(tmp_path / "a.mmt")
    t.wait_shown("leaky_service.c:")
    watch.process.kill()
    watch.wait()
    t.wait_shown("the trace has no end, and no process writes it")
    check_left(service)


# --- however it ends ---


@need_tmux
def test_the_view_is_killed(service, shown, tmp_path):
    watcher = shown.watcher()
    os.kill(shown.view, signal.SIGKILL)
    wait_for(lambda: ended(watcher), "the watcher ends")
    check_left(service, tmp_path)


@need_tmux
def test_the_watcher_is_killed(service, shown, tmp_path):
    os.kill(shown.watcher(), signal.SIGKILL)
    shown.wait_shown("the watch has ended")
    check_left(service)
    shown.quit()
    check_left(service, tmp_path)


@need_tmux
def test_the_terminal_goes(service, shown, tmp_path):
    watcher = shown.watcher()
    shown.end()
    wait_for(lambda: ended(watcher), "the watcher ends")
    check_left(service, tmp_path)


@need_tmux
def test_tmux_is_killed(service, shown, tmp_path):
    watcher = shown.watcher()
    os.kill(int(shown.tmux("display-message", "-p", "#{pid}")), signal.SIGKILL)
    wait_for(lambda: ended(watcher) and ended(shown.view), "both end")
    check_left(service, tmp_path)


@need_tmux
def test_the_view_is_stopped(service, shown, tmp_path):
    """The watch, and so the process, waits for nothing of the view."""
    trace_of = shown.watcher()

    def written():
        return sum(os.stat(f"/proc/{trace_of}/fd/{fd}").st_size for fd in os.listdir(f"/proc/{trace_of}/fd")
                   if "mmattach-top-" in os.readlink(f"/proc/{trace_of}/fd/{fd}"))

    os.kill(shown.view, signal.SIGSTOP)
    for _ in range(3):
        before = written()
        wait_for(lambda before=before: written() > before, "the trace grows")
    assert service.alive()
    os.kill(shown.view, signal.SIGCONT)
    shown.keys("c")
    shown.wait_shown(r"\*calls ")
    shown.quit()
    check_left(service, tmp_path)


@need_tmux
def test_the_target_ends(service, shown, tmp_path):
    service.process.terminate()
    assert service.wait() == 0
    shown.wait_shown("the watch has ended; this is what was seen")
    shown.quit()
    assert not list(tmp_path.glob("mmattach-top-*"))


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("a file system cannot be mounted here")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@need_tmux
def test_disk_full(victim, terminal, small_disk):
    target = victim("sites")
    t = terminal("-p", target.pid, place=small_disk, size=(160, 24))
    t.wait_shown("events/s")
    (small_disk / "other").write_bytes(b"x" * 1000000)
    target.say("churn 300000")
    t.wait_shown("the watch has ended: cannot write the trace.* No space left on device; this is what was seen")
    wait_untraced(target.pid, LIMIT)
    assert target.out.take(LIMIT) is not None, "it has finished its work"
    assert_untouched(target)
    t.quit()


# --- without a terminal ---


def run_top(*args, **kwargs):
    return Watch("top", *args, json_report=False, **kwargs)


def test_without_a_terminal(service):
    w = run_top("-p", service.pid, "--interval", "1s")
    for n in range(1, 4):
        assert w.out.find(f"^interim report {n}: the watch goes on"), w.said()
    w.interrupt(signal.SIGTERM)
    assert w.wait() == 0 and w.said() == ""
    text = w.out.text()
    assert "cache_insert" in text and "interim report" not in text[text.rindex("\nleaky_service ("):]
    check_left(service)


def test_without_a_terminal_until_the_end_of_the_watch(service):
    w = run_top("-p", service.pid, "-d", "2s")
    assert w.wait() == 0 and w.said() == ""
    assert "cache_insert" in w.out.text()
    check_left(service)


def test_without_a_terminal_killed(service):
    w = run_top("-p", service.pid, "--interval", "1s")
    assert w.out.find("^interim report 1"), w.said()
    watcher = watcher_of(w.pid)
    w.process.kill()
    wait_for(lambda: ended(watcher), "the watcher ends")
    check_left(service)


def test_nobody_reads_what_it_prints(service):
    """A pager that is not scrolled on, in effect: SIGTERM ends the watch all the same, and at once."""
    read, write = os.pipe()
    try:
        fcntl.fcntl(write, F_SETPIPE_SZ, 4096)
        view = subprocess.Popen([MMATTACH, "top", "-p", str(service.pid), "--interval", "1s"], stdin=subprocess.DEVNULL, stdout=write,
                                stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: struct.unpack("i", fcntl.ioctl(read, termios.FIONREAD, bytes(4)))[0], "a report")
            last_for(2)  # it waits for a reader by now
            view.terminate()
            wait_untraced(service.pid, 5)
        finally:
            view.kill()
            view.wait()
    finally:
        os.close(read)
        os.close(write)
    check_left(service)


def test_under_nohup(service):
    """A signal that is ignored stays so."""
    w = run_top("-p", service.pid, "--interval", "1s", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    assert w.out.find("^interim report 1"), w.said()
    w.interrupt(signal.SIGHUP)
    assert w.out.find("^interim report 3"), w.said()
    w.interrupt(signal.SIGTERM)
    assert w.wait() == 0
    check_left(service)


def test_a_trace_that_is_no_file_of_its_own(service, tmp_path):
    """It would be written in place, and look as if nothing had begun."""
    (tmp_path / "link.mmt").symlink_to("real.mmt")
    w = run_top("-p", service.pid, "-o", tmp_path / "link.mmt")
    assert w.wait() == 1 and "it is not a regular file" in w.said()
    assert not (tmp_path / "real.mmt").exists()
    check_left(service)


def test_pieces_of_an_earlier_watch(service, tmp_path):
    """They are not shown as if they were of this one."""
    trace = tmp_path / "t.mmt"
    assert Watch("-p", service.pid, "-o", trace, "--rotate", "64K", "-d", "1s", "--report", "/dev/null", json_report=False).wait() == 0
    w = run_top("-p", service.pid, "-o", trace, "--rotate", "64K", "-d", "3s")
    assert w.wait() == 1 and "is there already, of an older run" in w.said()
    assert w.out.text() == ""
    check_left(service)


def test_a_trace_without_a_name_has_a_limit(service):
    """At most half of what is free, and 4 GiB; where that is little, none."""
    w = run_top("-p", service.pid)
    watcher = watcher_of(w.pid)
    limits = pathlib.Path(f"/proc/{watcher}/limits").read_text()
    place = os.statvfs(os.environ.get("TMPDIR", "/tmp"))
    half = place.f_bavail * place.f_frsize // 2
    limit = re.search(r"Max file size +(\S+)", limits)[1]
    assert limit == "unlimited" if half < 1 << 30 else 1 << 30 <= int(limit) <= 4 << 30
    w.interrupt(signal.SIGTERM)
    assert w.wait() == 0
    check_left(service)


def test_a_damaged_trace(service, terminal, tmp_path):
    trace = tmp_path / "t.mmt"
    assert Watch("-p", service.pid, "-o", trace, "-d", "3s", "--report", "/dev/null", json_report=False).wait() == 0
    data = bytearray(trace.read_bytes())
    at = len(data) // 2
    data[at:at + 50] = bytes(50)
    trace.write_bytes(data)
    t = terminal(trace, size=(160, 24))
    t.wait_shown("NOT COUNTED: 1 part of the trace that cannot be read")
    t.quit()


def test_killed_at_any_moment(service):
    for _ in range(rounds(8, 200)):
        w = run_top("-p", service.pid)
        random_moment(0.8)
        w.process.kill()
        w.wait()
        wait_for(lambda: not [p for p in os.listdir("/proc") if p.isdigit() and f"-p\0{service.pid}\0" in command_of(p)],
                 "every process of the watch has ended")
        check_left(service)


def test_without_a_terminal_nobody_reads(service):
    """The watch goes on while what the view prints is not read."""
    read_end, write_end = os.pipe()
    w = run_top("-p", service.pid, "--interval", "1s", stdout=write_end)
    os.close(write_end)
    watcher = watcher_of(w.pid)
    assert service.alive()
    os.close(read_end)
    wait_for(lambda: ended(watcher), "the watcher ends, since nobody reads")
    assert w.wait() == 1
    check_left(service)


def test_a_watch_that_cannot_begin():
    w = run_top("-p", "9999999")
    assert w.wait() == 1
    assert "no such process" in w.said()


@pytest.mark.parametrize("term", ["nonsense", ""])
def test_a_terminal_that_is_not_known(service, term):
    ours, theirs = os.openpty()
    w = run_top("-p", service.pid, stdin=theirs, stdout=theirs, env={**os.environ, "TERM": term})
    os.close(theirs)
    assert w.wait() == 1
    assert "this terminal cannot show the view" in w.said()
    os.close(ours)
    check_left(service)


def test_a_file_that_is_no_trace(tmp_path):
    (tmp_path / "a.mmt").write_text("a text that is longer than the head of a trace")
    w = run_top(tmp_path / "a.mmt")
    assert w.wait() == 1 and "is not a trace" in w.said()
    w = run_top(tmp_path / "nothing.mmt")
    assert w.wait() == 1 and "No such file" in w.said()


def test_a_process_that_is_called_top(victim, tmp_path):
    """Only the command is replaced on the way to the watch."""
    program = tmp_path / "top"
    shutil.copy(VICTIMS / "leaky_service", program)
    service = victim(str(program), "calm")
    w = run_top("-n", "top", "-d", "1s")
    assert w.wait() == 0, w.said()
    assert "cache_insert" in w.out.text()
    check_left(service)
