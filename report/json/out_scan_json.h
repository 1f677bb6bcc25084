/* SPDX-License-Identifier: MIT */
/*
 * out_scan_json: the report of a scan as JSON: that of a watch (report/json/out_json.h), and in addition:
 *
 *	"groups":   [{..., label, class, class_module, content, size_low, size_high, indirect_blocks,
 *	              indirect_bytes}]
 *	"scan":     {source: "process"|"core", core, threads, not_stopped, pauses, pause_seconds,
 *	             expected_seconds, memory: {copied, swapped, missing},
 *	             heap: {known, layout, other_allocator, adds_up, system, used, free: {blocks, bytes}, top,
 *	                    other, foreign, unseen, mmapped: {blocks, bytes, claimed},
 *	                    arenas: [{address, system, walked, used, fast, tcache, bins: {blocks, bytes}, top,
 *	                              other}]},
 *	             trace: {seconds_before, live, same, certain, resized},
 *	             python: {version, why_not, objects, bytes, arenas, arena_bytes, small, free_bytes,
 *	                      empty_bytes, unseen_bytes, differing, large, idle, other,
 *	                      types: [{name, objects, tracked, bytes, with, largest, largest_bytes,
 *	                               holders: [{type, pointers}]}]},
 *	             judged, not_judged,
 *	             verdicts: {definite, indirect, possible, reachable, unknown: {blocks, bytes}},
 *	             doubts: ["..."], problems: [{address, what}], more_problems}
 *	"pointers": [{address, block, where, total,
 *	              pointers: [{place, at, value, offset, block, tid, register, from_sp, module,
 *	                          module_offset, symbol, symbol_offset}],
 *	              chain: [the same], chain_has_root,
 *	              chain_is_ring}]				if it was asked (--who-points-at)
 *
 * label: what the blocks of a group have in common if no stack is known: a C++ class, which is then also in
 * class, or a size; null for groups with a stack. block: {address, size, verdict, label} or null.
 * other_allocator: one whose blocks are not listed, "jemalloc (libjemalloc.so.2)"; null if there is none.
 * trace: of a scan with --with-trace: how long before the scan the watch ended (null: not known), how many
 * blocks were live then, and how many blocks have the address and size of one of these now; of them `certain`
 * were lost already, so they are the same blocks; the others may have been freed and allocated again.
 * `resized` have the address of one and another size. null without a trace, or if no blocks could be listed.
 * python: CPython's objects by type (report/model/scan_python.h); null if there is no interpreter.
 * place: "block", "register", "stack", "data", "tls", "allocator". offset: value minus the address that was
 * asked for, or minus the beginning of the block that contains it. claimed is null if the allocator's own
 * figure was not found. In "run", mode is "scan", frontend "ptrace" or "core"; verdicts are as in a watch,
 * and watched has the blocks that have a stack.
 */
#ifndef MM_OUT_SCAN_JSON_H
#define MM_OUT_SCAN_JSON_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/json/json_frames.h"
#include "report/model/scan.h"

/*
 * Append the report, all of it whatever @top is. 0 or -ENOMEM, the latter also if the scan itself is
 * incomplete.
 */
must_check int out_scan_json(const struct scan_report *r, size_t top, struct strbuf *sb);

/* The same without the closing brace. @frames: as for json_stack (report/json/json.h). */
void json_scan(const struct scan_report *r, struct json_frames *frames, struct strbuf *sb);

#endif
