# SPDX-License-Identifier: MIT
"""Stacks and names: which code allocated, up to the outermost frame, whatever happened to the files."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

from harness import VICTIMS, Victim, last_for, slept_so_often, wait_for
from untouched import assert_untouched, wait_untraced

PATH = [f"path{n}" for n in range(9, -1, -1)]
OUTERMOST = ["__libc_start_call_main", "__libc_start_main", "_start"]


@pytest.fixture
def attach(watch):
    """attach(VICTIM, ARG...): a stack is one group here, whatever happens to its blocks."""
    def start(target, *args, **kwargs):
        return watch("-p", target.pid, "--verdicts", "no", *args, **kwargs).wait_watching()

    return start


def functions(group):
    return [frame["function"] for frame in group["stack"]]


def thread_state(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def group_of(report, function, depth=0):
    """The only group with @function at frame @depth."""
    found = [g for g in report["groups"] if len(g["stack"]) > depth and g["stack"][depth]["function"] == function]
    assert len(found) == 1, [functions(g) for g in report["groups"]]
    return found[0]


def watched(attach, target, *orders, args=()):
    """The report of a watch during which @target carried out @orders."""
    run = attach(target, *args)
    for order in orders:
        target.ask(order)
    report = run.finish()
    assert_untouched(target)
    return report


def without_version(names):
    """__libc_start_main@@GLIBC_2.34 and __libc_start_main_impl are one function."""
    return [re.sub(r"(_impl)?(@.*)?$", "", name) for name in names]


@pytest.mark.parametrize("name", ["paths", "paths_O0", "paths_Os"])
def test_the_whole_way_up(victim, attach, name):
    target = victim(name)
    group = group_of(watched(attach, target, "nested 50", args=["--sizes", "exact"]), "path9")
    assert (group["blocks"], group["bytes"], group["stack_end"]) == (50, 50 * 32, "whole")
    assert without_version(functions(group)) == [*PATH, "main", *OUTERMOST]
    assert all(frame["file"].endswith("tests/victims/paths.c") and frame["line"] > 0 for frame in group["stack"][:11])
    source = pathlib.Path(group["stack"][0]["file"]).read_text().splitlines()
    assert "malloc(32)" in source[group["stack"][0]["line"] - 1]
    target.end()


@pytest.mark.parametrize("unwinder", ["dwfl", "libunwind", "check"])
def test_by_another_unwinder(victim, attach, unwinder):
    """Slower, and the thread waits; but the stacks are the same, and every call is seen."""
    target = victim("paths")
    report = watched(attach, target, "nested 200", args=["--unwinder", unwinder])
    group = group_of(report, "path9")
    assert (group["blocks"], group["stack_end"]) == (200, "whole")
    assert without_version(functions(group)) == [*PATH, "main", *OUTERMOST]
    assert report["run"]["lost"] == {}
    target.end()


def test_stripped_has_no_names_but_places(victim, attach, tmp_path):
    shutil.copy(VICTIMS / "paths", tmp_path / "plain")
    subprocess.run(["strip", "-s", tmp_path / "plain"], check=True)
    target = victim(tmp_path / "plain")
    report = watched(attach, target, "nested 5")
    group = next(g for g in report["groups"] if g["blocks"] == 5)
    whole = subprocess.run(["nm", VICTIMS / "paths"], capture_output=True, text=True, check=True).stdout
    starts = {name: int(at, 16) for at, kind, name in re.findall(r"(\w+) ([tT]) (path\d|main)\n", whole)}
    for frame, name in zip(group["stack"], [*PATH, "main"]):
        assert frame["function"] == "", "a name that the file does not have"
        assert 0 < int(frame["offset"], 16) - starts[name] < 1000
    assert group["stack_end"] == "whole"
    target.end()


def test_cplusplus(victim, attach):
    target = victim("cpaths")
    report = watched(attach, target, "keep 7")
    group = next(g for g in report["groups"] if g["blocks"] == 7)
    names = functions(group)
    assert names[0].startswith("operator new"), names
    text = " < ".join(names)
    assert re.search(r"keep\(unsigned int\)::\{lambda\(int\)#1\}::operator\(\)\(int\) const", text), text
    assert re.search(r"paths::Shelf<int>::fill<keep\(unsigned int\)::\{lambda\(int\)#1\}>", text), text
    assert re.search(r" < keep\(unsigned int\) < main < ", text), text
    target.end()


def test_a_wrapper_is_not_the_place(victim, attach):
    """posix_memalign calls the allocator: the allocation site is the caller of posix_memalign."""
    target = victim("paths")
    group = group_of(watched(attach, target, "aligned 8"), "aligner")
    assert group["blocks"] == 8
    assert functions(group)[:2] == ["aligner", "main"]
    target.end()


def test_depth(victim, attach):
    target = victim("paths")
    report = watched(attach, target, "nested 5", args=["--depth", "3"])
    group = group_of(report, "path9")
    assert functions(group) == PATH[:3]
    assert group["stack_end"] == "deep"
    assert report["run"]["stacks_cut"] == 0
    target.end()


def test_depth_counts_what_is_shown(victim, attach):
    """posix_memalign's own frame is left out, and does not count for the depth."""
    target = victim("paths")
    group = group_of(watched(attach, target, "aligned 8", args=["--depth", "2"]), "aligner")
    assert functions(group) == ["aligner", "main"]
    target.end()


@pytest.mark.parametrize("unwinder", ["dwfl", "libunwind", "cfi"])
def test_from_the_first_instruction(watch, tmp_path, unwinder):
    """The memory that is read is the program's, not that of the process that started it."""
    run = watch("--unwinder", unwinder, "--report", tmp_path / "report", "--", VICTIMS / "paths")
    assert run.wait() == 0, run.said()
    report = json.loads((tmp_path / "report").read_text())
    assert report["groups"]
    for group in report["groups"]:
        assert group["stack_end"] == "whole"
        assert without_version(functions(group))[-2:] == OUTERMOST[1:], functions(group)


def stays_stopped(pid):
    """In one and the same stop for so long that it is not only the keeper which gets no processor; it waits for a second."""
    before = slept_so_often(pid)
    last_for(0.6)
    return slept_so_often(pid) == before and thread_state(pid) == "t"


@pytest.mark.parametrize("unwinder", ["dwfl", "libunwind", "check"])
def test_who_could_not_wait(victim, attach, unwinder):
    """Stopped for longer than threads wait: a stack read from a thread that runs again is discarded."""
    target = victim("paths")
    run = attach(target, "--unwinder", unwinder)
    target.say("walk 3000")
    wait_for(lambda: thread_state(target.pid) == "t", "it is stopped at a walk")
    os.kill(run.pid, signal.SIGSTOP)
    wait_for(lambda: stays_stopped(target.pid), "it waits for its stack")
    before = slept_so_often(target.pid)
    wait_for(lambda: slept_so_often(target.pid) > before, "it has gone on without")
    os.kill(run.pid, signal.SIGCONT)
    target.out.take(120)
    report = run.finish(limit=120)
    assert report["groups"] == []
    assert not [note for note in report["notes"] if re.search(r"ours differed where they agree on [1-9]", note)], report["notes"]
    assert any("could not wait" in note for note in report["notes"])
    assert report["run"]["stopped_s"] > 0.3
    assert_untouched(target)
    target.end()


def test_names_can_be_given_up(victim, watch, tmp_path):
    """A server that never answers, and Ctrl-C: there is a report, which says what is missing."""
    (tmp_path / "bin").mkdir()
    hangs = tmp_path / "bin/debuginfod-find"
    hangs.write_text("#!/bin/sh\nexec sleep 600\n")
    hangs.chmod(0o755)
    program = tmp_path / "plain"
    shutil.copy(VICTIMS / "paths", program)
    subprocess.run(["strip", "-s", program], check=True)
    target = victim(program)
    run = watch("-p", target.pid, "--debuginfod", env={**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}",
                                                       "DEBUGINFOD_URLS": "http://127.0.0.1:9"}).wait_watching()
    target.ask("nested 5")
    run.interrupt()
    wait_untraced(target.pid, 5)
    assert run.alive()
    report = run.finish(limit=5)
    assert any("a signal came while names were looked up" in note for note in report["notes"])
    assert next(g for g in report["groups"] if g["blocks"] == 5)["stack_end"] == "whole"
    target.end()


def test_cut_short_is_said(victim, attach):
    target = victim("paths_O0")
    report = watched(attach, target, "nested 20", args=["--stack-bytes", "128"])
    group = group_of(report, "path9")
    assert group["stack_end"] == "cut"
    assert functions(group) == PATH[:len(group["stack"])] and 1 <= len(group["stack"]) < 10
    assert report["run"]["stacks_cut"] == 20
    target.end()


def test_memory_that_ends_is_no_short_copy(victim, attach):
    """A larger --stack-bytes would not show more of it: so it is not called cut."""
    target = victim("paths")
    report = watched(attach, target, "edge 9")
    group = group_of(report, "on_the_edge")
    assert (group["blocks"], group["stack_end"]) == (9, "lost")
    assert (report["run"]["stacks_cut"], report["run"]["stacks_lost"]) == (0, 9)
    target.end()


def test_the_other_stack_is_not_copied(victim, attach):
    """For a handler on an alternate stack its own frames are known, and that there are more; an unwinder for
    which the thread waits sees all."""
    target = victim("sigpaths")
    report = watched(attach, target, "alternate 40")
    assert report["run"]["stacks_cut"] == 40
    assert report["run"]["stacks_lost"] == 0
    report = watched(attach, target, "alternate 40", args=["--unwinder", "dwfl"])
    assert report["run"]["stacks_cut"] == 0
    target.end()


def test_deep_stacks_are_learned(victim, attach):
    """Once the needed size is known, that much is copied; by default no stack is cut."""
    target = victim("paths")
    report = watched(attach, target, "walk 2000", "keep 200")
    assert report["run"]["stacks_cut"] == 0
    assert report["run"]["stacks_lost"] == 0
    assert sum(g["blocks"] for g in report["groups"] if "leaf" in functions(g)) >= 200
    assert all(g["stack_end"] == "whole" for g in report["groups"])
    target.end()


# --- files that have moved or changed ---


def leaked_by_plugin(report, blocks):
    group = next(g for g in report["groups"] if g["blocks"] == blocks)
    return functions(group)[:4]


def test_unloaded_module(victim, attach):
    target = victim("unload")
    plugin = VICTIMS / "libleak.so"
    report = watched(attach, target, f"leak {plugin} 11 40")
    assert leaked_by_plugin(report, 11) == ["take", "leak_some", "leak", "main"]
    target.end()


def test_unloaded_and_something_else_there(victim, attach, tmp_path):
    """Two files of the same form, one after the other at the same address: each keeps its own name."""
    shutil.copy(VICTIMS / "libleak.so", tmp_path / "first.so")
    shutil.copy(VICTIMS / "libleak.so", tmp_path / "second.so")
    target = victim("unload")
    report = watched(attach, target, f"leak {tmp_path}/first.so 3 40", f"leak {tmp_path}/second.so 5 40", "cover")
    for blocks, name in [(3, "first.so"), (5, "second.so")]:
        group = next(g for g in report["groups"] if g["blocks"] == blocks)
        assert group["stack"][0]["module"] == str(tmp_path / name)
        assert functions(group)[:2] == ["take", "leak_some"]
    target.end()


def test_unloaded_and_back(victim, attach):
    """The same file again, perhaps at another address, gives the same stack: one group."""
    plugin = VICTIMS / "libleak.so"
    target = victim("unload")
    report = watched(attach, target, f"leak {plugin} 3 40", f"leak {plugin} 4 40", "cover", f"leak {plugin} 6 40")
    assert leaked_by_plugin(report, 13) == ["take", "leak_some", "leak", "main"]
    target.end()


def test_what_it_gave_back_elsewhere_counts(victim, attach):
    """Loaded at another address, the same site freed all its blocks: the group still has the number of all
    allocations."""
    plugin = VICTIMS / "libleak.so"
    target = victim("unload")
    report = watched(attach, target, f"return {plugin} 30 40", "cover", f"leak {plugin} 3 40", "cover",
                     f"return {plugin} 20 40")
    group = next(g for g in report["groups"] if functions(g)[:1] == ["take"])
    assert (group["blocks"], group["allocs"], group["frees"]) == (3, 53, 50)
    target.end()


def test_made_code_where_a_module_was(victim, attach):
    """Generated code there is not taken for the code of the unloaded module."""
    target = victim("unload")
    report = watched(attach, target, f"return {VICTIMS}/libleak.so 5 40", "made 4")
    group = next(g for g in report["groups"] if g["blocks"] == 4)
    assert group["stack"][0]["module"] == "" and group["stack"][0]["function"] == "", group
    assert "leak_some" not in functions(group)
    target.end()


def test_plugin_deleted_meanwhile(victim, attach, tmp_path):
    shutil.copy(VICTIMS / "libleak.so", tmp_path / "gone.so")
    target = victim("unload")
    run = attach(target)
    target.ask(f"leak {tmp_path}/gone.so 9 40")
    (tmp_path / "gone.so").unlink()
    assert leaked_by_plugin(run.finish(), 9) == ["take", "leak_some", "leak", "main"]
    target.end()


def copy_of(tmp_path, name="paths"):
    shutil.copy(VICTIMS / name, tmp_path / "program")
    return tmp_path / "program"


def assert_named(report, blocks=50):
    group = next(g for g in report["groups"] if g["blocks"] == blocks)
    assert without_version(functions(group))[:11] == [*PATH, "main"], functions(group)
    assert group["stack"][0]["file"].endswith("paths.c")


def test_deleted_program(victim, attach, tmp_path):
    program = copy_of(tmp_path)
    target = victim(program)
    program.unlink()
    run = attach(target)
    target.ask("nested 50")
    assert_named(run.finish())
    target.end()


def test_replaced_program(victim, attach, tmp_path):
    """Upgraded on disk while it runs: the names are those of the running file."""
    program = copy_of(tmp_path)
    target = victim(program)
    shutil.copy(VICTIMS / "hot", tmp_path / "new")
    os.rename(tmp_path / "new", program)
    run = attach(target)
    target.ask("nested 50")
    assert_named(run.finish())
    target.end()


class Elsewhere(Victim):
    """A victim started by a command that puts it into a namespace or a chroot; its first line has its pid."""

    def expect_ready(self):
        line = self.out.take()
        assert line and line.startswith("ready "), f"{self.argv}: {line!r} {self.err.text(1)}"
        self.pid = int(line.split()[1])


@pytest.fixture
def elsewhere():
    started = []

    def start(*command):
        started.append(Elsewhere(*command))
        return started[-1]

    yield start
    for target in started:
        target.kill()


def test_chroot(elsewhere, attach, tmp_path):
    """Its path names another file, or none, in our root directory."""
    program = copy_of(tmp_path, "paths_static")
    target = elsewhere("/usr/sbin/chroot", tmp_path, f"/{program.name}")
    run = attach(target)
    target.ask("nested 50")
    report = run.finish()
    assert report["groups"][0]["stack"][0]["module"].endswith("/program")
    assert_named(report)
    target.end()


def test_mount_namespace(elsewhere, attach, tmp_path):
    """On a file system that only the target sees."""
    inside = tmp_path / "inside"
    inside.mkdir()
    script = f"mount -t tmpfs none {inside} && cp {VICTIMS}/paths {inside}/program && exec {inside}/program"
    target = elsewhere("/usr/bin/unshare", "-m", "sh", "-c", script)
    assert not (inside / "program").exists()
    run = attach(target)
    target.ask("nested 50")
    assert_named(run.finish())
    target.end()


@pytest.mark.parametrize("name", ["paths_static", "paths_static_pie"])
def test_static(victim, attach, name):
    target = victim(name)
    assert_named(watched(attach, target, "nested 50"))
    target.end()


def strip_into(tmp_path, *debug_sections):
    """A stripped copy, with the debug information in a file beside it."""
    program = copy_of(tmp_path)
    subprocess.run(["objcopy", "--only-keep-debug", program, tmp_path / "program.debug"], check=True)
    subprocess.run(["strip", "-s", program], check=True)
    return program


def test_separate_debug_file_by_link(victim, attach, tmp_path):
    program = strip_into(tmp_path)
    subprocess.run(["objcopy", "--add-gnu-debuglink=program.debug", program], check=True, cwd=tmp_path)
    (tmp_path / ".debug").mkdir()
    (tmp_path / "program.debug").rename(tmp_path / ".debug/program.debug")
    target = victim(program)
    assert_named(watched(attach, target, "nested 50"))
    target.end()


def build_id(program):
    notes = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True).stdout
    return re.search(r"Build ID: (\w+)", notes)[1]


def test_separate_debug_file_by_build_id(elsewhere, attach, tmp_path):
    """Below the target's own root, as in a container that has its own debug files."""
    program = copy_of(tmp_path, "paths_static")
    number = build_id(program)
    folder = tmp_path / "usr/lib/debug/.build-id" / number[:2]
    folder.mkdir(parents=True)
    subprocess.run(["objcopy", "--only-keep-debug", program, folder / f"{number[2:]}.debug"], check=True)
    subprocess.run(["strip", "-g", program], check=True)  # the allocator must be found by name
    target = elsewhere("/usr/sbin/chroot", tmp_path, "/program")
    run = attach(target)
    target.ask("nested 50")
    assert_named(run.finish())
    target.end()


def test_gnu_debugdata(victim, attach, tmp_path):
    """Function names only, compressed in the stripped file as in Fedora."""
    program = copy_of(tmp_path)
    names = subprocess.run(["nm", "--format=posix", "--defined-only", program], capture_output=True, text=True,
                           check=True).stdout
    keep = [line.split()[0] for line in names.splitlines() if line.split()[1] in "tT"]
    (tmp_path / "keep").write_text("\n".join(keep) + "\n")
    mini = tmp_path / "mini"
    subprocess.run(["objcopy", "-S", "--remove-section=.gdb_index", "--remove-section=.comment",
                    f"--keep-symbols={tmp_path}/keep", program, mini], check=True)
    subprocess.run(["objcopy", "--only-keep-debug", mini, mini], check=True)
    subprocess.run(["xz", mini], check=True)
    subprocess.run(["strip", "-s", program], check=True)
    subprocess.run(["objcopy", f"--add-section=.gnu_debugdata={mini}.xz", program], check=True)
    target = victim(program)
    report = watched(attach, target, "nested 50")
    group = next(g for g in report["groups"] if g["blocks"] == 50)
    assert without_version(functions(group))[:11] == [*PATH, "main"]
    assert group["stack"][0]["file"] == ""
    target.end()


# --- code that is in no file ---


def test_made_code(victim, attach):
    """The frame pointer leads through it, perf's map names it, and the report says that the frame pointer was
    used."""
    target = victim("jit")
    report = watched(attach, target, "framed 6")
    group = next(g for g in report["groups"] if g["blocks"] == 6)
    assert functions(group)[:2] == ["script:parse line 3", "main"]
    assert group["stack"][0]["module"] == ""
    assert group["stack_end"] == "whole"
    assert any("frame pointer" in note for note in report["notes"])
    target.end()


def test_made_code_that_is_made_again(victim, attach):
    """A function that was compiled twice is one function: its allocations are one group."""
    target = victim("jit")
    report = watched(attach, target, "tiers 6")
    of_tiers = {functions(group)[0]: group["blocks"] for group in report["groups"] if group["blocks"] >= 6}
    assert sorted(of_tiers.values()) == [6, 12], of_tiers
    assert "work app.js" in next(name for name, blocks in of_tiers.items() if blocks == 12)
    target.end()


def test_made_code_without_a_frame(victim, attach):
    """Its caller cannot be known: the end of the stack is marked, nothing is invented."""
    target = victim("jit")
    report = watched(attach, target, "bare 6")
    group = next(g for g in report["groups"] if g["blocks"] == 6)
    assert functions(group) == ["script:bare"]
    assert group["stack_end"] == "lost"
    assert report["run"]["stacks_lost"] == 6
    target.end()


def test_map_of_somebody_else(victim, attach, tmp_path):
    """A map that is a symbolic link, as another user could put into /tmp, is not followed."""
    target = victim("jit")
    path = pathlib.Path(f"/tmp/perf-{target.pid}.map")
    path.rename(tmp_path / "map")
    path.symlink_to(tmp_path / "map")
    try:
        report = watched(attach, target, "framed 6")
    finally:
        path.unlink()
    group = next(g for g in report["groups"] if g["blocks"] == 6)
    assert group["stack"][0]["function"] == ""
    assert any("no names for code made at run time" in note for note in report["notes"])
    target.end()


def test_the_name_by_which_it_was_started(victim, watch, tmp_path):
    """Of a file with several names, as redis-check-rdb, to which redis-server is a link: the kernel has the former."""
    shutil.copy(VICTIMS / "leaky_service", tmp_path / "check-rdb")
    (tmp_path / "server").symlink_to("check-rdb")
    target = victim(str(tmp_path / "server"))
    report = watch("-p", target.pid, "-d", "1s").finish(sig=None)
    modules = {frame["module"] for group in report["groups"] for frame in group["stack"]}
    assert str(tmp_path / "server") in modules and str(tmp_path / "check-rdb") not in modules
    assert_untouched(target)
