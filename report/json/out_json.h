/* SPDX-License-Identifier: MIT */
/*
 * out_json: the summary as JSON, schema 1. A contract with other programs: fields are added, never renamed;
 * the schema's number changes if meanings do. doc/report.schema.json has all fields, and tests check reports
 * against it.
 *
 *	{ "mmattach": {version, schema},
 *	  "target":   {pid, comm, exe, cmdline},
 *	  "run":      {start, seconds, host, frontend, mode, duty, events, lost: {reason: count}, stacks_cut,
 *	               stacks_lost, ring_waits, ranges_left_out, stopped_seconds, stopped_known,
 *	               thread_seconds, hitting_threads, hitting_seconds, hitting_stopped_seconds,
 *	               probes: [{family, rule, module, hits, note}], gaps: [{start, seconds, why}],
 *	               budget: {promise, spent, worst_ten_seconds, stopped_seconds, closed, closed_seconds,
 *	                        sites, sites_hit, settled, candidates, unfound},
 *	               verdicts: {taken, why_not, pause_seconds, expected_seconds, threads, not_stopped,
 *	                          bytes_copied, census, allocator, sums: {verdict: {blocks, bytes}},
 *	                          watched: the same, doubts: ["..."]}},
 *	  "totals":   {allocs, frees, unmatched_frees, double_frees, live_blocks, live_bytes},
 *	  "runtime":  "CPython", "JVM", "Go", "V8" or null,
 *	  "memory":   {first: {at_s, anonymous, file, shared, swapped, heap}, last: the same, growth,
 *	               series: [[seconds, bytes]], explained,
 *	               code_copied} or null,
 *	  "children": [{pid, name, first, last, growth, series}],
 *	  "groups":   [{number, family, tag, blocks, bytes, bytes_direct, allocs, frees, bytes_taken,
 *	                bytes_returned, oldest_s, youngest_s, verdict, split, indirect_blocks, indirect_bytes,
 *	                indirect_groups: [{group, blocks, bytes}],
 *	                seen, turnover, why_unknown,
 *	                estimate: {allocs_per_minute, kept_blocks_per_minute, kept_bytes_per_minute,
 *	                           may_keep_blocks_per_minute, may_keep_bytes_per_minute,
 *	                           share_kept: [value, low, high], at_least, share_age_s, needed_age_s,
 *	                           followed, followed_to_share_age, share_seen, half_s},
 *	                survival: [{age_s, at_risk, gone, unknown}],
 *	                growth: {shape, bytes_per_minute, since_s}, series: [[seconds, bytes]], samples,
 *	                wrappers, stack_end,
 *	                stack: [{pc, module, build_id, offset, function, linkage, file, line, inlined}],
 *	                freed_by: [{blocks, bytes, wrappers, stack_end, stack}]}],
 *	  "refs":     [{number, family, noun, objects, net, older, counted, oldest_s, youngest_s,
 *	                growth: {shape, references_per_minute, since_s}, series: [[seconds, references]],
 *	                samples,
 *	                taken: [{per_object, count, kept, taken_in_all, several, as_many, module,
 *	                         module_taken, module_dropped, wrappers, stack_end, stack}],
 *	                dropped: [{per_object, count, wrappers, stack_end, stack}],
 *	                object_list: [{address, age_s, taken: [count], dropped: [count]}]}],
 *	  "ref_totals": [{family, taken, dropped, objects}],
 *	  "double_frees": [{family, count, sample, time_s, second, first, alloc: {stack_end, stack}}],
 *	  "suppressed": {groups, blocks, bytes, ref_groups, objects}, "filtered": the same,
 *	  "suppressions_used": [{name, where, groups, blocks, bytes}],
 *	  "notes":    ["..."],
 *	  "block_list_of", "block_list", "block_at": if single blocks were asked for
 *	              (report/json/json_lookup.h) }
 *
 * stack_end: "whole", or why the stack goes on beyond its last frame: "cut", "lost", "deep", "elsewhere".
 * wrappers: the number of frames at the front of the stack that only forward the allocation. shape:
 * report/model/growth.h. linkage is present if it is known and differs from the function's name. totals
 * include what is suppressed and filtered.
 * verdict: base/verdict.h. bytes are the group's own: blocks that are lost with its blocks are counted in
 * indirect_bytes, and have groups of their own, in which bytes_direct is 0; indirect_groups has these by
 * their index in groups, as far as they are known. number: [n] of the text report, where groups of one
 * stack may be one (report/model/by_stack.h). Without verdicts there are no indirect_... and no split.
 * split: allocs and frees are the stack's, and another group of it has them too; growth and series are the
 * group's own. sums: all blocks of the process; watched: the watched ones of these. why_not and allocator may be null.
 * refs: objects of one signature (report/model/summary.h); taken has the most suspect call site first, and
 * series is that of this call site. object_list is present if it was asked for (--per-object): its counts are
 * in the order of taken and dropped. tag is null if there is none.
 * Groups of a scan (report/json/out_scan_json.h) have a label and other additional members. bytes_taken and
 * bytes_returned: only of ranges of memory, what was mapped and unmapped over the run.
 *
 * Sampled runs (run.mode "sampled") have run.budget, whose promise, spent and worst_ten_seconds are shares of
 * the time, and in each group the members from seen to survival. duty: the mean over sites that were hit.
 * estimate: each number is its value and the two ends of its 95 % confidence interval; the last is null if it
 * has no bound; at_least: hits came in bunches, and the true number may be any higher one. kept_...: those
 * known to stay live, which are share_kept of all, at the age share_age_s; followed_to_share_age of the
 * tracked blocks have reached this age; "stays" needs enough at needed_age_s. If turnover is "unknown", their
 * value is null, low is 0, and high is the possible maximum: a sum over groups has only what is known.
 * may_keep_... are the same numbers, but for "unknown" groups as if all that is still there at share_age_s
 * stayed live: a sum also has what is possible.
 * share_seen: the part of all allocations there that was seen. half_s: the age by which half had been freed;
 * null: fewer have. turnover: "stays" (leaks), "goes" (freed), "table" (bounded: stays, but nothing was added
 * in the last fifth of the run, at least) or "unknown" (report/sampling/survival.h). why_unknown: the first reason for
 * "unknown", a name of report/model/unknown_reason.h; else null. blocks, bytes, allocs, frees and totals are
 * those of tracked blocks; growth follows from turnover and estimate. Kept bytes are those of chunks, as the
 * allocator rounds them.
 * The files from which the run was read are not named: reports of one run are the same, however made.
 * Addresses are strings ("0x..."). What is not known is "" or 0, except a probe's note, which is null if
 * there is none. ranges_left_out (ranges of memory allocated outside the selected scope) is present only if
 * there are any. Always valid UTF-8, whatever the target calls itself (base/strbuf.h).
 */
#ifndef MM_OUT_JSON_H
#define MM_OUT_JSON_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/json/json_frames.h"
#include "report/model/summary.h"

/*
 * Append the report, all of it whatever @top is. 0 or -ENOMEM, the latter also if the summary itself is
 * incomplete.
 */
must_check int out_json(const struct summary *s, size_t top, struct strbuf *sb);

/*
 * The same without the closing brace, for a caller that adds more members (report/json/out_scan_json.h).
 * @frames: as for json_stack; with a table the report is for a page (report/html): then a group has also
 * "bytes_allocated", of all its allocations, and series are without points that a curve does not need.
 */
void json_summary(const struct summary *s, struct json_frames *frames, struct strbuf *sb);

#endif
