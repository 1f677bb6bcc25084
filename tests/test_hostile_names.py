# SPDX-License-Identifier: MIT
"""Names are chosen by the target. A corpus of those that break readers, through every format, each read by what
it is for: the totals are right, and no name becomes a line, a field, an element or a command."""
import csv
import json
import re
import subprocess
import xml.etree.ElementTree

import pytest

from mmt_made import Trace
from test_exports import MMATTACH, gauges, heaptrack, profiles, raw, run, size, total
from test_html import browser, started  # noqa: F401

LONG = "n" * 100_000
NAMES = [
    "", " ", "a b", "a;b", ";;", "a 12345", "12345", "-1", "# comment", "a|b", "a,b", "a\tb", "a\nb", "a\r\nb", "\x0b", "\x7f", "a\0b",
    "'", '"', '""', "`id`", "$(id)", "\\", "\\n", "%s%n%d", "{}", "${x}", "</script><script>x", "<!--", "-->", "]]>", "<![CDATA[", "&amp;", "&#0;",
    "\ufffe", "\uffff", "\ufeffa", "a\u2028b", "\u202eabc", "e\u0301", "\U0001f600", "\x85", "\x1b]0;t\x07", "\x1b[2J", "=1+1", "@x", "n0: 5 x",
    "__proto__", "constructor", "toString", "(anonymous namespace)::f", "operator<<", "f<", "f>", "f(", LONG,
    b"\xff\xfe", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"a\xe2\x82", b"\x80",
]
BYTES = sum(1000 + i for i in range(len(NAMES)))
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A group for each name: of its function, its module and its source file."""
    made = Trace(mode="exact")
    made.put("TARGET", pid=42, comm="a\n<b>", exe="/bin/a;b \x1b[2J", args=["a\nb", "</script>"])
    made.put("FAMILY_NAME", family=0, name="libc")
    for i, name in enumerate(NAMES):
        low = 0x7f0000000000 + i * 0x100000
        made.put("MODULE", number=i, file=i + 1, bias=low, low=low, high=low + 0x100000, path=name, build_id="ab")
        made.put("FRAME", number=i, pc=low + 0x100, module=i)
        made.put("NAMES", frame=i, names=[(name, name)])
        made.put("NODE", number=i + 1, caller=0, frame=i)
        made.put("STACK", number=i, node=i + 1)
        made.put("ALLOC", 1000 * i, address=0x5000 + 0x1000 * i, size=1000 + i, stack=i)
    made.put("NOTE", note="\x1b[2J</script>")
    made.put("END", 10_000_000)
    path = tmp_path_factory.mktemp("hostile") / "t.mmt"
    path.write_bytes(made.bytes())
    return path


@pytest.fixture(scope="module")
def formed(hostile):
    def make(form, *options):
        out = hostile.with_suffix("." + form)
        run(MMATTACH, "report", "--format", form, "-o", out, *options, hostile)
        return out
    return make


def groups_of(path):
    return json.loads(path.read_text())["groups"]


def test_text(formed):
    shown = formed("text", "--top", "0").read_text()
    assert not CONTROL.search(shown)
    assert shown.splitlines()[0].startswith("a\\x0a<b> (42)")
    assert len(re.findall(r"^\[\d+\] \d+ B", shown, re.M)) == len(NAMES)


def test_json(formed):
    assert sorted(group["bytes"] for group in groups_of(formed("json", "--top", "0"))) == [1000 + i for i in range(len(NAMES))]


def test_csv(formed):
    with formed("csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert sorted(int(row["bytes"]) for row in rows) == [1000 + i for i in range(len(NAMES))]
    cells = [cell for row in rows for cell in row.values()]
    assert not [cell for cell in cells if CONTROL.search(cell) or "\n" in cell]


def test_folded(formed):
    """As flamegraph.pl reads it: what is before the last blank is the stack, of functions between semicolons."""
    lines = formed("folded").read_text().splitlines()
    found = [re.fullmatch(r"(.*)\s+(\d+(?:\.\d*)?)", line) for line in lines]
    assert all(found) and sorted(int(match[2]) for match in found) == [1000 + i for i in range(len(NAMES))]
    assert not [line for line in lines if CONTROL.search(line) or ";" in line]


def test_pprof(formed):
    path = formed("pprof")
    value, precision = total(path, "inuse_space")
    assert value == pytest.approx(BYTES, abs=max(1, precision))
    assert sum(int(amount) for amount in re.findall(r"^ +\d+ +(\d+) +\d+ +\d+: \d+ *$", raw(path), re.M)) == BYTES


def test_speedscope(formed):
    assert sum(weight for _, weight in profiles(formed("speedscope"))["bytes in use"]) == BYTES


def test_massif(formed):
    printed = run("ms_print", formed("massif")).decode()
    assert re.findall(r"^100.00% \(([\d,]+)B\)", printed, re.M)[-1] == f"{BYTES:,}"


def test_heaptrack(formed):
    found, _ = heaptrack(formed("heaptrack"))
    assert size(found["leaked"]) == pytest.approx(BYTES, rel=0.006) and int(found["calls"]) == len(NAMES)


def test_valgrind(formed):
    root = xml.etree.ElementTree.parse(formed("valgrind")).getroot()
    assert sum(int(error.findtext("xwhat/leakedblocks")) for error in root.findall("error")) == len(NAMES)


def test_openmetrics(formed):
    path = formed("openmetrics")
    done = subprocess.run(["promtool", "check", "metrics"], stdin=path.open(), capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert next(value for (key, labels), value in gauges(path.read_text()).items() if key == "live_bytes") == BYTES


def test_html(browser, formed):  # noqa: F811
    browser.open(formed("html"))
    browser.run("document.querySelector('.more').click()")
    assert len(browser.all("#groups-table .opener")) == len(NAMES)
    browser.run("[...document.querySelectorAll('#groups-table .opener')].forEach((opener) => opener.click())")
    page = browser.run("return document.body.innerText")
    assert not CONTROL.search(page)
    assert browser.run("return document.querySelectorAll('script').length") == 2 and browser.all("img") == []
    browser.type("flame-search", "__proto__")
    browser.until(lambda: "matched" in browser.text("flame-share"))


@pytest.fixture(scope="module")
def compared(hostile, tmp_path_factory):
    """With a run of the same process in which nothing was allocated: all has appeared."""
    folder = tmp_path_factory.mktemp("compared")
    made = Trace(mode="exact")
    made.put("TARGET", pid=42, comm="a", exe="/bin/a", args=[])
    made.put("FAMILY_NAME", family=0, name="libc")
    made.put("END", 10_000_000)
    (folder / "empty.mmt").write_bytes(made.bytes())

    def make(form, *options):
        run(MMATTACH, "diff", "--format", form, "-o", folder / f"diff.{form}", *options, folder / "empty.mmt", hostile)
        return folder / f"diff.{form}"
    return make


def test_difference_as_text(compared):
    shown = compared("text", "--top", "0").read_text()
    assert not CONTROL.search(shown) and shown.count(" appeared ") == len(NAMES)


def test_difference_for_programs(compared):
    assert sum(change["new_bytes"] for change in json.loads(compared("json", "--top", "0").read_text())["changes"]) == BYTES
    assert sum(int(amount) for amount in re.findall(r"^ +\d+ +(\d+): \d+ *$", raw(compared("pprof")), re.M)) == BYTES
    lines = compared("folded").read_text().splitlines()
    assert sum(int(re.fullmatch(r"(.*) 0 (\d+)", line)[2]) for line in lines) == BYTES


def test_difference_as_a_page(browser, compared):  # noqa: F811
    browser.open(compared("html"))
    assert browser.all("#groups-table .opener") and not CONTROL.search(browser.run("return document.body.innerText"))
