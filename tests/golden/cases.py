# SPDX-License-Identifier: MIT
"""The cases of the goldens: {name: [command, ...]}, each command a list of words, run in a folder that has
the inputs.

"mmattach" and "unit/NAME" are those of the variant; "records FILE" prints the records of a trace, "cut FILE
N" makes cut.mmt of its first N bytes.
"""
import glob
import pathlib

INPUTS = pathlib.Path(__file__).resolve().parent / "inputs"
FORMATS = ("text", "json", "csv", "folded")
CORE = ["scan", "--core", "core", "--exe", "./held"]
IMPORT = "tests/data/import"    # a link in the folder


def run_of(trace):
    """The files of a trace that may be in pieces."""
    return sorted(pathlib.Path(f).name for f in glob.glob(f"{INPUTS}/{trace}.mmt") + glob.glob(f"{INPUTS}/{trace}.*.mmt"))


def traces():
    return sorted({f.name.split(".")[0] for f in INPUTS.glob("*.mmt")})


def reports():
    """Each trace in each format."""
    for trace in traces():
        for form in FORMATS:
            yield f"report-{trace}.{form}", [["mmattach", "report", "--format", form, "--top", "6", *run_of(trace)]]


def of_a_report(trace, *options):
    return [["mmattach", "report", *options, *run_of(trace)]]


CHOICES = {
    "all-rows": of_a_report("service", "--top", "0"),
    "top-1": of_a_report("started", "--top", "1"),
    "older": of_a_report("service_later", "--older-than", "500ms"),
    "older-refs": of_a_report("refs", "--older-than", "1ms"),
    "min-bytes": of_a_report("started", "--min-bytes", "1K"),
    "focus": of_a_report("service_later", "--focus", "session"),
    "ignore": of_a_report("service_later", "--ignore", "session", "--ignore", "cache"),
    "ignore-refs": of_a_report("refs", "--ignore", "make"),
    "nothing-left": of_a_report("service", "--focus", "no_such_function"),
    "show-lost": of_a_report("started", "--show", "definite,indirect", "--top", "3"),
    "show-reachable": of_a_report("started", "--show", "reachable", "--format", "csv"),
    "wrappers-shown": of_a_report("wrappers", "--wrappers", "show"),
    "suppressions-made": of_a_report("verdicts", "--gen-suppressions"),
    "suppressions-made-lsan": of_a_report("medley", "--gen-suppressions", "--top", "3"),
    "suppressions-used": [["mmattach", "report", "--suppressions", "some.supp", *run_of("verdicts")],
                          ["mmattach", "report", "--suppressions", "some.supp", "--format", "json", "--top", "1", *run_of("verdicts")]],
    "per-object": of_a_report("refs", "--per-object"),
    "per-object-counted": of_a_report("counted_refs", "--per-object"),
    "per-object-json": of_a_report("refs", "--per-object", "--format", "json"),
    "family": of_a_report("families", "--family", "fd"),
    "block-list": of_a_report("verdicts", "--block-list", "2"),
    "block-list-json": of_a_report("verdicts", "--block-list", "1", "--format", "json"),
    "block-list-csv": of_a_report("verdicts", "--block-list", "1", "--format", "csv"),
    "block-list-family": of_a_report("families", "--block-list", "fd:1"),
    "block-list-objects": of_a_report("refs", "--block-list", "1", "--top", "3"),
    "block-list-none": of_a_report("verdicts", "--block-list", "99"),
    "block-at": of_a_report("verdicts", "--block-at", "1000,7f0000000000"),
    "error-exitcode": of_a_report("verdicts", "--error-exitcode", "9", "--top", "1"),
    "one-piece": [["mmattach", "report", run_of("pieces")[0]], ["mmattach", "report", "--top", "2", run_of("pieces")[1]]],
    "pieces-out-of-order": [["mmattach", "report", "--top", "2", *reversed(run_of("pieces"))]],
    "report-of-two-runs": [["mmattach", "report", *run_of("service"), *run_of("service_later")]],
    "report-refused": [["mmattach", "report"], ["mmattach", "report", "nosuch.mmt"], ["mmattach", "report", "some.supp"],
                       ["mmattach", "report", "--format", "poem", *run_of("refs")],
                       ["mmattach", "report", "--top", "-1", *run_of("refs")]],
}


def diffs():
    pairs = {"service": ["service.mmt", "service_later.mmt"], "back": ["service_later.mmt", "service.mmt"],
             "refs": ["refs.mmt", "counted_refs.mmt"], "kinds": ["service.mmt", "refs.mmt"], "same": ["verdicts.mmt", "verdicts.mmt"],
             "frontends": ["in_gdb.mmt", "verdicts.mmt"], "sampled": ["service.mmt", "sampled.mmt"]}
    for name, pair in pairs.items():
        for form in FORMATS:
            yield f"diff-{name}.{form}", [["mmattach", "diff", "--format", form, "--top", "5", *pair]]
    yield "diff-focus.text", [["mmattach", "diff", "--focus", "session", *pairs["service"]]]


def merged():
    """Of different builds, lengths and families; merged in two steps, and in another order."""
    merge = ["mmattach", "merge", "service.mmt", "service_later.mmt", "verdicts.mmt", "refs.mmt", "growth.mmt", "-o", "all.mmt"]
    for form in FORMATS:
        yield f"merge.{form}", [merge, ["mmattach", "report", "--format", form, "--top", "6", "all.mmt"]]
    yield "merge-processes.text", [["mmattach", "merge", "--label", "host=a1,pod=x", "service.mmt", "-o", "one.mmt"],
                                   ["mmattach", "merge", "one.mmt", "some.supp", "medley.mmt", "--skip-damaged", "-o", "two.mmt"],
                                   ["mmattach", "report", "--by", "process", "two.mmt"], ["records", "two.mmt"]]
    yield "merge-refused.text", [["mmattach", "merge", "service.mmt", "sampled.mmt", "-o", "all.mmt"],
                                 ["mmattach", "merge", "service.mmt", "service.mmt", "-o", "all.mmt"],
                                 ["mmattach", "merge", "service.mmt", "some.supp", "-o", "all.mmt"],
                                 ["mmattach", "merge", "service.mmt"], ["mmattach", "report", "--by", "process", "service.mmt"]]
    yield "merge-diff.text", [merge, ["mmattach", "merge", "service.mmt", "-o", "one.mmt"],
                              ["mmattach", "diff", "--top", "5", "one.mmt", "all.mmt"]]


def shrunk():
    for trace in ("pieces", "refs", "started", "sampled", "medley", "families", "growth"):
        yield f"shrink-{trace}.text", [["mmattach", "shrink", *run_of(trace), "-o", "small.mmt"],
                                       ["mmattach", "report", "--top", "2", "small.mmt"], ["records", "small.mmt"]]
    yield "shrink-one-piece.text", [["mmattach", "shrink", run_of("pieces")[1], "-o", "later.mmt"],
                                    ["mmattach", "shrink", run_of("pieces")[0], "-o", "first.mmt"],
                                    ["mmattach", "report", "--top", "2", "first.mmt", "later.mmt"]]


def damaged():
    for trace, length in (("service", 9000), ("service", 64), ("verdicts", 2100), ("refs", 1500), ("medley", 6650)):
        yield f"cut-{trace}-{length}.text", [["cut", f"{trace}.mmt", str(length)], ["mmattach", "report", "--top", "3", "cut.mmt"],
                                             ["mmattach", "shrink", "cut.mmt", "-o", "small.mmt"]]


def imported():
    vm = f"{IMPORT}/mmleak-vm"
    yield "import-mmleak.text", [["mmattach", "import", "mmleak", f"{vm}.12354.0.out", "--maps", f"{vm}.12354.maps", "-o", "im.mmt"],
                                 ["mmattach", "report", "--top", "3", "im.mmt"], ["mmattach", "report", "--top", "3", "--format", "json", "im.mmt"]]
    yield "import-mtrace.text", [["mmattach", "import", "mtrace", f"{IMPORT}/mt2.log", "-o", "im.mmt"], ["mmattach", "report", "im.mmt"],
                                 ["records", "im.mmt"]]
    yield "import-refused.text", [["mmattach", "import", "mmleak", f"{IMPORT}/empty.log", "-o", "im.mmt"], ["mmattach", "import", "poem", "x"]]


def scans():
    for form in FORMATS:
        yield f"scan-core.{form}", [["mmattach", *CORE, "--format", form]]
    yield "scan-top.text", [["mmattach", *CORE, "--top", "2"]]
    yield "scan-show.text", [["mmattach", *CORE, "--show", "definite,indirect"]]
    yield "scan-without-exe.text", [["mmattach", "scan", "--core", "core"]]
    yield "scan-cut.text", [["cut", "core", "200000"], ["mmattach", "scan", "--core", "cut.mmt"]]
    yield "scan-refused.text", [["mmattach", "scan"], ["mmattach", "scan", "--core", "some.supp"], ["mmattach", "scan", "--core", "nosuch"]]
    for form in ("text", "json"):
        yield f"scan-who-points-at.{form}", [["mmattach", *CORE, "--format", form, "--who-points-at", "possible"]]


def printers():
    """Output for synthetic runs with hostile names."""
    for what in (["text"], ["json"], ["csv"], ["json", "pointers"]):
        yield f"made-scan-{'-'.join(what)}", [["unit/test_out_scan", *what]]
    for words in (["json"], ["json", "objects"], ["csv"], ["csv", "families"]):
        yield f"made-{'-'.join(words)}", [["unit/test_formats", *words]]


def words():
    """Commands that need no input."""
    yield "help.text", [["mmattach", "--help"], *[["mmattach", "help", command] for command in
                                                  ("report", "diff", "shrink", "import", "scan", "probes", "repair", "nosuch")]]
    yield "probes.text", [["mmattach", "probes"], ["mmattach", "probes", "--json"], ["mmattach", "probes", "--family", "glusterfs,fd"]]
    wrong = (["--nosuch"], ["-p"], ["-p", "x"], ["-p", "1,x"], ["top", "-p", "1,2"], ["-p", "1,2", "--interval", "5s"], ["-p", "1", "10m"], ["-d", "x", "-p", "1"], ["--budget", "200%", "-p", "1"],
             ["--probe", "alloc", "-p", "1"], ["--probe", "alloc f size=arg9", "-p", "1"], ["--family", "nosuch", "-p", "1"],
             ["--ref", "a", "-p", "1"], ["--depth", "0", "-p", "1"], ["--growth", "--budget", "1%", "-p", "1"], ["--rotate", "1", "-p", "1"],
             ["nosuch"], ["shrink"], ["diff", "a"], ["repair"], ["--", ], ["-p", "999999999"], ["-n", "no_such_program_at_all"])
    yield "refused.text", [["mmattach", *args] for args in wrong]


def cases():
    every = dict(reports())
    every.update({f"{name}.text": commands for name, commands in CHOICES.items()})
    for more in (diffs(), shrunk(), merged(), damaged(), imported(), scans(), printers(), words()):
        every.update(more)
    return every
