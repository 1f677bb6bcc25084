/* SPDX-License-Identifier: MIT */
/*
 * out_diff_json: a difference for programs, with all groups, also those that did not change:
 *
 *	{ "mmattach": {version, schema},
 *	  "old", "new": {pid, comm, start, seconds, live_blocks, live_bytes},
 *	  "same_process": true if both are watches of one process (diff.h),
 *	  "changes": [{change, family, tag, old_blocks, old_bytes, new_blocks, new_bytes, wrappers, stack_end,
 *		       stack, verdict, verdict_mixed, by_rate, old_bytes_per_minute, new_bytes_per_minute}],
 *	  "ref_changes": [{change, family, old_objects, new_objects, wrappers, stack_end, stack}] }
 *
 * Stacks are as in out_json.h; for objects it is that of the most suspect call site.
 */
#ifndef MM_OUT_DIFF_JSON_H
#define MM_OUT_DIFF_JSON_H

#include "report/diff/diff.h"
#include "report/json/json_frames.h"

/* Append all of it to @sb, whatever @top is. 0 or -ENOMEM. */
must_check int out_diff_json(const struct diff *d, size_t top, struct strbuf *sb);

/* The same without the closing brace. @frames: as for json_stack (report/json/json.h). */
void json_diff(const struct diff *d, struct json_frames *frames, struct strbuf *sb);

#endif
