# SPDX-License-Identifier: MIT
"""The formats of other tools: each is read by the tool it is for, and what that says is what the JSON report says.

The runs are those of tests/golden/inputs, and the one of tests/unit/report_example.h, which has names made by an
attacker (unit/test_formats prints it in each format).
"""
import functools
import http.server
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import time
import urllib.error
import urllib.request
import xml.etree.ElementTree

import jsonschema
import pytest

from test_unit import BUILD, TOP

MMATTACH = BUILD / "mmattach"
INPUTS = TOP / "tests/golden/inputs"
EXACT = ["service", "service_later", "started", "medley", "wrappers", "verdicts", "unloaded", "scopes", "jit", "unjudged"]
EXPORTS = ["pprof", "speedscope", "massif", "heaptrack", "valgrind", "openmetrics"]
SPEEDSCOPE = "https://registry.npmjs.org/speedscope/-/speedscope-1.25.0.tgz"
KINDS = {"Leak_DefinitelyLost": "definite", "Leak_IndirectlyLost": "indirect", "Leak_PossiblyLost": "possible",
         "Leak_StillReachable": "reachable"}


def names_of_formats():
    listed = subprocess.run([MMATTACH, "formats"], stdout=subprocess.PIPE, check=True).stdout.decode()
    return [line.split()[0] for line in listed.splitlines()[1:]]


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, check=True, timeout=120, **options).stdout


@functools.lru_cache(maxsize=None)
def report(name):
    return json.loads(run(MMATTACH, "report", "--format", "json", INPUTS / f"{name}.mmt"))


def export(name, form, folder):
    """A trace of the goldens in that format, as a file."""
    path = folder / f"{name}.{form}"
    run(MMATTACH, "report", "--format", form, "-o", path, INPUTS / f"{name}.mmt")
    return path


def example(form, folder, which=""):
    path = folder / f"example.{form}"
    path.write_bytes(run(BUILD / "unit/test_formats", form, which))
    return path


# --- pprof ---

UNITS = {"B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "": 1}


def total(path, index):
    """What pprof says all samples come to; it rounds to two digits behind the point."""
    printed = run("go", "tool", "pprof", "-top", f"-sample_index={index}", path, env={**os.environ, "HOME": "/tmp"}).decode()
    value, unit = re.search(r"(?:Total samples = |of )(-?[\d.]+)([kMG]?B?)(?: total|$)", printed, re.M).groups()
    return float(value) * UNITS[unit], UNITS[unit] * 0.006


@pytest.mark.parametrize("name", EXACT)
def test_pprof_has_the_totals(name, tmp_path):
    path, totals = export(name, "pprof", tmp_path), report(name)["totals"]
    for index, want in [("alloc_objects", totals["allocs"]), ("inuse_objects", totals["live_blocks"]), ("inuse_space", totals["live_bytes"])]:
        if want:
            value, near = total(path, index)
            assert value == pytest.approx(want, abs=max(near, 0.5)), index


def raw(path):
    return run("go", "tool", "pprof", "-raw", path, env={**os.environ, "HOME": "/tmp"}).decode()


def test_pprof_has_what_was_freed(tmp_path):
    """Also sites that freed everything: all calls are there, of which the JSON report has only a part."""
    path = export("service_later", "pprof", tmp_path)
    whole = report("service_later")
    text = raw(path)
    samples = re.findall(r"^ +(\d+) +(\d+) +(\d+) +(\d+): ", text, re.M)
    assert sum(int(sample[0]) for sample in samples) == whole["totals"]["allocs"]
    assert sum(int(sample[3]) for sample in samples) == whole["totals"]["live_bytes"]
    assert any(int(sample[2]) == 0 for sample in samples)
    assert "verdict:[definite]" in text and "pid:[21088]" in text.replace('"', "")


def test_pprof_addresses_are_those_of_calls(tmp_path):
    """Of callers one byte before the return address; inlined functions are lines of one location."""
    text = raw(export("service", "pprof", tmp_path))
    frames = {int(frame["pc"], 16) for group in report("service")["groups"] for frame in group["stack"][group["wrappers"]:]}
    addresses = {int(found, 16) for found in re.findall(r"^ +\d+: (0x[0-9a-f]+) M=", text, re.M)}
    assert {address + 1 for address in addresses} >= frames
    mappings = re.findall(r"^\d+: (0x[0-9a-f]+)/(0x[0-9a-f]+)/0x0 (\S+) ?(\S*)", text, re.M)
    assert mappings[0][2] == report("service")["target"]["exe"]
    assert {found[3] for found in mappings} - {""} == {frame["build_id"] for group in report("service")["groups"] for frame in group["stack"]
                                                      if frame["build_id"] and frame["module"]}


def test_pprof_compares(tmp_path):
    """Two profiles by pprof itself, and a difference of mmattach's."""
    old, new = (export(name, "pprof", tmp_path) for name in ("service", "service_later"))
    text = run("go", "tool", "pprof", "-top", "-diff_base", old, new, env={**os.environ, "HOME": "/tmp"}).decode()
    want = report("service_later")["totals"]["live_bytes"] - report("service")["totals"]["live_bytes"]
    value, unit = re.search(r"of [\d.]+[kM]?B total\n|Showing nodes accounting for ([\d.]+)([kM]?B)", text).groups()
    assert float(value) * UNITS[unit] == pytest.approx(want, rel=0.02)
    path = tmp_path / "diff.pprof"
    run(MMATTACH, "diff", "--format", "pprof", "-o", path, INPUTS / "service.mmt", INPUTS / "service_later.mmt")
    samples = re.findall(r"^ +(-?\d+) +(-?\d+): ", raw(path), re.M)
    assert sum(int(sample[1]) for sample in samples) == want
    assert sum(int(sample[0]) for sample in samples) == report("service_later")["totals"]["live_blocks"] - report("service")["totals"]["live_blocks"]


def test_pprof_of_a_sampled_run(tmp_path):
    text, groups = raw(export("sampled", "pprof", tmp_path)), report("sampled")["groups"]
    minutes = report("sampled")["run"]["seconds"] / 60
    want = sum(group["estimate"]["leaked_bytes_per_minute"][0] * minutes for group in groups if group["turnover"] == "stays")
    samples = re.findall(r"^ +(\d+) +(\d+) +(\d+) +(\d+): ", text, re.M)
    assert sum(int(sample[3]) for sample in samples) == pytest.approx(want, rel=0.01)
    assert "sampled: values are estimates" in text


def test_no_binary_for_a_terminal():
    done = subprocess.run(["script", "-qec", f"{MMATTACH} report --format pprof {INPUTS}/service.mmt", "/dev/null"], capture_output=True, timeout=60, check=False)
    assert b"it is binary, and not for a terminal" in done.stdout and b"-o FILE" in done.stdout
    assert done.returncode == 2


# --- speedscope ---

def profiles(path):
    document = json.loads(path.read_text())
    names = [frame["name"] for frame in document["shared"]["frames"]]
    return {profile["name"]: [([names[i] for i in stack], weight) for stack, weight in zip(profile["samples"], profile["weights"])]
            for profile in document["profiles"]}


@pytest.mark.parametrize("name", EXACT)
def test_speedscope_has_the_totals(name, tmp_path):
    found, totals = profiles(export(name, "speedscope", tmp_path)), report(name)["totals"]
    sums = {key: sum(weight for _, weight in samples) for key, samples in found.items()}
    assert (sums["bytes in use"], sums["blocks in use"], sums["allocations"]) == (totals["live_bytes"], totals["live_blocks"], totals["allocs"])
    groups = report(name)["groups"]
    for group in groups:
        stack = [frame["function"] or "?" for frame in group["stack"][group["wrappers"]:]][::-1]
        assert any([a for a, b in zip(stack, names[-len(stack):]) if a not in (b, "?")] == [] for names, _ in found["bytes in use"]) or not group["bytes"]


def fetched(address, seconds=20):
    try:
        with urllib.request.urlopen(address, timeout=seconds) as answer:
            return answer.read()
    except (urllib.error.URLError, OSError, TimeoutError) as problem:
        return pytest.skip(f"optional: {address} cannot be had: {problem}")


def test_speedscope_schema(tmp_path):
    """As its npm package has it."""
    with tarfile.open(fileobj=io.BytesIO(fetched(SPEEDSCOPE))) as package:
        schema = json.load(package.extractfile("package/dist/release/file-format-schema.json"))
    for path in [*(export(name, "speedscope", tmp_path) for name in EXACT), *(example("speedscope", tmp_path, which) for which in ("", "empty", "refs"))]:
        jsonschema.validate(json.loads(path.read_text()), schema)


# --- massif ---

@pytest.mark.parametrize("name", EXACT)
def test_massif_has_the_totals(name, tmp_path):
    path = export(name, "massif", tmp_path)
    printed = run("ms_print", path).decode()
    live = report(name)["totals"]["live_bytes"]
    rows = re.findall(r"^ +\d+ +([\d,]+) +([\d,]+) +([\d,]+) +0 +0$", printed, re.M)
    assert int(rows[-1][1].replace(",", "")) == live
    trees = re.findall(r"^100.00% \(([\d,]+)B\) \(heap allocation functions\)", printed, re.M)
    assert int(trees[-1].replace(",", "")) == live or not live
    assert path.read_text().count("heap_tree=peak") == 1


def tree_of(lines, depth=0):
    """The bytes of a node, of which each number of callers must be there, and add up to it."""
    count, size = map(int, re.match(rf" {{{depth}}}n(\d+): (\d+) ", lines.pop(0)).groups())
    callers = [tree_of(lines, depth + 1) for _ in range(count)]
    assert not callers or sum(callers) == size
    assert callers[:-1] == sorted(callers[:-1], reverse=True)
    return size


@pytest.mark.parametrize("name", ["service_later", "medley", "started"])
def test_massif_trees_are_whole(name, tmp_path):
    for text in re.findall(r"heap_tree=(?:peak|detailed)\n((?: *n.*\n)+)", export(name, "massif", tmp_path).read_text()):
        lines = text.splitlines()
        tree_of(lines)
        assert not lines


# --- heaptrack ---

def heaptrack(path):
    printed = run("heaptrack_print", "--disable-builtin-suppressions", path).decode(errors="replace")
    return {key: re.search(pattern, printed).group(1) for key, pattern in
            {"calls": r"calls to allocation functions: (\d+)", "temporary": r"temporary memory allocations: (\d+)",
             "peak": r"peak heap memory consumption: (\S+)", "rss": r"peak RSS \(including heaptrack overhead\): (\S+)",
             "leaked": r"total memory leaked: (\S+)"}.items()}, printed


def size(text):
    """heaptrack's kilo is 1000."""
    value, unit = re.match(r"([\d.]+)([KMG]?)B?$", text).groups()
    return float(value) * {"": 1, "K": 1e3, "M": 1e6, "G": 1e9}[unit]


@pytest.mark.parametrize("name", EXACT)
def test_heaptrack_has_the_totals(name, tmp_path):
    found, _ = heaptrack(export(name, "heaptrack", tmp_path))
    totals = report(name)["totals"]
    assert size(found["leaked"]) == pytest.approx(totals["live_bytes"], rel=0.006)
    # the address of a double free was freed by one call more than allocated it
    assert totals["allocs"] - totals["double_frees"] <= int(found["calls"]) <= totals["allocs"]
    assert int(found["temporary"]) == 0
    assert size(found["rss"]) > 1e6 or not report(name)["run"].get("memory")


def test_heaptrack_has_the_stacks(tmp_path):
    path = export("service_later", "heaptrack", tmp_path)
    run("heaptrack_print", "--flamegraph-cost-type", "leaked", "-F", tmp_path / "folded", path)
    leaked = [line.rsplit(" ", 1) for line in (tmp_path / "folded").read_text().splitlines()]
    for group in report("service_later")["groups"]:
        leaf = group["stack"][group["wrappers"]]["function"]
        assert sum(int(value) for stack, value in leaked if stack.split(";")[-2].startswith(leaf + " ")) >= group["bytes"], leaf


# --- valgrind ---

@pytest.mark.parametrize("name", EXACT)
def test_valgrind_has_the_totals(name, tmp_path):
    root = xml.etree.ElementTree.parse(export(name, "valgrind", tmp_path)).getroot()
    assert (root.findtext("protocolversion"), root.findtext("protocoltool")) == ("4", "memcheck")
    blocks = {}
    for error in root.findall("error"):
        if error.find("xwhat") is not None:
            kind = KINDS[error.findtext("kind")]
            blocks[kind] = blocks.get(kind, 0) + int(error.findtext("xwhat/leakedblocks"))
    assert sum(blocks.values()) == report(name)["totals"]["live_blocks"]
    for group in report(name)["groups"]:
        if group["verdict"] in ("definite", "indirect", "possible"):
            blocks[group["verdict"]] -= group["blocks"]
    assert {kind: left for kind, left in blocks.items() if kind != "reachable" and left} == {}


def test_valgrind_of_hostile_names(tmp_path):
    root = xml.etree.ElementTree.parse(example("valgrind", tmp_path)).getroot()
    functions = {frame.findtext("fn") for frame in root.iter("frame")}
    assert r'evil\x1b[2J"\\x0a\xffü;,' in functions and "keep<int>" in functions
    assert [error.findtext("kind") for error in root.findall("error")].count("InvalidFree") >= 1
    uniques = [error.findtext("unique") for error in root.findall("error")]
    assert len(set(uniques)) == len(uniques) == len(root.findall("errorcounts/pair"))


# --- OpenMetrics ---

def gauges(text):
    return {(name, labels): float(value) for name, labels, value in re.findall(r"^mmattach_(\w+)\{(.*)\} (\S+)$", text, re.M)}


@pytest.mark.parametrize("name", [*EXACT, "sampled", "families"])
def test_metrics_are_valid(name, tmp_path):
    path = export(name, "openmetrics", tmp_path)
    done = subprocess.run(["promtool", "check", "metrics"], stdin=path.open(), capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert path.read_text().endswith("\n# EOF\n")


def test_metrics_of_hostile_names(tmp_path):
    path = example("openmetrics", tmp_path)
    done = subprocess.run(["promtool", "check", "metrics"], stdin=path.open(), capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", EXACT)
def test_metrics_have_the_totals(name, tmp_path):
    found, totals = gauges(export(name, "openmetrics", tmp_path).read_text()), report(name)["totals"]
    process = {key: value for (key, labels), value in found.items() if "rank=" not in labels and "verdict=" not in labels}
    assert (process["live_bytes"], process["live_blocks"], process["allocated_blocks"]) == (totals["live_bytes"], totals["live_blocks"], totals["allocs"])
    rows = [row for row in report(name)["rows"][:10] if row["section"] != "indirect"]
    assert [value for (key, _), value in found.items() if key == "group_live_bytes"] == [row["bytes"] for row in rows]


def wait_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.2)
    return None


def query(port, expression):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?query={expression}", timeout=10) as answer:
        return json.load(answer)["data"]["result"]


def free_port():
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        return server.server_port


def answers(function, *arguments):
    try:
        return function(*arguments)
    except (urllib.error.URLError, OSError):
        return None


def test_prometheus_scrapes_them(tmp_path):
    """A real Prometheus, which asks a real node_exporter, which reads the file."""
    folder = tmp_path / "metrics"
    folder.mkdir()
    shutil.copy(export("service_later", "openmetrics", tmp_path), folder / "svc.prom")
    exporter_port, port = free_port(), free_port()
    (tmp_path / "prometheus.yml").write_text(f"scrape_configs: [{{job_name: node, scrape_interval: 1s, static_configs: [{{targets: ['127.0.0.1:{exporter_port}']}}]}}]\n")
    commands = [["prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{exporter_port}", "--collector.disable-defaults", "--collector.textfile",
                 f"--collector.textfile.directory={folder}"],
                ["prometheus", f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/tsdb", f"--web.listen-address=127.0.0.1:{port}"]]
    started = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for command in commands]
    try:
        found = wait_for(lambda: answers(query, port, "mmattach_live_bytes"))
        assert found and float(found[0]["value"][1]) == report("service_later")["totals"]["live_bytes"]
        groups = query(port, "topk(1,mmattach_group_live_bytes)")
        assert groups[0]["metric"]["function"] in ("cache_insert", "session_open")
    finally:
        for process in started:
            process.terminate()
            process.wait(20)


# --- all ---

@pytest.mark.parametrize("form", EXPORTS)
@pytest.mark.parametrize("which", ["", "empty", "refs"])
def test_any_run(form, which, tmp_path):
    """Hostile names, a run in which nothing was seen, and one that has only references."""
    path = example(form, tmp_path, which)
    if form == "pprof":
        raw(path)
    elif form == "speedscope":
        profiles(path)
    elif form == "massif":
        run("ms_print", path)
    elif form == "heaptrack":
        heaptrack(path)
    elif form == "valgrind":
        xml.etree.ElementTree.parse(path)
    else:
        assert gauges(path.read_text())
