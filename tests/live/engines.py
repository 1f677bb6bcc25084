# SPDX-License-Identifier: MIT
"""Both engines: what the second one is not tested with, the files that are run with both, and what is equal in their
reports."""
import functools
import subprocess

from harness import MMATTACH

# The live tests in which equal reports are the point: `make check` runs them with both engines. None: all of a file.
BOTH = {
    "test_exact": None,
    "test_families": None,
    "test_free_stacks": None,
    "test_growth": None,
    "test_pooled": None,
    "test_replaced": None,
    "test_rules": None,
    "test_verdicts": None,
    "test_references": {"test_who_forgets", "test_older_objects_absolute", "test_addresses_used_again", "test_eight_threads",
                        "test_a_count_is_read_before_it_is_changed"},
    "test_scopes": {"test_between_marks", "test_marks_and_realloc", "test_marks_and_threads", "test_two_threads",
                    "test_two_modules"},
    "test_python_stacks": {"test_each_kind_of_frame", "test_two_hundred_frames", "test_code_that_is_made_again",
                           "test_the_same_frames_again"},
    "test_ruby_stacks": {"test_each_kind_of_frame", "test_two_hundred_frames"},
    "test_trace": {"test_live_and_from_the_trace", "test_shrunken", "test_double_frees_with_both_stacks"},
}

IN = "--in, and rules with `in`, are not followed in the kernel"
UNWINDER = "no thread waits, as another unwinder needs"
BUDGET = "a budget is kept by lifting traps"
KEEPER = "it is about the keeper, and there is none"
LATE = "a module that is loaded is probed some milliseconds later, and one that is gone by then was never seen"
EXIT = "a function of which an exit is not known is not watched, as the report says"
ENDED = "the target is not held at its end"
TRACER = "nothing traces the target: others may, and no other mmattach sees that it is watched"
PTRACE = "how a thread stops, or what handles SIGTRAP, does not matter"
FAST = "what takes seconds with ptrace is over before the second interim report"
BURST = "no thread waits: where the machine is busy, a burst is lost"
BEHIND = "the probe may be behind the changed instruction, which is run as it is"
KILLED = "after a kill the kernel takes the probes out some milliseconds later (test_uprobe has such tests)"

# file[::test[parameters]]: why it is not run with the second engine. A file's name stands for all of its tests.
NOT_BY_UPROBE = {
    "test_budget": BUDGET,
    "test_sampled": BUDGET,
    "test_sampled_trace": BUDGET,
    "test_reload": BUDGET,
    "test_follow::test_a_sampled_watch": BUDGET,
    "test_metrics::test_anew_and_at_the_end[budget]": BUDGET,
    "test_pooled::test_not_in_a_sample": BUDGET,
    "test_rules::test_inside": IN,
    "test_rules::test_inside_of_what_is_watched": IN,
    "test_scopes::test_inside_of_a_recursion": IN,
    "test_scopes::test_older_is_what_is_older": IN,
    "test_scopes::test_inside_of_either": IN,
    "test_scopes::test_inside_in_one_thread": IN,
    "test_rules::test_families_see_their_own": EXIT,
    "test_rules::test_within_a_family_one_call_counts": EXIT,
    "test_life::test_indirect": EXIT,
    "test_life::test_returns_to_made_code": EXIT,
    "test_life::test_returns_to_what_is_loaded_where_code_was_made": EXIT,
    "test_questions::test_another_allocator[tcmalloc]": EXIT,
    "test_families::test_loaded_unloaded_loaded_elsewhere": LATE,
    "test_life::test_dlopen": LATE,
    "test_life::test_opened_a_thousand_times": KEEPER,
    "test_trace::test_on_another_machine": LATE,
    "test_stacks::test_unloaded_and_back": LATE,
    "test_stacks::test_plugin_deleted_meanwhile": LATE,
    "test_stacks::test_by_another_unwinder": UNWINDER,
    "test_stacks::test_who_could_not_wait": UNWINDER,
    "test_stacks::test_the_other_stack_is_not_copied": UNWINDER,
    "test_life::test_leader_ended_before[dwfl]": UNWINDER,
    "test_life::test_leader_ended_before[check]": UNWINDER,
    "test_unwinders": UNWINDER,
    "test_verdict_watch::test_target_ends": ENDED,
    "test_verdict_watch::test_a_suppressed_leak_as_valgrind_and_lsan": ENDED,
    "test_start::test_old_words_at_the_end_are_no_roots": ENDED,
    "test_start::test_a_program_that_ends_at_once": ENDED,
    "test_start::test_what_holds_a_block_at_the_end": ENDED,
    "test_trace::test_an_interim_report_when_asked": TRACER,
    "test_errors::test_traced_already": TRACER,
    "test_scan::test_a_tracer_is_named": TRACER,
    "test_errors::test_watched_already": TRACER,
    "test_repair::test_a_watched_target_is_refused": TRACER,
    "test_life::test_own_handler_would_be_lost": PTRACE,
    "test_differs::test_own_function": BEHIND,
    "test_differs::test_libc": BEHIND,
    "test_errors::test_a_keeper": KEEPER,
    "test_kill::test_keeper_goes_with_it": KEEPER,
    "test_kill::test_keeper_killed_idle_target": KEEPER,
    "test_kill::test_keeper_killed_as_it_ends": KEEPER,
    "test_kill::test_all_stood_still": KEEPER,
    "test_kill::test_keeper_stopped_by_name": KEEPER,
    "test_stalled": KEEPER,
    "test_trace::test_interim_reports": FAST,
    "test_references::test_rotated": BURST,
    "test_kill::test_killed_at_random_moments": KILLED,
    "test_kill::test_killed_once_planted": KILLED,
    "test_kill::test_killed_under_the_storm": KILLED,
    "test_storms::test_killed_in_the_middle": KILLED,
}


@functools.cache
def has_uprobe():
    said = subprocess.run([MMATTACH, "--version"], capture_output=True, text=True, check=True)
    return "uprobe" in said.stdout.splitlines()[1].partition(";")[0]


def why_not(file, test):
    """Why @test of @file is not run with the second engine; @test with its parameters or without. Or None."""
    name = test.partition("[")[0]
    return next((NOT_BY_UPROBE[key] for key in (file, f"{file}::{name}", f"{file}::{test}") if key in NOT_BY_UPROBE), None)


def is_run_twice(file, test):
    return file in BOTH and (BOTH[file] is None or test in BOTH[file]) and not why_not(file, test)


# What two runs of the same program differ in: times, addresses, processes; and what the engines differ in by their
# nature: how hits are taken and what that costs.
DIFFERENT = {
    "pid", "tid", "start", "seconds", "allocs_per_minute", "engine", "engine_asked", "no_other_engine", "events_per_s", "growth", "growth_per_s", "youngest_s", "oldest_s", "age_s",
    "block_ages", "history", "stopped_s", "stopped_known", "thread_s", "hitting_threads", "hitting_s",
    "hitting_stopped_s", "worst_thread_s", "worst_thread_stopped_s", "probed_s", "ring_waits", "memory", "rss", "address", "addr", "ip", "sp", "first_s", "last_s", "at_s",
    "pause_s", "expected_s", "bytes_copied", "series", "examples", "pc",
}


def without_different(value):
    if isinstance(value, dict):
        return {key: without_different(item) for key, item in value.items() if key not in DIFFERENT}
    if isinstance(value, list):
        return [without_different(item) for item in value]
    return value


def differences(one, other, where=""):
    """Where two values are not equal, as "a.b[2]: 1, 2"."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return [found for key in one for found in differences(one[key], other[key], f"{where}.{key}")]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [found for i, pair in enumerate(zip(one, other)) for found in differences(*pair, f"{where}[{i}]")]
    return [] if one == other else [f"{where}: {one}, {other}"]


# of the second engine alone: what children of vfork did
UNSEEN = "in the memory of this one"


def same_report(one, other):
    """The differences of two reports, field by field; the order of groups that are equal in bytes does not count."""
    pair = [without_different(report) for report in (one, other)]
    for report in pair:
        report["notes"] = [note for note in report["notes"] if UNSEEN not in note]
        # the order, and so all numbers, are by how fast each grew
        report["groups"] = sorted(({**group, "number": 0, "row": 0} for group in report["groups"]), key=str)
        report["rows"] = sorted(({**row, "number": 0, "mark": "", "groups": len(row["groups"])} for row in report["rows"]), key=str)
    return differences(*pair)
