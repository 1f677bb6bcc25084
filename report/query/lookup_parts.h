/* SPDX-License-Identifier: MIT */
/*
 * lookup_parts: shared by the files of the lookup, and private to them.
 *
 *	lookup.c	the walk through the table, and the answers for addresses
 *	lookup_list.c	which group is meant, and its list
 */
#ifndef MM_LOOKUP_PARTS_H
#define MM_LOOKUP_PARTS_H

#include "report/names/rows.h"
#include "report/query/lookup.h"

/* A block of one family in which one of the addresses lies. */
struct lookup_hit {
	bool held;
	taddr addr;
	struct live_block block;
};

struct lookup_search {
	struct lookup *lk;
	const struct ledger *ledger;
	const struct groupmap *groups;
	uint64_t older_than_us;
	bool keep_wrappers;
	struct summary *summary;
	struct rows entries;
	taddr *spots;			/* the addresses in question, ascending, each once */
	size_t nspots;
	struct lookup_hit *hits;	/* by spot, by family */
	size_t list_size;
};

/* Find the group that is meant; if there is none, fill @why. 0 or -ENOMEM. */
must_check int lookup_find_entry(struct lookup_search *se);
/*
 * Are blocks of the group with this index in summary.groups listed? Blocks of one stack with several verdicts
 * are several groups there, with one number.
 */
bool lookup_lists_group(const struct lookup_search *se, size_t group);
/* Add a live block of that group to the list. 0 or -ENOMEM. */
must_check int lookup_list_block(struct lookup_search *se, taddr addr, const struct live_block *b);
/* Add the objects, if the group has objects, and sort the list. 0 or -ENOMEM. */
must_check int lookup_end_list(struct lookup_search *se);

#endif
