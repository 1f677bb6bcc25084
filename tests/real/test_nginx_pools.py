# SPDX-License-Identifier: MIT
"""nginx's pools: what a request took is freed with its pool, and what a connection keeps is found. With both
engines."""
import os
import pathlib
import time

import pytest

from engines import has_uprobe
from harness import hits, lost, wait_for
from pools import Nginx
from untouched import assert_code_whole, assert_untraced

REQUEST = b"GET / HTTP/1.1\r\nHost: here\r\n%s\r\n"
ADDRESS = b"X-Real-IP: 10.1.2.3\r\n"    # nginx keeps it for each request until the connection ends
EPOLL_WAIT = "232 "


class OneWorker(Nginx):
    count = 1

    def is_idle(self):
        worker, = self.workers()
        calls = []
        for _ in range(3):
            calls.append(pathlib.Path(f"/proc/{worker}/syscall").read_text().startswith(EPOLL_WAIT))
            time.sleep(0.02)
        return all(calls)


@pytest.fixture(params=["ptrace", "uprobe"])
def options(request):
    if os.geteuid():
        pytest.skip("optional: which system call another user's process is in can be read by root only")
    if request.param == "uprobe" and not has_uprobe():
        pytest.skip("clang or libbpf-dev is not installed")
    return ["--family", "nginx", "--engine", request.param, "--verdicts", "no"]


@pytest.fixture
def nginx(serve):
    server = serve(OneWorker)
    server.work_through(20)
    yield server
    for pid in server.workers():
        assert_untraced(pid)
        assert_code_whole(pid)
    server.work_through(20)


def keep_asking(connection, turns, header=b""):
    for _ in range(turns):
        connection.sendall(REQUEST % header)
        answer = b""
        while b"as ever" not in answer:
            answer += connection.recv(65536)


def finished(nginx, run):
    wait_for(nginx.is_idle, "nginx has nothing to do")
    report = run.finish()
    assert lost(report) == {} and report["totals"]["double_frees"] == 0
    return report


def test_nothing_is_left_of_connections_that_ended(nginx, watch, options):
    run = watch("-p", nginx.workers()[0], *options).wait_watching()
    for turn in range(25):
        nginx.work(turn)
        with nginx.connect() as connection:
            keep_asking(connection, turn % 5 + 1, ADDRESS)
    report = finished(nginx, run)
    totals = report["totals"]
    assert hits(report, "pool ngx_create_pool") == hits(report, "free ngx_destroy_pool") == 25 + 25 + 25 + 75
    assert totals["allocs"] == totals["frees"] > 1500, totals
    assert totals["live_blocks"] == totals["unmatched_frees"] == 0, totals


def test_a_connection_that_grows(nginx, watch, options):
    """One block of eight bytes for each request of a connection that stays; requests without the header add none."""
    with nginx.connect() as connection, nginx.connect() as other:
        keep_asking(connection, 3, ADDRESS)
        keep_asking(other, 3)
        run = watch("-p", nginx.workers()[0], *options).wait_watching()
        keep_asking(connection, 120, ADDRESS)
        keep_asking(other, 120)
        report = finished(nginx, run)
    assert [(g["blocks"], g["bytes"]) for g in report["groups"]] == [(120, 960)], report["groups"]


def test_connections_end_after_the_watch_began(nginx, watch, options):
    """Their pools are older; what they get in the watch is freed with them."""
    open_ = [nginx.connect() for _ in range(10)]
    for connection in open_:
        keep_asking(connection, 2, ADDRESS)
    run = watch("-p", nginx.workers()[0], *options).wait_watching()
    for connection in open_:
        keep_asking(connection, 20, ADDRESS)
        connection.close()
    totals = finished(nginx, run)["totals"]
    assert totals["live_blocks"] == 0 and totals["unmatched_frees"] == 10, totals
