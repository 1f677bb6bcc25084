/* SPDX-License-Identifier: MIT */
#include "heap/glibc/chunkstate.h"

#include <stddef.h>

#define PREV_INUSE 1u
#define MMAPPED 2u
#define FLAGS 7u
#define MINSIZE 32u
#define ALIGN 16u
#define LOWEST 0x1000u		/* nothing is mapped below, and no program's memory from HIGHEST on */
#define HIGHEST ((1ull << 47) - 4096)

uint64_t chunkstate_size(uint64_t head)
{
	const uint64_t size = head & ~(uint64_t)FLAGS;

	return size >= MINSIZE && size % ALIGN == 0 && size < HIGHEST ? size : 0;
}

bool chunkstate_mapped(uint64_t head)
{
	return head & MMAPPED;
}

enum chunkstate_use chunkstate_use(const struct chunkstate_look *l, uint64_t head)
{
	if (!l->has_head)
		return CHUNKSTATE_UNSEEN;
	if (chunkstate_size(l->head) != chunkstate_size(head) ||
	    chunkstate_mapped(l->head) != chunkstate_mapped(head))
		return CHUNKSTATE_RESIZED;
	if (chunkstate_mapped(head))
		return CHUNKSTATE_IN_USE;
	if (!l->has_next)
		return CHUNKSTATE_UNSEEN;
	return l->next_head & PREV_INUSE ? CHUNKSTATE_IN_USE : CHUNKSTATE_FREE;
}

taddr chunkstate_before(const struct chunkstate_look *l)
{
	const uint64_t size = l->prev_size;

	if (!l->has_head || !l->has_prev_size || l->head & (PREV_INUSE | MMAPPED))
		return 0;
	if (size < MINSIZE || size % ALIGN || size > l->block - LOWEST)
		return 0;
	return l->block - 8 - size;
}

bool chunkstate_led(const struct chunkstate_look *l, uint64_t before)
{
	return chunkstate_size(before) == l->prev_size;
}

bool chunkstate_link(const struct chunkstate_look *l, taddr *to)
{
	if (!l->nwords)
		return false;
	*to = l->words[0] ^ l->block >> 12;
	return !*to || (*to % ALIGN == 0 && *to >= LOWEST && *to < HIGHEST);
}

/* Sixteen bits of a product, so that each bit of the word counts. */
static uint16_t hash(uint64_t word)
{
	word ^= word >> 32;
	word *= 0x9e3779b97f4a7c15u;
	word ^= word >> 29;
	word *= 0xbf58476d1ce4e5b9u;
	return (uint16_t)(word >> 48);
}

void chunkstate_keep(const struct chunkstate_look *l, struct chunkstate *out)
{
	taddr to;

	*out = (struct chunkstate){ .nwords = l->nwords, .link = chunkstate_link(l, &to) };
	for (unsigned i = 0; i < l->nwords; i++)
		out->hashes[i] = hash(l->words[i]);
	out->blank = out->link && l->nwords > 1 && !l->words[1];
}

unsigned chunkstate_common(const struct chunkstate *a, const struct chunkstate *b)
{
	return a->nwords < b->nwords ? a->nwords : b->nwords;
}

unsigned chunkstate_changed(const struct chunkstate *before, const struct chunkstate *now)
{
	unsigned changed = 0;

	for (unsigned i = 0; i < chunkstate_common(before, now); i++)
		changed |= (unsigned)(before->hashes[i] != now->hashes[i]) << i;
	return changed;
}
