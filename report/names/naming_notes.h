/* SPDX-License-Identifier: MIT */
/*
 * naming_notes: notes on names that are missing or doubtful. Files with the same problem share one note: on
 * another machine, that may be every file.
 */
#ifndef MM_NAMING_NOTES_H
#define MM_NAMING_NOTES_H

#include <stddef.h>

#include "base/cleanup.h"
#include "trace/fact.h"

enum naming_lack { NAMING_NONE, NAMING_PARTLY, NAMING_DOUBTFUL };

struct naming_notes {
	struct naming_note *v;	/* in the order of their first occurrence */
	size_t n;
};

#define NAMING_NOTES_INIT { NULL, 0 }

/* The names of the file @path are incomplete or doubtful, because of @why. 0 or -ENOMEM. */
must_check int naming_notes_add(struct naming_notes *n, enum naming_lack lack, const char *path,
				const char *why);

/* All notes as facts for @put. 0, -ENOMEM, or what @put returned. */
must_check int naming_notes_put(const struct naming_notes *n, int (*put)(void *ctx, const struct fact *f),
				void *ctx);

void naming_notes_fini(struct naming_notes *n);

#endif
