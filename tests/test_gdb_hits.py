# SPDX-License-Identifier: MIT
"""gdbscripts/mmgdb/hits.py, with stops in an order that a real gdb produces once in thousands of Ctrl-Cs:
each hit must reach the engine once.

gdb is a stand-in here: threads with registers, and a breakpoint that one of them is at. Tests with the real
gdb: tests/gdb.
"""
import importlib
import pathlib
import signal
import socket
import sys
import threading
import types

import pytest

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent / "gdbscripts"
PID, SITE, ADDRESS = 1000, 7, 0x7F0000001000
TRAP_FLAG, RESUME_FLAG = 1 << 8, 1 << 16


class Thread:
    def __init__(self, tid, **registers):
        self.ptid = (PID, tid, 0)
        self.registers = registers


class Inferior:
    num, pid = 1, PID

    def __init__(self, threads):
        self.all = threads

    def threads(self):
        return self.all


def stand_in(threads):
    gdb = types.ModuleType("gdb")
    gdb.error = type("error", (RuntimeError,), {})
    gdb.Breakpoint = object
    gdb.selected = threads[0]
    gdb.selected_thread = lambda: gdb.selected
    gdb.current_recording = lambda: None
    gdb.inferiors = lambda: [Inferior(threads)]
    gdb.newest_frame = lambda: types.SimpleNamespace(pc=lambda: gdb.selected.registers["rip"])
    gdb.post_event = lambda what: None
    return gdb


@pytest.fixture
def session(monkeypatch):
    """(hits, threads, gdb, seen): a watch of two threads, and the sites and threads whose hits were reported
    to the engine."""
    threads = [Thread(1001, rip=ADDRESS, rdi=0x5000, eflags=0x246), Thread(1002, rip=0x4000, eflags=0x246)]
    gdb = stand_in(threads)
    monkeypatch.setitem(sys.modules, "gdb", gdb)
    monkeypatch.syspath_prepend(str(SCRIPTS))
    for name in [name for name in sys.modules if name.startswith("mmgdb")]:
        monkeypatch.delitem(sys.modules, name)
    hits_module, wire = importlib.import_module("mmgdb.hits"), importlib.import_module("mmgdb.wire")
    ours, engine = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    hits = hits_module.Hits(ours, PID, 1, lambda why: None)
    hits.traps.all[SITE] = types.SimpleNamespace(address=ADDRESS, site=SITE, is_valid=lambda: True)
    seen = []

    def fetch(tid):
        its = next(t for t in threads if t.ptid[1] == tid).registers
        for i, name in enumerate(wire.REGISTERS):
            hits.registers.words[i] = its.get(name, 0)
        return 0

    class Socket:
        """The engine, which answers at once."""
        def send(self, message):
            engine_got = wire.HEAD.unpack_from(message)
            seen.append((engine_got[2], engine_got[3]))
            engine.send(wire.head(wire.GO, engine_got[1]))

        recv_into = staticmethod(ours.recv_into)

    hits.sock = Socket()
    hits.registers.getregs = fetch
    hits.registers.read = hits.registers.read_by_kernel
    yield hits, threads, gdb, seen
    ours.close()
    engine.close()
    for name in [name for name in sys.modules if name.startswith("mmgdb")]:
        del sys.modules[name]


@pytest.mark.parametrize("flag", [0, RESUME_FLAG, TRAP_FLAG])
def test_stopped_on_a_trap_that_it_then_runs_into(session, flag):
    """Ctrl-C stops a thread that is about to hit: the hit is reported. Another thread is continued, and the
    first one runs into the trap: it is the same hit.

    It was stopped by a fault at the instruction: the processor has set the resume flag, which is clear at the
    breakpoint.
    """
    hits, threads, gdb, seen = session
    threads[0].registers["eflags"] |= flag
    hits.look(threads[0], True)
    assert seen == [(SITE, 1001)]
    gdb.selected = threads[1]
    hits.look(threads[1], False)
    threads[0].registers["eflags"] &= ~flag
    gdb.selected = threads[0]
    assert hits.tell(SITE, ADDRESS) is False
    assert seen == [(SITE, 1001)], "the same hit, told twice"
    # the next one is another hit
    threads[0].registers["rdi"] = 0x6000
    hits.tell(SITE, ADDRESS)
    assert len(seen) == 2


@pytest.mark.parametrize("flag", [0, RESUME_FLAG])
def test_told_and_interrupted_before_the_step(session, flag):
    """Ctrl-C comes when a hit has been reported and gdb has not stepped over it yet; another thread is
    continued."""
    hits, threads, gdb, seen = session
    hits.tell(SITE, ADDRESS)
    threads[0].registers["eflags"] |= flag
    hits.look(threads[0], True)
    gdb.selected = threads[1]
    hits.look(threads[1], False)
    gdb.selected = threads[0]
    threads[0].registers["eflags"] &= ~flag
    hits.tell(SITE, ADDRESS)
    assert seen == [(SITE, 1001)]


@pytest.mark.parametrize("first", ["before", "while it is told"])
def test_a_second_key_while_the_first_is_served(session, first):
    """Ctrl-C, and another one while the first one's hit is reported, or after that: no hit of the trap is
    lost, then or later, and gdb gets both."""
    hits, threads, gdb, seen = session
    given_back = []
    send = hits.sock.send

    def press():
        # with parallel tests the process has other threads, so the signal must be sent to this one
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    def send_and_press(message):
        send(message)
        hits.sock.send = send
        press()

    def give_back(what):
        given_back.append(what)
        if len(given_back) == 1:
            press()

    gdb.post_event = give_back
    step = hits.server(SITE, ADDRESS)
    if first == "before":
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        press()     # pending until the generator unblocks SIGINT: its hit is reported by then
    else:
        hits.sock.send = send_and_press
    for i in range(3):
        threads[0].registers["rdi"] = 0x5000 + i
        try:
            assert step() is False
        except KeyboardInterrupt:
            pytest.fail("raised where gdb calls: the generator has ended")
    assert seen == [(SITE, 1001)] * 3
    assert len(given_back) == 2
