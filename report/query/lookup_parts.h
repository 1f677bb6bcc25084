/* SPDX-License-Identifier: MIT */
/*
 * lookup_parts: what the files of the lookup have in common; for them alone.
 *
 *	lookup.c	the pass through the table, and what is said of an address
 *	lookup_list.c	which entry is meant, and its list
 */
#ifndef MM_LOOKUP_PARTS_H
#define MM_LOOKUP_PARTS_H

#include "report/model/entries.h"
#include "report/query/lookup.h"

/* A block of one family in which an asked address lies. */
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
	struct entries entries;
	taddr *spots;			/* addresses that are asked for, ascending, each once */
	size_t nspots;
	struct lookup_hit *hits;	/* by spot, by family */
	size_t list_size;
};

/* Find the entry that is meant, and what it is; else @why is filled. 0 or -ENOMEM. */
must_check int lookup_find_entry(struct lookup_search *se);
/* The group whose blocks are listed, as index in summary.groups + 1; 0: no blocks are. */
size_t lookup_lists_blocks(const struct lookup_search *se);
/* A block that is held, and of the list. 0 or -ENOMEM. */
must_check int lookup_list_block(struct lookup_search *se, taddr addr, const struct live_block *b);
/* The objects of the list, and its order. 0 or -ENOMEM. */
must_check int lookup_end_list(struct lookup_search *se);

#endif
