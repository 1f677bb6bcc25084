/* SPDX-License-Identifier: MIT */
#include "attach/sampling/blocks/block_fate.h"

#define DOUBTS 8u		/* so many looks at a doubtful block, whether it is freed; then no more */

/* Its first look, with which the others are compared. */
static void meet(struct block_fate_decide *j, struct tracked_block *b, const struct chunkstate *now)
{
	const struct chunkstate was = { .hashes = { b->was[0], b->was[1] }, .nwords = 2 };

	block_identity_learn(&j->identity, b->stack, now, b->flags & TRACKED_HEIR ? &was : NULL);
	b->flags |= TRACKED_LOOKED;
}

/* It is in use: is it the same block, or is that not known? */
static enum fate compare(struct block_fate_decide *j, struct tracked_block *b, const struct chunkstate *now,
			 uint32_t age_ms)
{
	enum block_identity_same same = IDENTITY_SAME;

	if (b->flags & TRACKED_LOOKED)
		same = block_identity_compare(&j->identity, b->stack, &b->state, now);
	else
		meet(j, b, now);
	b->state = *now;
	b->flags |= same == IDENTITY_ALIKE ? TRACKED_ALIKE : 0;
	j->sums->alike += same == IDENTITY_ALIKE;
	if (b->flags & TRACKED_DOUBTFUL)
		return ++b->doubts < DOUBTS ? FATE_SAME : FATE_UNKNOWN;
	if (same == IDENTITY_DIFFERENT) {
		b->flags |= TRACKED_DOUBTFUL;
		b->doubt_ms = age_ms;
		return FATE_SAME;
	}
	b->seen_ms = age_ms;
	b->looks += b->looks < UINT16_MAX;
	return FATE_SAME;
}

enum fate block_fate_decide(struct block_fate_decide *j, struct tracked_block *b, const struct block_look *l)
{
	if (l->sign >= BLOCK_FREED) {
		j->sums->gone_by[l->sign]++;
		return FATE_GONE;
	}
	j->sums->swapped += l->away;
	return l->sign == BLOCK_UNSEEN ? FATE_SAME : compare(j, b, &l->now, l->age_ms);
}
