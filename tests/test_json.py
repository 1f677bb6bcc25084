# SPDX-License-Identifier: MIT
"""The schema and the examples of doc/json.md. Each report that any test reads is checked against
the schema: conftest.py."""
import copy
import json
import pathlib
import re
import subprocess

import jsonschema
import pytest

import schema
from test_unit import BUILD

TOP = pathlib.Path(__file__).parent.parent
EXAMPLES = re.findall(r"^    jq (.*?)\s(\w+\.json)$", (TOP / "doc/json.md").read_text(), re.MULTILINE)


def printed(form):
    return subprocess.run([BUILD / "unit/test_formats", form], stdout=subprocess.PIPE, check=True).stdout.decode()


@pytest.fixture(scope="module")
def report():
    return json.loads(printed("json"))


def jq(arguments, document):
    """An example from the page, run in a shell."""
    done = subprocess.run(f"jq {arguments}", shell=True, input=json.dumps(document), capture_output=True, text=True, check=False)
    assert done.stderr == "", (arguments, done.stderr)
    return done


def members(node, path=()):
    """The path of each member of each object, however deep."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield (*path, key)
            yield from members(value, (*path, key))
    elif isinstance(node, list):
        for i, value in enumerate(node):
            yield from members(value, (*path, i))


def test_all_reports_are_looked_at():
    """json.loads itself, in any test, and also what extracts a report from longer text: those of --interval,
    and of gdb."""
    broken = '{"mmattach": {"version": "1", "schema": 1}, "groups": []}'
    with pytest.raises(jsonschema.ValidationError):
        json.loads(broken)
    with pytest.raises(jsonschema.ValidationError):
        json.JSONDecoder().raw_decode("report: " + broken, 8)
    assert json.loads('{"groups": []}') == {"groups": []}


def test_what_is_not_documented_is_refused(report):
    schema.check(report)
    for path in members(report):
        if path[:-1] == ("run", "lost"):  # a name for each reason
            continue
        changed = copy.deepcopy(report)
        node = changed
        for step in path[:-1]:
            node = node[step]
        node[f"{path[-1]}_2"] = node[path[-1]]
        with pytest.raises(jsonschema.ValidationError):
            schema.check(changed)


def test_what_is_documented_must_be_there(report):
    optional = {"linkage", "ranges_left_out"}
    for path in members(report):
        if path[:-1] == ("run", "lost") or path[-1] in optional:
            continue
        with pytest.raises(jsonschema.ValidationError):
            schema.check(schema.without(report, *path))


def test_other_types_are_refused(report):
    for path in members(report):
        changed = copy.deepcopy(report)
        node = changed
        for step in path[:-1]:
            node = node[step]
        node[path[-1]] = {"not": ["this"]}
        with pytest.raises(jsonschema.ValidationError):
            schema.check(changed)


@pytest.mark.parametrize("arguments, file", EXAMPLES)
def test_examples_run(arguments, file, report):
    assert file == "r.json"
    assert jq(arguments, report).stdout


def test_what_examples_say(report):
    of = dict(zip(("definite", "grows", "modules", "seen", "second", "stack", "curve", "missed", "job", "memory", "watched"), (arguments for arguments, _ in EXAMPLES)))
    assert len(of) == len(EXAMPLES) == 11
    large, growing, _ = report["groups"]
    assert jq(of["definite"], report).stdout.split("\t")[0] == str(large["bytes"])
    rows = jq(of["grows"], report).stdout.splitlines()
    assert rows == [f"{round(growing['growth']['bytes_per_minute'])}\t{growing['stack'][growing['wrappers']]['function']}"]
    assert sum(json.loads(jq(of["modules"], report).stdout).values()) == sum(g["bytes"] for g in report["groups"])
    lost, *_ = [row for row in report["rows"] if row["section"] == "lost"]
    assert jq(of["seen"], report).stdout.splitlines()[0] == f"[1] {lost['bytes']} definite {lost['growth']['text']} {lost['name']}"
    assert json.loads(jq(of["second"], report).stdout) == [growing["family"], growing["verdict"], growing["blocks"], growing["bytes"]]
    assert len(jq(of["curve"], report).stdout.splitlines()) == len(large["series"])
    assert json.loads(jq(of["missed"], report).stdout) == {key: report["run"][key] for key in ("lost", "gaps", "stacks_cut", "stacks_lost")}
    assert jq(of["job"], report).returncode == 0
    leaky = copy.deepcopy(report)
    leaky["groups"][0]["growth"]["bytes_per_minute"] = 1048577
    assert jq(of["job"], leaky).returncode == 1
    assert json.loads(jq(of["memory"], report).stdout) == {"growth": None, "explained": None}
    assert len(jq(of["watched"], report).stdout.splitlines()) == len(report["run"]["probes"])


@pytest.mark.parametrize("kind, page", [("json", "json-members.md"), ("csv", "csv-columns.md")])
def test_pages_are_those_of_the_tables(kind, page):
    """make docs writes them."""
    printed_now = subprocess.run([BUILD / "mmattach", "formats", kind], stdout=subprocess.PIPE, check=True).stdout.decode()
    assert (TOP / "doc" / page).read_text() == "<!-- SPDX-License-Identifier: MIT -->\n" + printed_now


def test_the_page_names_each_member(report):
    page = (TOP / "doc/json.md").read_text()
    for member in schema.validators()["report"].schema["$defs"]["report"]["properties"]:
        assert member == "mmattach" or f"`{member}`" in page or f"`{member}." in page, member
