/* SPDX-License-Identifier: MIT */
/*
 * lookup: single blocks, and objects, that somebody asks for: all of an entry of the report (--block-list), and those
 * in which given addresses lie (--block-at).
 *
 *	question ──▶ groups notes whose blocks are whose ──▶ one pass through the table ──▶ answers
 *
 * The table may hold millions: it is gone through once, whatever was asked, and only the answers are kept. Addresses are
 * looked for in all that is held, also where the report leaves it out; then it is in no entry.
 *
 * Where blocks of one family overlap, which they do only if a release was not seen, an address is said to lie in the one
 * that begins last before it.
 */
#ifndef MM_LOOKUP_H
#define MM_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "base/taddr.h"
#include "report/ledger/ledger.h"
#include "report/model/groupmap.h"
#include "report/model/summary.h"

struct lookup_question {
	size_t entry;			/* number of the entry whose blocks are wanted; 0: none are */
	const char *family;		/* whose entry that is; NULL: of the only one that has any */
	const taddr *addrs;		/* where do these lie? */
	size_t naddrs;
};

struct lookup_block {
	taddr addr;
	uint64_t bytes;			/* of a block */
	int64_t net;			/* of an object */
	double age_s;
};

/* A stack that took a block; or what a stack did to an object. */
struct lookup_use {
	struct stack_view stack;	/* the summary's */
	uint64_t taken, dropped;
};

struct lookup_found {
	const char *family, *noun;	/* the summary's */
	bool refs;			/* an object; else a block */
	bool older, counted;		/* of an object: as in summary_refs */
	struct lookup_block block;
	enum verdict verdict;		/* of a block */
	size_t entry;			/* its number in the family; 0: the report leaves it out */
	size_t group;			/* index in summary.groups or summary.refs, if there is an entry */
	struct lookup_use *uses;
	size_t nuses;
};

struct lookup_at {
	taddr addr;
	struct lookup_found *found;	/* in the order of the families */
	size_t nfound;
	bool twice;			/* a block there was released twice, */
	double twice_s;			/* for the second time then */
};

struct lookup {
	struct lookup_question question;
	char why[320];			/* what is wrong with the question */
	size_t part;			/* of the list: whose entry it is (report/model/text_parts.h) */
	size_t *groups;			/* what the entry is: indices in summary.groups or summary.refs */
	size_t ngroups;
	struct lookup_block *list;	/* oldest first */
	size_t nlist;
	struct lookup_at *at;		/* as they were asked for */
	size_t nat;
};

void lookup_init(struct lookup *lk, const struct lookup_question *q);	/* what @q points to must outlive @lk */
void lookup_fini(struct lookup *lk);

/*
 * Answer, when @s is sorted; its groups are those of @groups. Blocks are of their group if they are @older_than_us. Groups of objects list theirs. 0, also if
 * there is no such entry: then @why is not empty; -ENOMEM.
 */
must_check int lookup_answer(struct lookup *lk, struct ledger *l, const struct groupmap *groups, uint64_t older_than_us, bool keep_wrappers, struct summary *s);

#endif
