# SPDX-License-Identifier: MIT
"""Three unwinders on the same stacks: ours, libdwfl's, libunwind's (--unwinder check).

Wherever the two oracles agree, ours must agree with them, frame by frame: on thousands of stacks of victims
of every kind, and of real services.
"""
import re

import pytest

from gluster import Gluster
from harness import VICTIMS
from interpreter import Python
from openvswitch import Ovs
from service import missing

# Stacks on which ours may differ although the oracles agree: (a module's name, why they are wrong). None is
# known.
EXCEPTIONS = []

WANTED = 5000
compared = {}


def what_differed(run):
    """The differing stacks as printed by --debug=unwind."""
    return "\n".join(line for line in run.err.all if re.search(r"differ|  (cfi|dwfl|libunwind) ", line))


def result(report):
    note = next(note for note in report["notes"] if note.startswith("unwinders: "))
    return [int(n) for n in re.findall(r"\d+", note)]


def judge(name, run):
    stacks, distinct, oracles_differ, ours_differ = result(run.finish(limit=120))
    compared[name] = stacks
    assert ours_differ == 0 or EXCEPTIONS, what_differed(run)
    assert stacks > 0
    return stacks, distinct, oracles_differ


def check(attach, target):
    return attach(target, "--unwinder", "check", "--debug=unwind")


@pytest.mark.parametrize("name", ["paths", "paths_O0", "paths_Os", "paths_static", "cpaths", "cpaths_O0", "cpaths_Os"])
def test_walks(victim, attach, name):
    target = victim(name)
    run = check(attach, target)
    target.ask("walk 150", limit=120)
    stacks, distinct, oracles_differ = judge(name, run)
    # libunwind needs .eh_frame_hdr, which a static program does not have
    assert oracles_differ == (stacks if name == "paths_static" else 0), what_differed(run)[:20000]
    assert distinct > 50
    target.end()


@pytest.mark.parametrize("order", ["own", "alternate"])
@pytest.mark.parametrize("name", ["sigpaths", "sigpaths_O0", "sigpaths_Os"])
def test_interrupted_anywhere(victim, attach, name, order):
    target = victim(name)
    run = check(attach, target)
    target.ask(f"{order} 150", limit=120)
    stacks, distinct, oracles_differ = judge(f"{name} {order}", run)
    assert oracles_differ <= stacks / 100, what_differed(run)[:20000]
    assert distinct > 20
    target.end()


def test_rust(victim, attach):
    if not (VICTIMS / "rusty").exists():
        pytest.skip("optional: no rustc was there")
    target = victim("rusty")
    run = check(attach, target)
    target.ask("walk 150", limit=120)
    stacks, distinct, oracles_differ = judge("rusty", run)
    assert oracles_differ <= stacks / 100, what_differed(run)[:20000]
    assert distinct > 50
    target.end()


@pytest.mark.parametrize("service", [Gluster, Ovs, Python])
def test_real_services(watch, tmp_path, service):
    if missing(*service.needs):
        pytest.skip(f"not installed: {' '.join(missing(*service.needs))}")
    with service(tmp_path) as running:
        # glusterfs has a handler that prints its state when it dies of a SIGTRAP
        run = watch("-p", running.pid, "--unwinder", "check", "--debug=unwind", "--lose-sigtrap").wait_watching()
        running.load(6)
        stacks, distinct, oracles_differ = judge(service.__name__, run)
        assert oracles_differ <= stacks / 100, what_differed(run)[:20000]
        assert distinct > 50
        assert running.load(1) > 0


def test_enough_were_compared():
    """Runs last: how many stacks the tests above have seen."""
    if len(compared) < 10:
        return  # only some of them were selected
    print(sum(compared.values()), compared)
    assert sum(compared.values()) >= WANTED
