/* SPDX-License-Identifier: MIT */
/*
 * diff: two summaries side by side: what grew, what appeared, what shrank, what went.
 *
 * Groups are the same if their stacks name the same functions of modules of the same name (offsets where there is no
 * name); lines and addresses may differ, so that two builds can be compared, tags may not. Several groups of one side
 * that are the same so are added up. Objects with references are the same if the same stacks took and dropped them.
 *
 * A longer watch sees more of a leak. Where the two are not equally long (`by_rate`), a group that grows on either side, or may grow,
 * is compared by what it kept for each minute of its watch; it grew if that is more by a tenth, and by more than chance
 * makes of so few blocks. What does not grow is compared by bytes, as between watches of one length.
 */
#ifndef MM_DIFF_H
#define MM_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/model/summary.h"

/* name in JSON and CSV, word in the text */
#define DIFF_CHANGES(X)			\
	X(APPEARED, appeared)		\
	X(GREW, grew)			\
	X(SHRANK, shrank)		\
	X(WENT, went)			\
	X(SAME, same)

enum diff_change {
#define X(upper, lower) DIFF_##upper,
	DIFF_CHANGES(X)
#undef X
	DIFF_CHANGE_COUNT
};

struct diff_group {
	enum diff_change change;
	uint64_t old_blocks, old_bytes, new_blocks, new_bytes;
	bool rated;		/* compared by rate */
	double change_bytes;	/* for the order: new - old; of a rate what it comes to in the new watch */
	bool mixed;		/* its blocks have other verdicts, too: the worst is the group's */
	const struct summary_group *group;	/* one that shows the stack: of the new side where it is there */
};

/* Objects that the same places took and dropped. */
struct diff_refs {
	enum diff_change change;
	uint64_t old_objects, new_objects;
	const struct summary_refs *refs;	/* one that shows the places: of the new side where it is there */
	size_t order;				/* the same for the same data */
};

struct diff {
	const struct summary *old, *new;
	bool by_rate;				/* the watches are not equally long */
	struct diff_group *groups;		/* grown most first; those that shrank most last */
	size_t ngroups;
	struct diff_refs *refs;			/* likewise */
	size_t nrefs;
};

/* Both stay the caller's, and must outlive @out. 0 or -ENOMEM. */
must_check int diff_make(const struct summary *old, const struct summary *new, struct diff *out);
void diff_fini(struct diff *d);

/* What a group kept, in bytes, for each minute of the watch @s. */
double diff_rate(const struct summary *s, uint64_t bytes);

const char *diff_change_name(enum diff_change change);

/* 0, or -ENOMEM: a side is not whole, do not print it as if it were. */
int diff_error(const struct diff *d);

/* The stack that stands for objects: that of the most suspect place; one without frames, if none took or dropped any. */
const struct summary_use *diff_refs_use(const struct summary_refs *r);

#endif
