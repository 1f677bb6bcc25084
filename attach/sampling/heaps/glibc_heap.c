/* SPDX-License-Identifier: MIT */
#include "attach/sampling/heaps/glibc_heap.h"

#include <errno.h>
#include <stdlib.h>

#include "attach/sampling/heaps/glibc_look.h"
#include "heap/glibc/tcachekey.h"

#define JOINED_MS 500u		/* for so long a block must have looked joined */
#define ALIGN 16u
#define PAGE 4096u
#define HIGHEST (1ull << 47)

struct glibc_heap {
	struct block_heap heap;
	struct tcachekey key;
	struct glibc_look looks[BLOCK_LOOKS];
};

/* --- when it is given out --- */

static bool born(struct block_heap *h, const struct block_hit *hit, struct block_birth *out)
{
	const uint64_t size = hit->has_head ? chunkstate_size(hit->head) : 0;
	const bool mapped = chunkstate_mapped(hit->head);

	if (!size || hit->addr % ALIGN || hit->addr < PAGE || hit->addr > HIGHEST - PAGE - size)
		return false;
	*out = (struct block_birth){ .heap = h, .addr = hit->addr, .bytes = size, .mapped = mapped,
				     .usable = size - (mapped ? 16 : 8) };
	if (hit->has_words)
		chunkstate_keep(&(struct chunkstate_look){ .block = hit->addr, .nwords = 2,
							   .words = { hit->words[0], hit->words[1] } },
				&out->words);
	return true;
}

/* --- what a look shows --- */

/* Has word @i changed to what it is now, since the last look or since birth? */
static bool has_become(const struct tracked_block *b, const struct chunkstate *now, unsigned i)
{
	return i < chunkstate_common(&b->state, now) && chunkstate_changed(&b->state, now) & 1u << i;
}

/* Has free written its links there since? */
static bool was_linked(struct glibc_heap *h, const struct tracked_block *b, const struct glibc_look *k,
		       const struct chunkstate *now)
{
	const bool linked = glibc_look_linked(k);

	tcachekey_see(&h->key, &k->look, linked, b->stack);
	return (has_become(b, now, 1) && tcachekey_is(&h->key, &k->look)) ||
	       (has_become(b, now, 0) && linked);
}

/*
 * Does it seem to lie in a larger free chunk? Another thread may just be changing what is before it, so this
 * must last for a while.
 */
static bool is_joined(struct tracked_block *b, const struct glibc_look *k, uint32_t age_ms)
{
	if (!glibc_look_joined(k)) {
		b->flags &= (uint8_t)~TRACKED_JOINED;
		return false;
	}
	if (!(b->flags & TRACKED_JOINED))
		b->joined_ms = age_ms;
	b->flags |= TRACKED_JOINED;
	return age_ms - b->joined_ms >= JOINED_MS;
}

static enum block_sign sign_of(struct glibc_heap *h, struct block_look *l, const struct glibc_look *k)
{
	const enum chunkstate_use use = chunkstate_use(&k->look, k->head);

	if (k->absent)
		return BLOCK_UNMAPPED;
	if (use == CHUNKSTATE_RESIZED)
		return BLOCK_RESIZED;
	if (use == CHUNKSTATE_FREE)
		return BLOCK_FREED;
	if (use == CHUNKSTATE_UNSEEN)
		return BLOCK_UNSEEN;
	if (was_linked(h, l->b, k, &l->now))
		return BLOCK_LINKED;
	if (is_joined(l->b, k, l->age_ms))
		return BLOCK_JOINED;
	return l->b->flags & TRACKED_JOINED ? BLOCK_UNSEEN : BLOCK_IN_USE;
}

static void note(struct glibc_heap *h, struct block_look *l, const struct glibc_look *k)
{
	chunkstate_keep(&k->look, &l->now);
	l->sign = sign_of(h, l, k);
	l->away = k->away;
}

static int look(struct block_heap *heap, struct remote_read *g, struct block_look *const *looks, size_t n)
{
	struct glibc_heap *h = (struct glibc_heap *)heap;
	int r;

	for (size_t i = 0; i < n; i++) {
		const struct tracked_block *b = looks[i]->b;

		h->looks[i].addr = b->addr;
		glibc_look_ask(&h->looks[i], tracked_bytes(b) | (b->flags & TRACKED_MAPPED ? 2 : 0));
	}
	r = glibc_look_read(g, h->looks, n);
	for (size_t i = 0; i < n && r == 0; i++)
		note(h, looks[i], &h->looks[i]);
	return r;
}

/* --- --- */

static void fini(struct block_heap *h)
{
	free(h);
}

int glibc_heap_new(struct block_heap **out)
{
	struct glibc_heap *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->heap = (struct block_heap){ .born = born, .look = look, .free = fini };
	*out = &h->heap;
	return 0;
}
