# SPDX-License-Identifier: MIT
"""Reports of references from a saved trace, on the command line: what is selected and listed, and the exit
status.

The trace is written by tests/unit/report/refs/test_refgroups.c: 529 of 5292 dicts leak, one lost an older
reference; a block, a descriptor.
"""
import json
import subprocess

import pytest

from test_unit import BUILD


def mmattach(*args, status=0):
    result = subprocess.run([BUILD / "mmattach", *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            timeout=60)
    assert result.returncode == status, result.stderr
    return result


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    path = tmp_path_factory.mktemp("refs") / "refs.mmt"
    subprocess.run([BUILD / "unit/test_refgroups", "write", path], check=True, timeout=60)
    return path


def report(trace, *args):
    return json.loads(mmattach("report", "--format=json", *args, trace).stdout)


def test_exactly_the_leaked_ones(trace):
    leaked, older = report(trace)["refs"]
    assert (leaked["objects"], leaked["net"], leaked["older"]) == (529, 1, False)
    assert [use["stack"][0]["function"] for use in leaked["acquired"]] == ["leaky", "new", "both"]
    assert [(use["count"], use["outstanding"], use["acquired_in_all"]) for use in leaked["acquired"]] == [
        (529, 529, 529), (529, 529, 5292), (529, 529, 5292)]
    assert [use["stack"][0]["function"] for use in leaked["released"]] == ["done", "cbk"]
    assert (older["objects"], older["net"], older["older"], older["acquired"]) == (1, -1, True, [])


def test_text(trace):
    text = mmattach("report", trace).stdout
    assert "\n  dict      529 of 11113 references acquired were not released, on 529 dict objects" in text
    assert "\n  [dict 1]         529        1   100%" in text
    entry = text[text.index("\n[dict 1] 529 dict objects with 1 reference too many (net 1): acquired 3 times, released twice"):]
    assert entry.index("MOST SUSPECT: acquired once each; all 529 acquired here") < entry.index("#0 leaky") < entry.index("#0 new")
    assert "[dict 2] 1 dict object older than the watch, with 1 reference fewer than before, which is no leak (net -1)" in text
    assert "[fd 1] 1 descriptor, " in text


def test_family(trace):
    only = report(trace, "--family", "dict")
    assert (len(only["groups"]), len(only["refs"]), only["totals"]["allocs"]) == (0, 2, 0)
    assert "(unnamed" not in mmattach("report", "--family=dict", trace).stdout
    two = report(trace, "--family", "libc", "--family=fd")
    assert ([group["family"] for group in two["groups"]], two["refs"], [f for f in two["families"] if f["references"]]) == (["libc", "fd"], [], [])
    # a pack stands for its families
    assert [entry["family"] for entry in report(trace, "--family", "glusterfs")["refs"]] == ["dict", "dict"]
    assert mmattach("report", "--family", "glusterfs", trace).stderr == ""
    said = mmattach("report", "--family", "dict,inode", trace).stderr
    assert "nothing of a family inode was watched" in said and "libc, dict, fd" in said


def test_one_family_is_not_named_where_nothing_is_to_be_told_apart(trace):
    text = mmattach("report", "--family", "dict", trace).stdout
    assert text.startswith("the process: 529 of 11113 references acquired in ")
    assert "\n[1] 529 dict objects with 1 reference too many" in text and "[dict" not in text and "allocations" not in text


def test_per_object(trace):
    leaked = report(trace, "--per-object")["refs"][0]
    assert len(leaked["object_list"]) == 529
    assert leaked["object_list"][0]["acquired"] == [1, 1, 1] and leaked["object_list"][0]["released"] == [1, 1]
    assert "object_list" not in report(trace)["refs"][0]
    text = mmattach("report", "--per-object", trace).stdout
    sections = text[text.index("\nROUND : 0\n"):]
    assert sections.count("\nptr : ") == 529 * 5 + 1
    assert sections.count(" : 1\n") == 529 and sections.count("\n10 : -1\n") == 1
    positions = [sections.index(part) for part in ("Net ref counts for each ptr : \n", "\nRef Traces :\n", "\n------\n",
                                                   "\nUnref traces\n", "\n-----------\n")]
    assert positions == sorted(positions)
    assert "--per-object goes with" in mmattach("report", "--per-object", "--format=folded", trace, status=2).stderr


def test_suppressions_and_status(trace, tmp_path):
    known = tmp_path / "known.supp"
    mmattach("report", "--error-exitcode", 7, trace, status=7)
    mmattach("report", "--error-exitcode", 7, "--family=dict", trace, status=7)
    generated = mmattach("report", "--family=dict", "--gen-suppressions", trace).stdout
    known.write_text(generated[generated.index("{"):])
    hidden = mmattach("report", "--error-exitcode", 7, "--family=dict", "--suppressions", known, trace)
    assert "hidden    529 objects of 1 group, by suppressions" in hidden.stdout
    # objects that only lost older references are shown, and are no error
    assert "[1] 1 dict object older than the watch" in hidden.stdout
