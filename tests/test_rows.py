# SPDX-License-Identifier: MIT
"""One row model: what [n] is does not depend on the format. For each kind of run, each format that names groups is
read, the page as a browser draws it, and what it says of [n] is what every other format says.

A format that is added gets a line in FORMATS. A reader returns {"[n]": {field: value}}:

    amount      "84.3 KiB", or how many of what has no size     blocks      with those lost with it
    share       "61%"                                           own         blocks of its groups alone
    verdict     "definite"          bytes                       growth      as a table has it: "+1.2 MiB/min"
    shape       "grows"                                         rate        bytes or references a minute
    name        where it is allocated                           leaks       of a watch with a budget
"""
import csv
import functools
import io
import json
import re
import subprocess

import pytest

import golden.cases as cases
from test_html import DRIVER, Browser, page_of
from test_unit import BUILD, TOP

CORE = ["scan", "--core", "core", "--exe", "./held"]
VERDICTS = {"definitely lost": "definite", "possibly lost": "possible", "indirectly lost": "indirect", "still reachable": "reachable",
            "in use": "unknown", "unknown": "unknown"}
UNITS = ["B", "KiB", "MiB", "GiB"]


def run(*words, cwd):
    return subprocess.run([BUILD / "mmattach", *words], cwd=cwd, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60).stdout


def size(value):
    """As format_size prints it."""
    unit = 0
    while value >= (1024 if unit else 10000):
        value, unit = value / 1024, unit + 1
    return f"{value:.1f} {UNITS[unit]}" if unit and value < 99.95 else f"{value:.0f} {UNITS[unit]}"


def percent(value):
    value *= 100
    return "<0.1%" if 0 < value < 0.1 else f"{value:.1f}%" if 0 < value < 9.95 else f"{value:.0f}%"


def number(text):
    return int(re.sub(r"[\u202f ,]", "", text))


# --- the text report ---

# "  [fd 1]     84.3 KiB    61%       43  definite  too short to say        f svc.c:1", by the table's heading
ROW = re.compile(r"  (\[[^]]*\]) +(.*)")
AMOUNTS = re.compile(r"(?:(?P<amount>[\d.]+ [KMG]?i?B) +)?(?:(?P<share><?[\d.]+%) +)?(?P<blocks>\d+)(?: +(?P<after><?[\d.]+%))?$")
GROWTH = re.compile(r"(too short to say|rose and fell|see \[[^]]*\]|older than the watch|(?:levelled off|allocated|all came) \S+ ago|"
                    r"\+[\d.]+(?: \w+)?/min(?: now)?) +(.*)")
HELD = re.compile(r"(\[[^]]*\]) ([\d.]+ \w+) \((<?[\d.]+%)\) in (\d+) \w+(?:, \d+ of them of other stacks)?, (?:mostly )?indirectly lost")


def row_of_text(heading, line):
    mark, _ = ROW.match(line).groups()
    begins = {word: heading.index(word) for word in ("verdict", "growth", "allocated by", "acquired by", "leaks a minute", "calls/min", "what") if word in heading}
    name = line[min(begins[word] for word in ("allocated by", "acquired by", "what") if word in begins):].strip()
    row = {"name": name}
    if "leaks a minute" in begins:
        return mark, {**row, "leaks": line[begins["leaks a minute"]:begins["leaks a minute"] + 32].strip()}
    upto = min(begins.values())
    if "acquired by" in begins:
        objects, net, *_ = line[len(mark) + 2:upto].split()
        row.update(blocks=int(objects), net=net)
    else:
        found = AMOUNTS.match(line[len(mark) + 2:upto].strip())
        row.update(blocks=int(found["blocks"]), amount=found["amount"] or found["blocks"], share=found["share"] or found["after"])
    if "verdict" in begins:
        row["verdict"] = line[begins["verdict"]:].split()[0]
    if "growth" in begins:
        row["growth"], row["name"] = GROWTH.match(line[begins["growth"]:]).groups()
    return mark, row


def of_text(words, cwd, _browser):
    lines = run(*words, "--top", "0", cwd=cwd).decode().splitlines()
    heading, rows = "", {}
    for line in lines:
        if re.search(r"(allocated by|acquired by|  what)$", line):
            heading = line
        elif heading and line in VERDICTS and " what" in heading:
            section = VERDICTS[line]
        elif heading and line.startswith("indirectly lost (with"):
            section = "indirect"
        elif heading and ROW.match(line) and not line.startswith("   "):
            mark, row = row_of_text(heading, line)
            rows[mark] = {**row, "verdict": section} if " what" in heading else row
            if " what" in heading:
                rows[mark]["name"] = re.sub(r", and [\d.]+ \w+ in \d+ blocks? with them|: \".*", "", row["name"])
        elif (held := HELD.match(line)) and held[1] not in rows:
            rows[held[1]] = {"amount": held[2], "share": held[3], "blocks": int(held[4]), "verdict": "indirect"}
    return rows


# --- JSON, and the data of a page ---

def of_document(report):
    families = {family["family"]: family for family in report["families"]}
    several = len(families) > 1
    mark = lambda row: f"[{row['family']} {row['number']}]" if several else f"[{row['number']}]"
    rows = {}
    for row in report["rows"]:
        plain = families.get(row["family"], {}).get("plain", False)
        growth = row["growth"]
        its = {"blocks": row["blocks"], "bytes": row["bytes"], "amount": str(row["blocks"]) if plain else size(row["bytes"]), "share": percent(row["share"]),
               "own": sum(report["groups"][i]["blocks"] for i in row["groups"]), "verdict": row["verdict"], "shape": growth["shape"],
               "rate": round(growth["bytes_per_minute"]), "growth": growth["text"], "name": row["name"]}
        if row.get("leaks") is not None:
            its["leaks"] = row["leaks"]
        assert all(report["groups"][i]["number"] == row["number"] and report["groups"][i]["family"] == row["family"] for i in row["groups"])
        assert mark(row) not in rows
        rows[mark(row)] = its
    for row in report["ref_rows"]:
        assert mark(row) not in rows
        rows[mark(row)] = {"blocks": row["objects"], "own": sum(report["refs"][i]["objects"] for i in row["refs"]), "net": row["net_text"],
                           "shape": row["growth"]["shape"], "rate": round(row["growth"]["references_per_minute"]), "growth": row["growth"]["text"],
                           "name": row["name"]}
        assert all(report["refs"][i]["number"] == row["number"] for i in row["refs"])
    assert sum(len(row["groups"]) for row in report["rows"]) == len(report["groups"])
    assert sum(len(row["refs"]) for row in report["ref_rows"]) == len(report["refs"])
    return rows


def of_json(words, cwd, _browser):
    return of_document(json.loads(run(*words, "--format", "json", cwd=cwd)))


def once(function):
    """What FUNCTION returned for the same words and folder is what it returns: the inputs stay as they are."""
    made = {}

    @functools.wraps(function)
    def kept(words, cwd, *more):
        key = (*words, cwd)
        if key not in made:
            made[key] = function(words, cwd, *more)
        return made[key]
    return kept


@once
def page(words, cwd):
    names = "_".join(word.strip("./").replace("/", "_") for word in words)
    return page_of(cwd / f"{names}.html", *words, cwd=cwd)


@once
def of_data(words, cwd, _browser):
    data = re.search(r'<script type="application/json" id="report">(.*?)</script>', page(words, cwd).read_text(), re.S)[1]
    return of_document(json.loads(data.replace('"mmattach"', '"page"', 1)))     # no JSON report: its stacks are numbers


# --- the page as it is drawn ---

CELLS = """return [...document.querySelectorAll(arguments[0] + ' tr.row')].map((line) =>
    Object.fromEntries([...line.cells].map((cell) => [cell.className.slice(2), cell.innerText.trim()])))"""
FIELDS = {"bytes": "amount", "share": "share", "growth": "growth", "where": "name", "interval": "leaks"}


@once
def of_drawn(words, cwd, browser):
    browser.open(page(words, cwd))
    browser.run("document.querySelectorAll('.more').forEach((more) => { for (let i = 0; i < 50 && !more.hidden; i++) more.click(); })")
    rows = {}
    for cells in browser.run(CELLS, "#groups-table"):
        row = {field: cells[cell].replace("\u202f", "") for cell, field in FIELDS.items() if cells.get(cell)}
        if "blocks" in cells:
            row["blocks"] = number(cells["blocks"])
        if "verdict" in cells:
            row["verdict"] = VERDICTS[cells["verdict"]]
        assert cells["number"] not in rows, f"{cells['number']} is drawn twice"
        rows[cells["number"]] = row
    for cells in browser.run(CELLS, "#refs-table"):
        assert cells["number"] not in rows, f"{cells['number']} is drawn twice"
        rows[cells["number"]] = {"blocks": number(cells["count"]), "net": cells["delta"], "growth": cells["growth"], "name": cells["where"]}
    return rows


# --- CSV and exports ---

def of_csv(words, cwd, _browser):
    lines = list(csv.DictReader(io.StringIO(run(*words, "--format", "csv", cwd=cwd).decode())))
    several = len({line.get("family", "") for line in lines}) > 1
    rows = {}
    for line in lines:
        mark = f"[{line['family']} {line['number']}]" if several else f"[{line['number']}]"
        row = {"blocks": int(line["row_blocks"] or line["row_objects"]), "name": line["row_name"], "own": int(line["blocks"] or line["objects"])}
        if not line.get("net"):
            plain = line["row_bytes"] == line["row_blocks"] != "0"
            row.update(amount=line["row_blocks"] if plain else size(int(line["row_bytes"])), share=percent(float(line["row_share"])), verdict=line["row_verdict"])
        if "growth_shape" in line:
            rate = line["row_growth_bytes_per_minute"] or line["row_growth_references_per_minute"]
            row.update(shape=line["row_growth_shape"], rate=round(float(rate)))
        if mark in rows:
            row["own"] += rows[mark]["own"]
            assert row == {**rows[mark], "own": row["own"]}
        rows[mark] = row
    return rows


def of_pprof(words, cwd, _browser):
    """Samples with their labels, by pprof itself: allocations, bytes, blocks, bytes; only what has blocks has a row."""
    (cwd / "p.pprof").write_bytes(run(*words, "--format", "pprof", cwd=cwd))
    raw = subprocess.run(["go", "tool", "pprof", "-raw", cwd / "p.pprof"], check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                         env={"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/go/bin", "HOME": "/tmp"}).stdout.decode()
    rows = {}
    for values, labels in re.findall(r"^ +([\d ]+): [\d ]*\n((?: +\S+:\[.*\n)*)", raw, re.M):
        mark = re.search(r"group:\[(\[.*?\])\]", labels)
        if mark:
            rows[mark[1]] = {"own": rows.get(mark[1], {"own": 0})["own"] + int(values.split()[2])}
    return rows


def of_metrics(words, cwd, _browser):
    """Gauges of the first ten, without those that are counted in others."""
    rows = {}
    for gauge, labels, value in re.findall(r"^mmattach_group_(\w+)\{(.*)\} (\S+)$", run(*words, "--format", "openmetrics", cwd=cwd).decode(), re.M):
        row = rows.setdefault(re.search(r'group="(.*?)"', labels)[1], {})
        if gauge == "live_bytes":
            row["bytes"] = int(float(value))
        elif gauge == "growth_bytes_per_second":
            row["rate"] = round(60 * float(value))
        if verdict := re.search(r'verdict="(.*?)"', labels):
            row["verdict"] = verdict[1]
    return rows


# Each format, its reader, the fields that it must have of a row of blocks, and what it says nothing of.
FORMATS = {
    "text": (of_text, "blocks amount share", ""),
    "json": (of_json, "blocks own amount share verdict shape rate growth name", ""),
    "csv": (of_csv, "blocks own share verdict name", ""),
    "page's data": (of_data, "blocks own amount share verdict shape rate growth name", ""),
    "page": (of_drawn, "blocks amount share name", ""),
    "pprof": (of_pprof, "own", "scan refs sampled"),
    "openmetrics": (of_metrics, "bytes", "scan refs"),
}
SOME = ("pprof", "openmetrics")     # these have not all rows
UNNUMBERED = {"folded", "speedscope", "massif", "heaptrack", "valgrind"}    # a stack has no [n] there

RUNS = {run: (["report", *cases.run_of(run)], "refs" if run in ("refs", "counted_refs") else "sampled" if run == "sampled" else "")
        for run in cases.traces()}
RUNS["merged"] = (["report", "all.mmt"], "refs")
RUNS["merged of one kind"] = (["report", "same.mmt"], "")
RUNS["scan"] = (CORE, "scan")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """All inputs, and merged ones."""
    path = tmp_path_factory.mktemp("rows")
    for name in cases.INPUTS.iterdir():
        if name.suffix == ".xz":
            (path / name.stem).write_bytes(subprocess.run(["xz", "-dc", name], stdout=subprocess.PIPE, check=True).stdout)
            (path / name.stem).chmod(0o755)
        else:
            (path / name.name).symlink_to(name)
    run("merge", "service.mmt", "service_later.mmt", "verdicts.mmt", "refs.mmt", "growth.mmt", "-o", "all.mmt", cwd=path)
    run("merge", "service.mmt", "service_later.mmt", "verdicts.mmt", "-o", "same.mmt", cwd=path)
    return path


@pytest.fixture(scope="module")
def browser():
    if not DRIVER.exists():
        pytest.skip("chromium-driver is not installed")
    it = Browser()
    yield it
    it.driver.quit()


def shorter(cell, name):
    """Is the text's cell what fits of the name? Words may be left out, template arguments, outer scopes, and ends."""
    plain = re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", name))
    return all(word.rstrip(".…") in name or word.rstrip(".…") in plain or word in (">", "")
               for part in cell.split() for word in re.split(r"\.\.\.|(?=:\d+$)", part))


def disagreement(field, value, other):
    if field == "name":
        return not (shorter(value, other) or shorter(other, value))
    if field == "rate":     # gauges have six digits of it
        return abs(value - other) > 1 + 1e-5 * abs(other)
    return value != other


@pytest.mark.parametrize("name", RUNS)
def test_a_group_is_the_same_in_every_format(browser, folder, name):
    words, kind = RUNS[name]
    known = {}
    for form, (reader, needed, without) in FORMATS.items():
        if kind and kind in without.split():
            continue
        rows = reader(words, folder, browser)
        assert form in SOME or rows or not known, f"{form} has no rows"
        wrong = []
        for mark, row in rows.items():
            if kind not in ("refs", "sampled"):
                assert set(needed.split()) <= set(row), (form, mark, row)
            for field, value in row.items():
                for other, its in known.items():
                    if field in its.get(mark, {}) and disagreement(field, value, its[mark][field]):
                        wrong.append(f"{mark} {field}: {value!r} in {form}, {its[mark][field]!r} in {other}")
        assert not wrong, "\n".join(wrong)
        assert not known or set(rows) == set(known["text"]) or form in SOME and set(rows) <= set(known["text"]), (form, sorted(rows), sorted(known["text"]))
        known[form] = rows


# --- differences ---

CHANGE = re.compile(r"  (\[\d+\])? .*  (?:grew|appeared|shrank|went|goes on) +(.*)")


def changes_of_text(words, cwd):
    """The numbers and names of groups, and of objects, in the order of the table."""
    lines = [CHANGE.match(line) for line in run(*words, "--top", "0", cwd=cwd).decode().splitlines()]
    return [(line[1] or "", re.sub(r"^\w+: ", "", line[2])) for line in lines if line]


def changes_of_json(words, cwd):
    report = json.loads(run(*words, "--format", "json", cwd=cwd))
    return [(f"[{change['number']}]" if change["number"] else "", change["name"]) for change in report["changes"] + report["ref_changes"]]


def changes_of_csv(words, cwd):
    lines = csv.DictReader(io.StringIO(run(*words, "--format", "csv", cwd=cwd).decode()))
    return [(f"[{line['number']}]" if line["number"] else "", line["name"]) for line in lines]


@pytest.mark.parametrize("pair", [("service.mmt", "service_later.mmt"), ("service_later.mmt", "service.mmt"), ("refs.mmt", "counted_refs.mmt"),
                                  ("service.mmt", "verdicts.mmt")])
def test_a_change_is_the_same_in_every_format(browser, folder, pair):
    words = ["diff", *pair]
    data = changes_of_json(words, folder)
    assert changes_of_csv(words, folder) == data
    browser.open(page(words, folder))
    drawn = [(cells["number"].lstrip("▸ "), cells["where"]) for table in ("#groups-table", "#refs-table") for cells in browser.run(CELLS, table)]
    assert sorted(drawn) == sorted(data)
    for mark, name in changes_of_text(words, folder):
        assert any(mark == other and shorter(name, its) for other, its in data), (mark, name, data)


def test_every_format_is_looked_at():
    """A new one has a reader here, or no numbers."""
    known = set(re.findall(r"^\tX\((\w+)\)", (TOP / "report/formats.h").read_text(), re.M))
    assert known == {"html" if form.startswith("page") else form for form in FORMATS} | UNNUMBERED


def test_names_on_the_page_are_those_of_the_data(browser, folder):
    """Not only what fits: to the letter."""
    for words, _ in RUNS.values():
        data, drawn = of_data(words, folder, browser), of_drawn(words, folder, browser)
        assert {mark: row["name"] for mark, row in data.items()} == {mark: row["name"] for mark, row in drawn.items()}
