/* SPDX-License-Identifier: MIT */
/*
 * livenames: where the names of a live target's code come from: its files, opened when they were first
 * mapped and kept, so that it does not matter what became of them since; and the
 * map of the code that it made itself (/tmp/perf-PID.map).
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
	int stop;		/* when this file becomes readable, names are given up; 0: none */
	bool all;		/* name all frames; else those that the report needs */
};

/* Look up what has no names yet; they go to the recorder, and so do notes on what gave no names. 0 or -errno. */
must_check int livenames_run(struct recorder *r, const struct modules *ms, const struct targetfs *fs,
			     const struct livenames_options *opt);

#endif
