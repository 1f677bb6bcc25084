# SPDX-License-Identifier: MIT
"""What runs have found, kept in build/kernels/results.json, and the table of it in doc/limits.md.

A long run can be made in parts: results of the same program, victims and checks are added to those that are there, so
that what was wrong once stays wrong; those of others are dropped. Each result stands for a kernel, a preemption and a
number of processors.
"""
import hashlib
import json
import subprocess

import expected
import image

FILE = image.TOP / "build/kernels/results.json"
DOCUMENT = image.TOP / "doc/limits.md"
BEGIN, END = "<!-- made by make kernels -->\n", "<!-- end of what make kernels has made -->\n"
MODES = ["fixed", "none", "voluntary", "lazy", "full"]
# a column, and the names of the checks that it stands for; a name is also the first word of others
COLUMNS = [("ptrace", "exact ptrace"), *((way, f"exact {way}") for way in expected.SINCE), ("leaks", ("ptrace", "uprobe")),
           *((name, name) for name in ("sample", "kill", "budget", "scan", "follow", "storm", "scripts", "container", "repair", "log"))]


def identity():
    """Of all that is in the virtual machine."""
    whole = hashlib.sha256()
    for name, path in sorted(image.contents().items()):
        whole.update(f"{name}\0".encode() + path.read_bytes())
    return whole.hexdigest()


def load():
    """{"of": what identity() was, "rows": [{"version", "preempt", "processors", "checks": {name: result}}]}"""
    kept, now = json.loads(FILE.read_text()) if FILE.exists() else {}, identity()
    return kept if kept.get("of") == now else {"of": now, "rows": []}


def together(one, other):
    """Two results of the same check: both have to be right."""
    wrong = other if one["ok"] else one
    sums = {key: one.get(key, 0) + other.get(key, 0) for key in ("right", "of") if key in one or key in other}
    return {**wrong, **sums, "seconds": round(one["seconds"] + other["seconds"], 1)}


def add(kept, boot, found):
    """The results FOUND after BOOT, the result that says what was booted."""
    where = {key: boot[key] for key in ("version", "preempt", "processors")}
    row = next((row for row in kept["rows"] if where.items() <= row.items()), None)
    if row is None:
        row = {**where, "checks": {}}
        kept["rows"].append(row)
    for result in found:
        before = row["checks"].get(result["check"])
        row["checks"][result["check"]] = together(before, result) if before else result
    FILE.write_text(json.dumps(kept, indent=1) + "\n")


# --- the table ---

def stands_for(name, check):
    return any(check == word or check.startswith(word + " ") for word in ((name,) if isinstance(name, str) else name))


def cell(row, name):
    """How often a repeated check was right; else whether it was. Bold: it was not."""
    of = [result for check, result in row["checks"].items() if stands_for(name, check)]
    if not of:
        return ""
    ok = all(result["ok"] for result in of)
    repeated = [result for result in of if "right" in result]
    if repeated:
        text = f"{sum(result['right'] for result in repeated)}/{sum(result['of'] for result in repeated)}"
    elif str(name).startswith("exact uprobe-"):
        text = "refused" if ok else "wrong"
    else:
        text = "right" if ok else "wrong"
    return text if ok else f"**{text}**"


def order(row):
    return expected.version(row["version"]), MODES.index(row["preempt"]), row["processors"]


def table(kept):
    lines = [["Linux", "preemption", "processors", *(title for title, _ in COLUMNS)]]
    lines.append(["---"] * len(lines[0]))
    for row in sorted(kept["rows"], key=order):
        lines.append([row["version"], row["preempt"], str(row["processors"]), *(cell(row, name) for _, name in COLUMNS)])
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def write_table(kept):
    version = subprocess.run([image.PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    text = DOCUMENT.read_text()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    DOCUMENT.write_text(f"{before}{BEGIN}Results of {version}:\n\n{table(kept)}{END}{after}")
