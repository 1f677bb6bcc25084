/* SPDX-License-Identifier: MIT */
/*
 * naming: what the frames of the reported stacks are called.
 *
 * Done once, after the watch, file by file (symbolize/names.h): the files were
 * opened when they were first mapped, so it does not matter what became of them
 * since. Where no file is mapped, the target's own map of code that it made
 * (/tmp/perf-PID.map) is asked.
 */
#ifndef MM_NAMING_H
#define MM_NAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/modules.h"
#include "attach/stacks.h"
#include "attach/targetfs.h"
#include "base/cleanup.h"
#include "report/summary.h"

struct naming;

struct naming_options {
	bool debuginfod;
	int stop;		/* when this file becomes readable, names are given up; 0: none */
};

/*
 * Name all frames of @st for which @wanted[frame] is true. Strings go into the pool of @s, and so do notes on
 * files that gave no names. Nothing may change while the naming lives. 0 or -ENOMEM.
 */
must_check int naming_new(const struct stacks *st, const struct modules *ms, const struct targetfs *fs,
			  const bool *wanted, const struct naming_options *opt, struct summary *s, struct naming **out);
void naming_free(struct naming *n);

/* Frame number @frame as the report prints it: inlined ones first, the innermost at the front. How many; at least 1. */
size_t naming_frames(const struct naming *n, uint32_t frame, const struct summary_frame **frames);

#endif
