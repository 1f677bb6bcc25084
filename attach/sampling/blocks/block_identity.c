/* SPDX-License-Identifier: MIT */
#include "attach/sampling/blocks/block_identity.h"

#include <stddef.h>

#define WORDS 2u		/* those that free overwrites */
#define FEW 3u			/* with fewer comparisons nothing is known */
#define MOST 200u		/* then all counts are halved: comparisons of long ago count less */
#define SELDOM 10u /* a word that is alike in at most one of so many comparisons tells blocks apart */

/* How often blocks were compared, and in how many of these comparisons each word was alike. */
struct tried {
	uint8_t n, alike[WORDS];
};

struct words {
	uint16_t last[WORDS];	/* the last block's */
	bool has_last;
	struct tried others, heirs;
};

void block_identity_init(struct block_identity *a)
{
	addrmap_init(&a->stacks, sizeof(struct words));
}

void block_identity_fini(struct block_identity *a)
{
	addrmap_fini(&a->stacks);
}

static void count(struct tried *t, const uint16_t was[WORDS], const uint16_t now[WORDS])
{
	if (t->n == MOST) {
		t->n /= 2;
		for (unsigned i = 0; i < WORDS; i++)
			t->alike[i] /= 2;
	}
	t->n++;
	for (unsigned i = 0; i < WORDS; i++)
		t->alike[i] += was[i] == now[i];
}

void block_identity_learn(struct block_identity *a, uint32_t stack, const struct chunkstate *now,
			  const struct chunkstate *was)
{
	struct words *w = addrmap_get(&a->stacks, stack);

	if (now->nwords < WORDS)
		return;
	if (!w && addrmap_count(&a->stacks) < IDENTITY_STACKS)
		w = addrmap_slot(&a->stacks, stack, NULL);
	if (!w)
		return;
	if (w->has_last)
		count(&w->others, w->last, now->hashes);
	if (was && was->nwords >= WORDS)
		count(&w->heirs, was->hashes, now->hashes);
	for (unsigned i = 0; i < WORDS; i++)
		w->last[i] = now->hashes[i];
	w->has_last = true;
}

static bool seldom(const struct tried *t, unsigned word)
{
	return t->alike[word] * SELDOM <= t->n;
}

/*
 * Does the word, which has not changed, tell blocks apart? Not if it was never written to: it is what free
 * has left there.
 */
static bool tells(const struct words *w, const struct chunkstate *now, unsigned word)
{
	if (!w || w->others.n < FEW || (word == 0 && now->link))
		return false;
	return seldom(&w->others, word) && seldom(&w->heirs, word);
}

enum block_identity_same block_identity_compare(const struct block_identity *a, uint32_t stack,
						const struct chunkstate *before, const struct chunkstate *now)
{
	const struct words *w = addrmap_get(&a->stacks, stack);
	const unsigned common = chunkstate_common(before, now), changed = chunkstate_changed(before, now);
	bool kept = false;

	for (unsigned i = 0; i < WORDS && i < common; i++) {
		if (changed & 1u << i)
			continue;
		if (tells(w, now, i))
			return IDENTITY_SAME;
		kept = true;
	}
	/* a blank block has no word that could have changed: it was written to for the first time */
	return kept || before->blank || !common ? IDENTITY_ALIKE : IDENTITY_DIFFERENT;
}
