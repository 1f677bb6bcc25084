/* SPDX-License-Identifier: MIT */
/*
 * out_json: the summary as JSON, schema 1. A contract with other programs:
 * fields are added, never renamed; the schema's number says when meanings change. doc/report.schema.json has them all, and tests hold reports against it.
 *
 *	{ "mmattach": {version, schema},
 *	  "target":   {pid, comm, exe, cmdline},
 *	  "run":      {start, seconds, frontend, mode, duty, events, lost: {reason: count}, stacks_cut,
 *	               stacks_lost, ring_waits, ranges_left_out, stopped_seconds, stopped_known, thread_seconds, hitting_threads, hitting_seconds, hitting_stopped_seconds, probes: [{family, rule, module, hits, note}], gaps: [{start, seconds, why}],
 *	               budget: {promise, spent, worst_ten_seconds, stopped_seconds, closed, closed_seconds, sites, sites_hit, settled, candidates, unfound},
 *	               verdicts: {taken, why_not, pause_seconds, expected_seconds, threads, not_stopped, bytes_copied, census, allocator,
 *	                          sums: {verdict: {blocks, bytes}}, watched: the same, doubts: ["..."]}},
 *	  "totals":   {allocs, frees, unmatched_frees, double_frees, live_blocks, live_bytes},
 *	  "runtime":  "CPython", "JVM", "Go", "V8" or null,
 *	  "memory":   {first: {at_s, anonymous, file, shared, swapped, heap}, last: the same, growth, series: [[seconds, bytes]], explained} or null,
 *	  "children": [{pid, name, first, last, growth, series}],
 *	  "groups":   [{family, tag, blocks, bytes, bytes_direct, allocs, frees, oldest_s, youngest_s, verdict, split,
 *	                indirect_blocks, indirect_bytes, indirect_groups: [{group, blocks, bytes}],
 *	                seen, turnover, why_unknown, estimate: {allocs_per_minute, kept_blocks_per_minute, kept_bytes_per_minute, may_keep_blocks_per_minute,
 *	                may_keep_bytes_per_minute, share_kept: [value, low, high], at_least, share_age_s, followed, followed_to_share_age,
 *	                share_seen, half_s}, survival: [{age_s, at_risk, gone, unknown}],
 *	                growth: {shape, bytes_per_minute, since_s}, series: [[seconds, bytes]], samples, wrappers, stack_end,
 *	                stack: [{pc, module, build_id, offset, function, linkage, file, line, inlined}]}],
 *	  "refs":     [{family, noun, objects, net, older, counted, oldest_s, youngest_s,
 *	                growth: {shape, references_per_minute, since_s}, series: [[seconds, references]], samples,
 *	                taken: [{per_object, count, kept, taken_in_all, several, as_many, module, module_taken, module_dropped,
 *	                         wrappers, stack_end, stack}],
 *	                dropped: [{per_object, count, wrappers, stack_end, stack}],
 *	                object_list: [{address, age_s, taken: [count], dropped: [count]}]}],
 *	  "ref_totals": [{family, taken, dropped, objects}],
 *	  "double_frees": [{family, count, sample, time_s, second, first, alloc: {stack_end, stack}}],
 *	  "suppressed": {groups, blocks, bytes, ref_groups, objects}, "filtered": the same,
 *	  "suppressions_used": [{name, where, groups, blocks, bytes}],
 *	  "notes":    ["..."],
 *	  "block_list_of", "block_list", "block_at": if single blocks were asked for (report/json/json_lookup.h) }
 *
 * stack_end: "whole", or why the stack goes on beyond its last frame: "cut", "lost", "deep", "elsewhere".
 * wrappers: so many frames at the front of the stack only pass the allocation on. shape: report/model/growth.h.
 * linkage is there where it is known and not the function's name. totals count what is suppressed and filtered too.
 * verdict: base/verdict.h. bytes are the group's own: those that are lost with its blocks are indirect_bytes, and have groups of their own; bytes_direct is 0 in
 * these; indirect_groups says which, by their index in groups, as far as that is known. The order of groups is that of the text report, and its numbers. Without verdicts there are no indirect_... and no split. split: allocs and frees are the stack's, and another group of it has them too; growth and series are the group's own. sums: all blocks of the process; watched: of these the
 * watched ones. why_not and allocator may be null.
 * refs: objects of one signature (report/model/summary.h); taken is most suspect first, and its first place the one whose series that is. object_list is there if it was asked for
 * (--per-object): its counts are in the order of taken and dropped. tag is null where there is none.
 * Groups of a scan (report/json/out_scan_json.h) have a label and more besides.
 * Sampled runs (run.mode "sampled") have run.budget, whose numbers are shares of the time, and of each group the members from seen to survival. duty: the mean
 * over sites that were hit. estimate: of each number its value, and between which two the true one lies in 95 of 100 cases; the last is null where nothing bounds
 * it; at_least: hits came in bunches, and it may be any number more. Kept are those that are known to stay: share_kept of all, at the age share_age_s, which
 * followed_to_share_age of the followed blocks have reached. Where turnover is "unknown" their value is null, low is 0, and high is as much as it may be: sums over
 * groups have what is known. may_keep_... are the same numbers, but of "unknown" groups those that would be kept if what is still there at share_age_s stayed: sums have
 * what is possible, too. share_seen: the part of all allocations there that was seen. half_s: half had gone by that age; null:
 * not so many have. turnover: "stays", "goes", "table" (stays, but nothing was added in the last fifth of the run) or "unknown" (report/sampling/survival.h). why_unknown:
 * the first reason for that, a word of report/model/unknown.h; else null. blocks, bytes,
 * allocs, frees and totals are those of followed blocks; growth is what follows from turnover and estimate. kept bytes are those of chunks, as the allocator
 * rounds them.
 * The files that the run was read from are not named: reports of one run are the same, whichever way they are made.
 * Addresses are strings ("0x..."). What is not known is "" or 0, but a
 * probe's note, which is null where there is nothing to say. ranges_left_out (of memory, taken by others than those who
 * were to be watched) is there only if there are any. Always valid
 * UTF-8, whatever the target calls itself (base/strbuf.h).
 */
#ifndef MM_OUT_JSON_H
#define MM_OUT_JSON_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/model/summary.h"

/* Append the report, all of it whatever @top is. 0, or -ENOMEM also if the summary itself is not whole. */
must_check int out_json(const struct summary *s, size_t top, struct strbuf *sb);

/* The same without the closing brace, for who has more members to add (report/json/out_scan_json.h). */
void json_summary(const struct summary *s, struct strbuf *sb);

#endif
