/* SPDX-License-Identifier: MIT */
/*
 * livenames: where names of a live target's code are looked up: in its files, opened when they were first
 * mapped and left open, so that later changes to them do not matter; and in its map of code that was made at
 * run time (/tmp/perf-PID.map).
 */
#ifndef MM_LIVENAMES_H
#define MM_LIVENAMES_H

#include <stdbool.h>

#include "base/cleanup.h"

struct modules;
struct recorder;
struct targetfs;

struct livenames_options {
	bool debuginfod;
	int stop;		/* when this file becomes readable, the look-up is ended; 0: none */
	bool all;		/* name all frames; otherwise those that the report needs */
	bool freed;		/* it needs those of all that was allocated, also if none of it is live */
};

/*
 * Look up the frames that have no names yet. The recorder gets the names, and notes on files without names. 0
 * or -errno.
 */
must_check int livenames_run(struct recorder *r, const struct modules *ms, const struct targetfs *fs,
			     const struct livenames_options *opt);

#endif
