/* SPDX-License-Identifier: MIT */
/* suppress_entry: one suppression, and whether it matches a stack. Plain data. */
#ifndef MM_SUPPRESS_ENTRY_H
#define MM_SUPPRESS_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/model/summary.h"
#include "report/suppress/suppress.h"

#define SUPPRESS_LINES_MAX 24	/* frame lines of an entry; the same limit as valgrind's */

enum suppress_line_kind { SUPPRESS_ANY, SUPPRESS_FUN, SUPPRESS_OBJ, SUPPRESS_SRC };

struct suppress_line {
	enum suppress_line_kind kind;
	char *glob;			/* NULL for SUPPRESS_ANY: any number of frames */
	int number;			/* SUPPRESS_SRC: the line in the source, 0 for any */
};

struct suppress_entry {
	char *name;			/* or LeakSanitizer's pattern */
	char *where;			/* "file:line" */
	bool pattern;			/* it is LeakSanitizer's */
	bool kinds[2];			/* by enum suppress_kind */
	bool verdicts[VERDICT_COUNT];	/* that it matches; a leak without a verdict may be any of them */
	struct suppress_line lines[SUPPRESS_LINES_MAX];
	size_t nlines;
	uint64_t groups, blocks, bytes;	/* suppressed by it */
};

void suppress_entry_fini(struct suppress_entry *e);

bool suppress_entry_means(const struct suppress_entry *e, enum suppress_kind kind, enum verdict verdict,
			  const struct summary_frame *frames, size_t n);

#endif
