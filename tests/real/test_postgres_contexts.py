# SPDX-License-Identifier: MIT
"""PostgreSQL's memory contexts: what lies in them is freed with them, and the contexts that are live are those that
the backend itself lists. With both engines."""
import collections

import pytest

from engines import has_uprobe
from harness import lost
from pools import Postgres
from untouched import assert_code_whole, assert_untraced

# Queries of every kind: sorts, hashes, functions, errors, subtransactions, cursors, tables that come and go.
WORK = [
    "select count(*) from generate_series(1, 500) g group by g % 100 order by 1 limit 1;",
    "select count(*) from pg_class a join pg_class b on a.relname = b.relname;",
    "do $$ begin perform 1 / 0; exception when others then null; end $$; select 1;",
    "create temp table t (a int, b text); insert into t select g, repeat('x', g % 500) from generate_series(1, 150) g; "
    "create index on t (b); select count(*) from (select * from t order by b, a) s; drop table t;",
    "begin; savepoint s; select 2; rollback to s; rollback;",
    "begin; declare c cursor for select * from pg_class; fetch 1 in c; close c; commit;",
    "select length(string_agg(relname, ',')) > 0 from pg_class;",
    "select regexp_replace('aaa', 'a+', 'b'), to_char(now(), 'YYYY') > '2000';",
]


@pytest.fixture(params=["ptrace", "uprobe"])
def options(request):
    if request.param == "uprobe" and not has_uprobe():
        pytest.skip("clang or libbpf-dev is not installed")
    return ["--family", "postgres", "--engine", request.param, "--verdicts", "no", "--top", "0"]


class Session:
    """A backend, asked by psql: its answers up to a mark."""

    def __init__(self, server):
        self.psql = server.session()
        self.marks = 0
        self.pid = int(self.ask("select pg_backend_pid();")[0])

    def ask(self, text):
        self.marks += 1
        self.psql.stdin.write(f"{text}\n\\echo mark {self.marks}\n")
        answer = []
        while (line := self.psql.stdout.readline()) != f"mark {self.marks}\n":
            assert line, answer
            answer.append(line.rstrip("\n"))
        return answer

    def contexts(self):
        """How many contexts of each name it has, and how many bytes are used in them."""
        rows = self.ask("select name, count(*), sum(used_bytes) from pg_backend_memory_contexts group by 1;")
        return {name: (int(n), int(used)) for name, n, used in (row.split("|") for row in rows)}

    def end(self):
        self.psql.stdin.close()
        assert self.psql.wait(30) == 0


@pytest.fixture(scope="module")
def server(serve_all):
    """One for all tests: each has a backend of its own."""
    return serve_all(Postgres)


@pytest.fixture
def session(server):
    one = Session(server)
    for _ in range(2):      # what is loaded once, stays
        for query in WORK:
            one.ask(query)
        one.ask("prepare warm as select count(*) from pg_class a where a.oid = 1; execute warm; deallocate warm;")
        one.contexts()
    yield one
    assert_untraced(one.pid)
    assert_code_whole(one.pid)
    one.end()


def live_by_name(report):
    """Live contexts by name; and blocks, and bytes, by the name of their context."""
    contexts, blocks, bytes_ = (collections.Counter() for _ in range(3))
    for group in report["groups"]:
        if group["tag"] == "LocalBufferContext":
            continue    # buffers of temporary tables, made one by one and kept
        into = blocks if group["bytes"] else contexts
        into[group["tag"]] += group["blocks"]
        bytes_[group["tag"]] += group["bytes"]
    return contexts, blocks, bytes_


def assert_clean(report):
    assert set(lost(report)) <= {"tag not read"}, report["run"]["lost"]
    assert report["totals"]["double_frees"] == 0


def test_contexts_are_those_that_it_lists(session, watch, options):
    run = watch("-p", session.pid, *options).wait_watching()
    before = session.contexts()
    for turn in range(12):
        session.ask(f"prepare kept{turn} as select {turn}, count(*) from pg_class a where a.oid = {turn}; execute kept{turn};")
    for query in WORK:
        session.ask(query)
    session.ask("deallocate kept3; deallocate kept10;")
    after = session.contexts()
    report = run.finish()
    assert_clean(report)
    contexts, blocks, bytes_ = live_by_name(report)
    grown = {name: n - before.get(name, (0, 0))[0] for name, (n, _) in after.items() if n != before.get(name, (0, 0))[0]}
    assert +contexts == grown and contexts["CachedPlanSource"] == 10, (contexts, grown)
    for name in ("CachedPlanSource", "CachedPlanQuery"):
        used = after[name][1] - before.get(name, (0, 0))[1]
        # requested, and with the header of a context and of its blocks, of each chunk, and rounded up to a power of two
        assert bytes_[name] < used <= 2 * bytes_[name] + 24 * blocks[name] + 400 * contexts[name], (name, used, bytes_, blocks)


def test_a_context_that_grows_is_named(session, watch, options):
    run = watch("-p", session.pid, *options).wait_watching()
    for turn in range(2 * len(WORK)):
        session.ask(f"prepare grows{turn} as select {turn}, count(*) from pg_class a, pg_class b where a.oid = {turn};")
        session.ask(WORK[turn % len(WORK)])
    report = run.finish()
    assert_clean(report)
    contexts, _, bytes_ = live_by_name(report)
    (first, most), (second, more) = bytes_.most_common(2)
    assert {first, second} == {"CachedPlanQuery", "CachedPlanSource"} and most > more > 500 * 2 * len(WORK), bytes_
    assert contexts["CachedPlanSource"] == contexts["CachedPlanQuery"] == 2 * len(WORK), contexts


def test_nothing_grows(session, watch, options):
    run = watch("-p", session.pid, *options).wait_watching()
    for _ in range(3):
        for query in WORK:
            session.ask(query)
    report = run.finish()
    assert_clean(report)
    contexts, blocks, bytes_ = live_by_name(report)
    # caches of the backend, and what it has at hand until the next query
    assert report["totals"]["allocs"] > 10000 and not contexts, contexts
    assert blocks.total() < 100 and bytes_.total() < 32 << 10, (blocks, bytes_)
