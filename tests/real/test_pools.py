# SPDX-License-Identifier: MIT
"""Pools of processes: nginx with four workers that is reloaded, PostgreSQL with a session that keeps memory."""
import os

from harness import ended, wait_for
from pools import Nginx, Postgres
from untouched import assert_code_whole, assert_untraced, tracers


def watching(watch, *args):
    run = watch(*args)
    assert run.err.find(r"^watching \d+ process", 120), run.said()
    return run


def assert_left(pids):
    for pid in pids:
        assert not ended(pid)
        assert_untraced(pid)
        assert_code_whole(pid)


def traces(folder, pids):
    wait_for(lambda: all(list(folder.glob(f"{pid}-*.mmt")) for pid in pids), f"watches of {pids}", every=0.05)


def test_nginx_is_reloaded(serve, watch, tmp_path):
    nginx, folder = serve(Nginx), tmp_path / "t"
    first = nginx.workers()
    run = watching(watch, "--tree", nginx.pid, "--follow", "-o", f"{folder}/")
    nginx.work_through(100)
    with nginx.busy(every=0.02) as served:
        second = nginx.reload()
        traces(folder, second)
        wait_for(lambda: all(tracers(pid) for pid in second), "the new workers are watched", 60, every=0.05)
        before = len(served)
        wait_for(lambda: len(served) > before + 40, "it serves")
    report = run.finish(limit=120)
    processes = {p["pid"]: p for p in report["processes"]}
    assert set(processes) == {nginx.pid, *first, *second}
    assert all(p["ended"] and not p["absent"] and p["lost"] == 0 for p in processes.values())
    assert sum(processes[w]["allocs"] for w in first) > 0 and sum(processes[w]["allocs"] for w in second) > 0
    assert_left([nginx.pid, *second])
    nginx.work_through(100)


def come_and_go(server, at_once):
    """So many connections, each for one query."""
    sessions = [server.session() for _ in range(at_once)]
    for s in sessions:
        s.stdin.write("select count(*) > 0 from pg_class;\n")
    for s in sessions:
        assert s.stdout.readline() == "t\n"
        s.stdin.close()
        assert s.wait(60) == 0


def test_a_session_of_postgresql_keeps_memory(serve, watch, tmp_path):
    """And six others come and go."""
    server, folder = serve(Postgres), tmp_path / "t"
    run = watching(watch, "--tree", server.pid, "--follow", "-o", f"{folder}/")
    sessions = [server.session() for _ in range(3)]
    pids = []
    for s in sessions:
        s.stdin.write("select pg_backend_pid();\n")
        pids.append(int(s.stdout.readline()))
    traces(folder, pids)
    for _ in range(2):
        come_and_go(server, 3)
    for turn in range(200):     # prepared statements stay until the session ends
        query = f"select {turn}, * from pg_class a, pg_class b, pg_class c where a.oid = {turn}"
        sessions[1].stdin.write(f"prepare kept{turn} as {query};\n")
    for s in sessions:
        s.stdin.write("select 7;\n")
        assert s.stdout.readline() == "7\n"
    report = run.finish(limit=120)
    processes = {p["pid"]: p for p in report["processes"]}
    assert set(pids) < set(processes)
    in_sessions = [g for g in report["groups"] if report["processes"][g["worst_process"]]["pid"] in pids]
    most = max(in_sessions, key=lambda g: g["bytes"])
    live = {pid: processes[pid]["live_bytes"] for pid in pids}
    assert report["processes"][most["worst_process"]]["pid"] == pids[1], (pids, live, most)
    assert live[pids[1]] > 3 * max(live[pids[0]], live[pids[2]]), (pids, live)
    assert_left([server.pid, *pids])
    for s in sessions:
        s.stdin.write("select 8;\n")
        assert s.stdout.readline() == "8\n"
        s.stdin.close()
        assert s.wait(30) == 0
    server.work_through(3)
    os.kill(server.pid, 0)
