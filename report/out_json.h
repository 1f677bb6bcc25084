/* SPDX-License-Identifier: MIT */
/*
 * out_json: the summary as JSON, schema 1. A contract with other programs:
 * fields are added, never renamed; the schema's number says when meanings change.
 *
 *	{ "mmattach": {version, schema},
 *	  "target":   {pid, comm, exe, cmdline},
 *	  "run":      {start, seconds, frontend, mode, duty, events, lost: {reason: count}, stacks_cut,
 *	               stacks_lost, ring_waits, stopped_seconds, probes: [{family, rule, module, hits, note}], gaps: [{start, seconds, why}]},
 *	  "totals":   {allocs, frees, unmatched_frees, double_frees, live_blocks, live_bytes},
 *	  "groups":   [{family, blocks, bytes, bytes_direct, allocs, frees, oldest_s, youngest_s, verdict, series,
 *	                samples, stack_end, stack: [{pc, module, build_id, offset, function, file, line, inlined}]}],
 *	  "refs":     [],
 *	  "notes":    ["..."] }
 *
 * stack_end: "whole", or why the stack goes on beyond its last frame: "cut", "lost", "deep", "elsewhere".
 * Addresses are strings ("0x..."). What is not known is "" or 0, but a
 * probe's note, which is null where there is nothing to say. Always valid
 * UTF-8, whatever the target calls itself (base/strbuf.h).
 */
#ifndef MM_OUT_JSON_H
#define MM_OUT_JSON_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/summary.h"

/* Append the report. 0, or -ENOMEM also if the summary itself is not whole. */
must_check int out_json(const struct summary *s, struct strbuf *sb);

#endif
