/* SPDX-License-Identifier: MIT */
/*
 * ledger_verdicts: the verdicts of a snapshot. MMT_VERDICTS has the number of blocks that got one, MMT_JUDGED
 * the blocks. No verdict counts before all of them were read: half of them would make a leak look smaller
 * than it is.
 *
 * A verdict is stored with its block (live.h), also if the block is put aside meanwhile (realloc). What is
 * lost with a block is in a list of its own, since few blocks have any.
 */
#include <errno.h>
#include <stdlib.h>

#include "report/ledger/ledger_parts.h"

#define DOUBTS_MAX 1000
/*
 * For each block that is not in the table, all blocks put aside are searched. So many at most: there is one
 * for each thread in realloc.
 */
#define ASIDE_MAX 1024

#define X(upper, lower) _Static_assert((int)VERDICT_##upper == MMT_VERDICT_##upper, #lower);
VERDICTS(X)
#undef X

void ledger_look_fini(struct ledger_verdicts *look)
{
	free((void *)look->fact.sums);
	free((void *)look->fact.doubts);
	verdict_list_fini(&look->with);
	verdict_list_fini(&look->unknown);
	*look = (struct ledger_verdicts){ .changes = look->changes };
}

bool ledger_has_verdicts(const struct ledger *l)
{
	return l->look.wanted && l->look.fact.known && l->look.given == l->look.fact.judged;
}

enum verdict ledger_verdict(const struct ledger *l, const struct live_block *b)
{
	return ledger_has_verdicts(l) && b->verdict < VERDICT_COUNT ? b->verdict : VERDICT_UNKNOWN;
}

static bool next_with(const struct ledger *l, bool hanging, struct verdict_place *place,
		      struct verdict_block *out, struct live_block *b)
{
	while (ledger_has_verdicts(l) && verdict_list_next(&l->look.with, place, out))
		if ((out->verdict == VERDICT_INDIRECT) == hanging &&
		    ledger_holds(l, out->family, out->addr, b) && b->verdict == out->verdict)
			return true;
	return false;
}

bool ledger_next_leader(const struct ledger *l, struct verdict_place *place, struct verdict_block *out,
			struct live_block *b)
{
	return next_with(l, false, place, out, b);
}

bool ledger_next_hanging(const struct ledger *l, struct verdict_place *place, struct verdict_block *out,
			 struct live_block *b)
{
	return next_with(l, true, place, out, b);
}

/* --- a look --- */

static void forget_marks(struct ledger *l)
{
	uint64_t key;
	void *value;

	for (size_t i = 0; i < l->nbooks; i++)
		live_forget_verdicts(l->books[i].live);
	for (size_t at = 0; addrmap_next(&l->aside, &at, &key, &value);)
		((struct ledger_aside *)value)->block.verdict = VERDICT_UNKNOWN;
}

/* Discard the verdicts of an earlier snapshot. */
static int begin_anew(struct ledger *l)
{
	if (l->look.wanted && l->look.changes++ >= LEDGER_LOOKS_MAX)
		return -ENOSPC;
	if (l->look.marked)
		forget_marks(l);
	ledger_look_fini(&l->look);
	return 0;
}

static int keep_sums(const struct fact_verdicts *from, struct fact_verdicts *to)
{
	struct fact_sum *sums = calloc(VERDICT_COUNT, sizeof(*sums));

	if (!sums)
		return -ENOMEM;
	for (uint32_t i = 0; i < from->nsums && i < VERDICT_COUNT; i++)
		sums[i] = from->sums[i];
	to->sums = sums;
	to->nsums = VERDICT_COUNT;
	return 0;
}

static int keep_doubts(struct ledger *l, const struct fact_verdicts *from, struct fact_verdicts *to)
{
	uint32_t n = from->ndoubts < DOUBTS_MAX ? from->ndoubts : DOUBTS_MAX;
	const char **doubts = calloc((size_t)n + 1, sizeof(*doubts));

	if (!doubts)
		return -ENOMEM;
	to->doubts = doubts;
	for (uint32_t i = 0; i < n; i++) {
		doubts[i] = defs_string(&l->defs, from->doubts[i] ? from->doubts[i] : "");
		if (!doubts[i])
			return -ENOMEM;
		to->ndoubts = i + 1;
	}
	return 0;
}

static int keep_texts(struct ledger *l, const struct fact_verdicts *from, struct fact_verdicts *to)
{
	to->why_not = defs_string(&l->defs, from->why_not);
	to->allocator = defs_string(&l->defs, from->allocator);
	return (from->why_not && !to->why_not) || (from->allocator && !to->allocator) ? -ENOMEM : 0;
}

/* Each piece of a run repeats it. */
int ledger_take_verdicts(struct ledger *l, const struct fact_verdicts *look)
{
	int r;

	if (l->look.wanted && l->look.fact.number == look->number) {
		l->look.given += look->passed;
		return 0;
	}
	r = begin_anew(l);
	if (r < 0)
		return r;
	l->look.wanted = true;
	l->look.given = look->passed;
	l->look.fact = *look;
	l->look.fact.sums = NULL;
	l->look.fact.doubts = NULL;
	l->look.fact.nsums = l->look.fact.ndoubts = 0;
	r = keep_texts(l, look, &l->look.fact);
	if (r == 0)
		r = keep_sums(look, &l->look.fact);
	return r < 0 ? r : keep_doubts(l, look, &l->look.fact);
}

/* --- its blocks --- */

/* Few blocks are being resized: as many as there are threads. */
static bool mark_aside(struct ledger *l, taddr addr, enum verdict verdict)
{
	uint64_t key;
	void *value;

	for (size_t at = 0;
	     addrmap_count(&l->aside) <= ASIDE_MAX && addrmap_next(&l->aside, &at, &key, &value);) {
		struct ledger_aside *a = value;

		if (!a->held || a->family != l->family || a->addr != addr)
			continue;
		a->block.verdict = (uint8_t)verdict;
		return true;
	}
	return false;
}

static int judge(struct ledger *l, enum verdict verdict, const struct fact_judged *j)
{
	const struct verdict_block b = { l->family, verdict, j->addr, j->with_blocks, j->with_bytes };
	bool with = b.with_blocks && (verdict == VERDICT_DEFINITE || verdict == VERDICT_POSSIBLE ||
				      verdict == VERDICT_INDIRECT);

	l->look.given++;
	if (!live_set_verdict(l->books[l->family].live, j->addr, verdict) && !mark_aside(l, j->addr, verdict))
		return ledger_may_be_older(l, l->family, j->addr) ? verdict_list_add(&l->look.unknown, &b)
								  : 0;
	l->look.marked = true;
	return with ? verdict_list_add(&l->look.with, &b) : 0;
}

int ledger_take_judged(struct ledger *l, const struct fact *f)
{
	enum verdict verdict = f->judged.verdict < VERDICT_COUNT ? f->judged.verdict : VERDICT_UNKNOWN;
	int r = 0;

	if (!l->look.wanted || !l->look.fact.known || l->defs.families[l->family].refs)
		return -EINVAL;
	for (uint32_t i = 0; i < f->judged.n && r == 0; i++)
		r = judge(l, verdict, &f->judged.all[i]);
	return r;
}
