/* SPDX-License-Identifier: MIT */
#include "attach/sampling/blocks/block_fate.h"

#define MS 1000000u
#define JOINED_MS 500u		/* for so long a block must have looked joined */
#define DOUBTS 8u		/* so many looks at a doubtful block, whether it is freed; then no more */

/* Has word @i changed to what it is now, since the last look or since birth? */
static bool has_become(const struct tracked_block *b, const struct chunkstate *now, unsigned i)
{
	return i < chunkstate_common(&b->state, now) && chunkstate_changed(&b->state, now) & 1u << i;
}

/* Has free written its links there since? */
static bool was_linked(struct block_fate_decide *j, const struct tracked_block *b,
		       const struct block_poll_found *k, const struct chunkstate *now)
{
	const bool linked = block_poll_linked(k);

	tcachekey_see(&j->key, &k->look, linked, b->stack);
	return (has_become(b, now, 1) && tcachekey_is(&j->key, &k->look)) ||
	       (has_become(b, now, 0) && linked);
}

/*
 * Does it seem to lie in a larger free chunk? Another thread may just be changing what is before it, so this
 * must last for a while.
 */
static bool is_joined(struct tracked_block *b, const struct block_poll_found *k, uint32_t age_ms)
{
	if (!block_poll_joined(k)) {
		b->flags &= (uint8_t)~TRACKED_JOINED;
		return false;
	}
	if (!(b->flags & TRACKED_JOINED))
		b->joined_ms = age_ms;
	b->flags |= TRACKED_JOINED;
	return age_ms - b->joined_ms >= JOINED_MS;
}

/* The counter of what certainly shows that it is gone, or NULL. */
static uint64_t *gone_by(struct block_fate_decide *j, struct tracked_block *b,
			 const struct block_poll_found *k, const struct chunkstate *now, uint32_t age_ms)
{
	const enum chunkstate_use use = chunkstate_use(&k->look, k->head);

	if (k->absent)
		return &j->sums->gone_unmapped;
	if (use == CHUNKSTATE_RESIZED)
		return &j->sums->gone_resized;
	if (use == CHUNKSTATE_FREE)
		return &j->sums->gone_freed;
	if (use == CHUNKSTATE_UNSEEN)
		return NULL;
	if (was_linked(j, b, k, now))
		return &j->sums->gone_linked;
	return is_joined(b, k, age_ms) ? &j->sums->gone_joined : NULL;
}

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

/* An age of more than 49 days is cut to that. */
static uint32_t age_of(const struct tracked_block *b, uint64_t now_ns)
{
	const uint64_t age_ms = now_ns > b->birth_ns ? (now_ns - b->birth_ns) / MS : 0;

	return age_ms < UINT32_MAX ? (uint32_t)age_ms : UINT32_MAX;
}

enum fate block_fate_decide(struct block_fate_decide *j, struct tracked_block *b,
			    const struct block_poll_found *k, uint64_t now_ns)
{
	const uint32_t age_ms = age_of(b, now_ns);
	struct chunkstate now;
	uint64_t *why;

	chunkstate_keep(&k->look, &now);
	why = gone_by(j, b, k, &now, age_ms);
	if (why) {
		++*why;
		return FATE_GONE;
	}
	j->sums->swapped += k->away;
	if (b->flags & TRACKED_JOINED || chunkstate_use(&k->look, k->head) == CHUNKSTATE_UNSEEN)
		return FATE_SAME;
	return compare(j, b, &now, age_ms);
}
