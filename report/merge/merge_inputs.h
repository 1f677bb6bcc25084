/* SPDX-License-Identifier: MIT */
/*
 * merge_inputs: which of the files to merge are pieces of one run. The head of each is read; pieces with the
 * same run id are one input. A file without a head is an input of its own, and what is wrong with it is found
 * when it is read.
 */
#ifndef MM_MERGE_INPUTS_H
#define MM_MERGE_INPUTS_H

#include <stddef.h>

#include "base/cleanup.h"
#include "report/merge/merge.h"

struct merge_run {
	const char **paths;		/* as they were given */
	size_t n;
	const char *label;		/* of the first one, */
	const struct merge_absent *process;	/* likewise */
};

struct merge_inputs {
	struct merge_run *runs;		/* not in the order in which they were given */
	size_t n;
	const char **paths;		/* of all of them */
};

/* 0 or -ENOMEM; merge_inputs_fini in any case. Strings stay the caller's. */
must_check int merge_inputs_make(const struct merge_input *in, size_t n, struct merge_inputs *out);
void merge_inputs_fini(struct merge_inputs *m);

#endif
