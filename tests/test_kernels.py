# SPDX-License-Identifier: MIT
"""The program on other kernels than this machine's, in virtual machines (tests/kernels): a short list. `make kernels` has
more kernels, more checks, and more rounds of each."""
import functools
import pathlib
import random
import shutil
import sys

import pytest

TOP = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(TOP / "tests/kernels"))

import expected  # noqa: E402
import image  # noqa: E402
import kernels  # noqa: E402
import machine  # noqa: E402
import results  # noqa: E402

# What each kernel is there for: one without the second engine; the first with it; one that has another way; and all of
# it where kernel code is preempted.
CHECKS = {"5.10": ["ptrace", "uprobe"], "6.1": ["uprobe", "exact"], "6.12": ["exact"], "newest": ["ptrace", "uprobe", "exact", "kill"]}
ROUNDS = 1  # of what is random; `make kernels` has more
# Of the newest kernel one processor: with lazy preemption that is the sharpest.
PROCESSORS = {"5.10": 2, "6.1": 2, "6.12": 2, "newest": 1}

# What no check looks at, and an emulated machine pays for: defences against speculation, audits, doubts about the clock,
# and long waits until changed code is seen by all. `make kernels` has the kernels as they are.
CHEAPER = {"mitigations": "off", "audit": 0, "apparmor": 0, "tsc": "reliable", "no_timer_check": 1,
           "rcupdate.rcu_expedited": 1}


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    if "-" in image.PROGRAM.parent.name:
        pytest.skip("optional: the static program is not made with sanitizers")
    if not shutil.which(machine.QEMU):
        pytest.skip(f"{machine.QEMU} is not installed")
    try:
        image.require()
    except image.NotHere as missing:
        pytest.skip(str(missing))
    path = tmp_path_factory.mktemp("kernels") / "image.cpio"
    image.write(path)
    return path


def boot(archive, kernel, checks):
    """The results, by the group of their checks."""
    seed = random.randrange(1 << 30)
    print(f"{kernel}: {checks}, seed {seed}")
    orders = {"MM_CHECKS": ",".join(checks), "MM_ROUNDS": ROUNDS, "MM_SEED": seed, **CHEAPER}
    found = {}
    for result in machine.results(kernels.file(kernel), archive, PROCESSORS[kernel], orders):
        found.setdefault(result["check"].split()[0], []).append(result)
    return found


@pytest.fixture(scope="module")
def of_kernel(archive):
    """of_kernel(KERNEL, GROUP): its results. One boot is for all groups."""
    kept = {}

    def get(kernel, group):
        if kernel not in kept:
            kept[kernel] = boot(archive, kernel, CHECKS[kernel])
        return kept[kernel].get(group, [])

    return get


@pytest.mark.parametrize("kernel, group", [(kernel, group) for kernel in kernels.SHORT for group in [*CHECKS[kernel], "log"]])
def test_kernel(of_kernel, kernel, group):
    if not kernels.there(kernel):
        pytest.skip(f"Linux {kernel} is not there: make kernels-get (it needs the network)")
    found = of_kernel(kernel, group)
    wrong = [f"{result['check']}: {result['said']}" for result in found if not result["ok"]]
    assert found and not wrong, "\n".join(wrong)


# --- what chooses the kernels, and makes the table ---

def package(name, version):
    return kernels.Package(f"linux-{name}-cloud-amd64", version)


FOUND = [package("image-5.10.0-9", "5.10.70-1"), package("image-5.10.0-46", "5.10.262-1"), package("image-6.12.9+deb13", "6.12.9-1"),
         package("image-6.18.15+deb13", "6.18.15-1~bpo13+1"), package("binary-7.3", "7.3~rc7-1~exp1")]


@pytest.mark.parametrize("name, release", [("5.10", "5.10.0-46-cloud-amd64"), ("6.17+", "6.18.15+deb13-cloud-amd64"),
                                           ("newest", "7.3-cloud-amd64"), ("6.12", "6.12.9+deb13-cloud-amd64")])
def test_the_newest_of_a_series(name, release):
    assert kernels.choose(name, FOUND).release == release


def test_the_package_that_has_the_file():
    image_too = [package("image-7.3", "7.3-1"), package("binary-7.3", "7.3-1"), package("image-6.18.15+deb13", "6.18.15-1")]
    assert [p.name for p in kernels.with_kernel(image_too)] == ["linux-binary-7.3-cloud-amd64", "linux-image-6.18.15+deb13-cloud-amd64"]


@pytest.mark.parametrize("name", ["6.1", "8.0+", "nonsense"])
def test_a_kernel_that_cannot_be_had(name):
    with pytest.raises(kernels.NotToBeHad):
        kernels.choose(name, FOUND)


def test_versions_are_in_order():
    versions = ["5.10.70-1", "5.10.262-1", "7.3~rc7-1~exp1", "7.3-1"]
    made = [package("image-7.3", version) for version in reversed(versions)]
    assert [p.version for p in sorted(made, key=functools.cmp_to_key(kernels.older))] == versions


def test_ways_of_a_kernel():
    assert expected.ways("5.10.0-46-cloud-amd64") == []
    assert expected.ways("6.1.0-57-cloud-amd64") == ["uprobe-perf"]
    assert expected.ways("6.12.118+deb13-cloud-amd64") == ["uprobe-perf", "uprobe-multi"]
    assert expected.ways("7.3-cloud-amd64") == ["uprobe-perf", "uprobe-multi", "uprobe-session"]


def test_cells():
    """Bold is what was not as expected."""
    def checked(name, **result):
        return {name: {"check": name, **result}}

    row = {"checks": {**checked("exact ptrace", ok=True, right=20, of=20), **checked("exact uprobe-perf", ok=False, right=3, of=20),
                      **checked("exact uprobe-multi", ok=True), **checked("exact uprobe-session", ok=False),
                      **checked("kill ptrace", ok=True, right=2, of=2), **checked("kill uprobe", ok=True, right=1, of=1),
                      **checked("ptrace", ok=True), **checked("uprobe auto", ok=False), **checked("scan", ok=True)}}
    cells = {title: results.cell(row, name) for title, name in results.COLUMNS if results.cell(row, name)}
    assert cells == {"ptrace": "20/20", "uprobe-perf": "**3/20**", "uprobe-multi": "refused", "uprobe-session": "**wrong**",
                     "kill": "3/3", "leaks": "**wrong**", "scan": "right"}


def test_what_was_wrong_stays_wrong():
    right, wrong = ({"check": "exact ptrace", "ok": n == 3, "said": str(n), "right": n, "of": 3, "seconds": 1.5} for n in (3, 2))
    for both in (results.together(right, wrong), results.together(wrong, right)):
        assert both == {"check": "exact ptrace", "ok": False, "said": "2", "right": 5, "of": 6, "seconds": 3.0}
    log = {"check": "log", "ok": True, "said": "", "seconds": 0.1}
    assert results.together(log, {**log, "ok": False})["ok"] is False and results.together(log, log)["ok"]
