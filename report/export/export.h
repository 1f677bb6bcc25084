/* SPDX-License-Identifier: MIT */
/*
 * export: what the formats of other tools have in common: which numbers a group has there, and how its frames
 * are called.
 *
 * Their convention is four numbers for each stack: all that was allocated, and what is in use at the end. Of a
 * sampled run they are estimates, for the whole watch; what is in use is what is estimated to stay. A stack
 * whose blocks have several verdicts is several groups: what it allocated is with the first of them, so that
 * sums over all groups are those of the run. What is no memory (descriptors) has no bytes.
 */
#ifndef MM_EXPORT_H
#define MM_EXPORT_H

#include <stdint.h>

#include "base/strbuf.h"
#include "report/model/summary.h"

enum export_value {
	EXPORT_ALLOC_BLOCKS,
	EXPORT_ALLOC_BYTES,
	EXPORT_LIVE_BLOCKS,
	EXPORT_LIVE_BYTES,
	EXPORT_VALUES,
};

struct export_values {
	uint64_t of[EXPORT_VALUES];
};

struct export_values export_values(const struct summary *s, const struct summary_group *g);

/* The command line of the process, safe to print; its name if that is not known. */
void export_command(struct strbuf *sb, const struct summary *s);

/* "session_open", "svc+0x1310", "0x7f0012345678": as it is, not made safe for a terminal. */
void export_frame_name(struct strbuf *sb, const struct summary_frame *f);

/* The first frame behind the wrappers is index @i = 0. */
#define export_depth(stack) ((stack)->depth - (stack)->wrappers)
#define export_frame(stack, i) (&(stack)->frames[(stack)->wrappers + (i)])

/* What a stack without an end is called at its outer side, and one without frames. */
#define EXPORT_CUT "[...]"
#define EXPORT_NO_STACK "[no stack]"

#endif
