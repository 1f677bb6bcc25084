/* SPDX-License-Identifier: MIT */
/*
 * lookup: answers about single blocks and objects: all of one group of the report (--block-list), and those
 * in which given addresses lie (--block-at).
 *
 *	question ──▶ groups: which stack's blocks are in which ──▶ one walk through the table ──▶ answers
 *
 * The table may hold millions of blocks: it is walked once for all questions, and only the answers are
 * stored. Addresses are looked up among all live blocks, also those that the report leaves out; these are in
 * no group.
 *
 * Blocks of one family overlap only if a free was not seen. An address then belongs to the block that begins
 * last before it.
 */
#ifndef MM_LOOKUP_H
#define MM_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/taddr.h"
#include "report/ledger/ledger.h"
#include "report/model/groupmap.h"
#include "report/model/summary.h"

struct lookup_question {
	size_t entry;			/* number of the group whose blocks are listed; 0: none */
	const char *family;		/* the family of that group; NULL: the only one that has groups */
	const taddr *addrs;		/* addresses to look up */
	size_t naddrs;
};

struct lookup_block {
	taddr addr;
	uint64_t bytes;			/* of a block */
	int64_t net;			/* of an object */
	double age_s;
};

/* A stack that allocated a block; or what a stack did to an object. */
struct lookup_use {
	struct stack_view stack;	/* the summary's */
	uint64_t taken, dropped;
};

struct lookup_found {
	const char *family, *noun;	/* the summary owns them */
	bool refs;			/* an object; else a block */
	bool older, counted;		/* of an object: as in summary_refs */
	struct lookup_block block;
	enum verdict verdict;		/* of a block */
	size_t entry;			/* number of its group in the family; 0: the report leaves it out */
	size_t group;			/* index in summary.groups or summary.refs, if entry is not 0 */
	struct lookup_use *uses;
	size_t nuses;
};

struct lookup_at {
	taddr addr;
	struct lookup_found *found;	/* in the order of the families */
	size_t nfound;
	bool twice;			/* a block there was freed twice, */
	double twice_s;			/* the second time at this moment */
};

struct lookup {
	struct lookup_question question;
	char why[320];			/* what is wrong with the question */
	size_t part;			/* of the list: the family of the group (report/model/text_parts.h) */
	size_t *groups;			/* indices in summary.groups or summary.refs that have that number */
	size_t ngroups;
	struct lookup_block *list;	/* oldest first */
	size_t nlist;
	struct lookup_at *at;		/* in the order of the question */
	size_t nat;
};

/* What @q points to must outlive @lk. */
void lookup_init(struct lookup *lk, const struct lookup_question *q);
void lookup_fini(struct lookup *lk);

/*
 * Answer the question. @s is sorted; @groups says which of its groups a block is in. A block is in its group
 * only if it is @older_than_us. Groups of objects list their own objects. 0, also if there is no such group:
 * then @why is not empty; -ENOMEM.
 */
must_check int lookup_answer(struct lookup *lk, struct ledger *l, const struct groupmap *groups,
			     uint64_t older_than_us, bool keep_wrappers, struct summary *s);

/* The number of the group of @f, as the report has it: "[3]". @f->entry is not 0. */
void lookup_put_number(const struct summary *s, const struct lookup_found *f, struct strbuf *sb);

#endif
