/* SPDX-License-Identifier: MIT */
/*
 * diff: two summaries side by side: what grew, appeared, shrank or went away.
 *
 * Groups are the same if their stacks name the same functions of modules of the same name (offsets where
 * there is no name) and have the same tag. Lines and addresses may differ, so that two builds can be
 * compared. Several groups of one side that are the same in this way are added up. Objects with references
 * are the same if their references were acquired and released at the same call sites (diff_refs.c).
 *
 * A longer watch sees more of a leak. If the two watches are not equally long (`by_rate`), a group that grows
 * on either side, or may grow, is compared by its live bytes per minute of watch; it grew if the increase is
 * more than a tenth, and more than chance explains for so few blocks. A group that does not grow is compared
 * by bytes, as between watches of equal length.
 *
 * What fills up, and blocks that replace older ones, have the highest rate at the beginning of a watch. So
 * if the rate of the shorter watch is the higher one, and the longer watch had as much when it had lasted as
 * long, the group is the same: the shorter watch cannot show more. Within the first span of a series this
 * is not known, and the rates decide.
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
	/* For the order: new - old; if rated, old is scaled to the length of the new watch. */
	double change_bytes;
	/* It is the same by rate, and grows in both watches: a leak that goes on. Bytes per minute, in each: */
	bool goes_on;
	double old_growth, new_growth;
	bool mixed;		/* its blocks have several verdicts; the group has the worst */
	bool several;		/* on the side of @group: stacks with the same functions, but other addresses */
	/* A group with this stack; that of the new side, if it exists there. */
	const struct summary_group *group;
	/* The n of its [n], whatever is shown: those that grew, then those that go on; 0: it has none. */
	size_t number;
	struct apart apart;	/* what tells its name from those of the others */
};

/* Objects whose references were acquired and released at the same call sites. */
struct diff_refs {
	enum diff_change change;
	uint64_t old_objects, new_objects;
	/* A group with these call sites; that of the new side, if it exists there. */
	const struct summary_refs *refs;
	size_t order;				/* makes the order the same for the same data */
	size_t number;				/* the n of its [n]: of those that grew; 0: it has none */
};

struct diff {
	const struct summary *old, *new;
	bool by_rate;				/* the watches are not equally long */
	/* They are of one process: the new one does not know the blocks that the old one left live. */
	bool same_process;
	struct diff_group *groups;		/* largest growth first, largest shrinkage last */
	size_t ngroups;
	struct diff_refs *refs;			/* likewise */
	size_t nrefs;
};

/* Both summaries stay the caller's, and must outlive @out. 0 or -ENOMEM. */
must_check int diff_make(const struct summary *old, const struct summary *new, struct diff *out);
void diff_fini(struct diff *d);

/* Is it, or are they, more than before? */
bool diff_is_more(enum diff_change change);

/* The rate at which a group gained its live @bytes, per minute of the watch @s. */
double diff_rate(const struct summary *s, uint64_t bytes);

/* How long the shorter watch was. */
double diff_equal_seconds(const struct diff *d);

const char *diff_change_name(enum diff_change change);

/* 0, or -ENOMEM: a side is incomplete; do not print it as if it were complete. */
int diff_error(const struct diff *d);

/*
 * The stack that represents the objects: that of the most suspect call site. It has no frames if there is no
 * call site.
 */
const struct summary_use *diff_refs_use(const struct summary_refs *r);

#endif
