/* SPDX-License-Identifier: MIT */
#include "heap/tcmalloc/tcmalloc_map.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(TCMALLOC_CHAINS_WORDS * 8 == TCMALLOC_CHAINS_USED - TCMALLOC_CHAINS + 8, "the count is the last word");

int tcmalloc_map_find(const struct snapshot *s, struct tcmalloc_map *out)
{
	struct census c;
	struct tcmalloc g = { .s = s, .c = &c, .cursor = snapshot_cursor_of(s) };
	int r;

	census_init(&c);
	r = tcmalloc_find(&g);
	*out = (struct tcmalloc_map){ .version = g.version, .nclasses = g.nclasses, .page_shift = g.page_shift,
				      .root = g.root, .central = g.central, .caches = g.caches_at,
				      .data_lo = g.data_lo, .data_hi = g.data_hi };
	memcpy(out->classes, g.classes, sizeof(out->classes));
	memcpy(out->unread, c.unread, sizeof(out->unread));
	free(g.caches);
	census_fini(&c);
	return r;
}

/* --- the way to a span --- */

uint64_t tcmalloc_map_leaf(const struct tcmalloc_map *m, taddr at)
{
	return at >> m->page_shift >> tcmalloc_leaf_bits(m->page_shift);
}

taddr tcmalloc_map_step(const struct tcmalloc_map *m, taddr at)
{
	return m->root + 8 * tcmalloc_map_leaf(m, at);
}

taddr tcmalloc_map_element(const struct tcmalloc_map *m, taddr leaf, taddr at)
{
	const uint64_t length = UINT64_C(1) << tcmalloc_leaf_bits(m->page_shift);

	return leaf + 8 * ((at >> m->page_shift) % length);
}

/* --- what the words say --- */

struct tcmalloc_place tcmalloc_map_place(const struct tcmalloc_map *m,
					 const uint64_t words[TCMALLOC_SPAN_WORDS], taddr at)
{
	const struct tcmalloc_span p = tcmalloc_span_of(words, m->page_shift);
	const struct tcmalloc_class *k = &m->classes[p.class < m->nclasses ? p.class : 0];
	const uint64_t size = p.class ? k->size : p.bytes;
	struct tcmalloc_place out = { .class = p.class, .objects = p.objects };
	uint64_t blocks;

	/* the span's struct may have been given away since the element was read, and so may the block */
	if (p.place || p.class >= m->nclasses || at - p.lo >= p.bytes || !size || (at - p.lo) % size)
		return (struct tcmalloc_place){ 0 };
	blocks = p.bytes / size;
	if ((at - p.lo) / size >= blocks || (p.class && p.bytes != k->pages << m->page_shift))
		return (struct tcmalloc_place){ 0 };
	out.size = size;
	out.free = p.class && p.used <= blocks ? blocks - p.used : 0;
	return out;
}

/* --- lists of free blocks --- */

taddr tcmalloc_map_list(taddr cache, unsigned class)
{
	return cache + class * TCMALLOC_LIST_BYTES;
}

uint32_t tcmalloc_map_listed(const uint64_t words[TCMALLOC_LIST_WORDS])
{
	return (uint32_t)words[1];
}

taddr tcmalloc_map_chains(const struct tcmalloc_map *m, unsigned class)
{
	return m->central + class * TCMALLOC_CENTRAL_BYTES + TCMALLOC_CHAINS;
}

uint32_t tcmalloc_map_chained(const uint64_t words[TCMALLOC_CHAINS_WORDS])
{
	const uint32_t n = (uint32_t)words[TCMALLOC_CHAINS_WORDS - 1];

	return n <= TCMALLOC_CHAINS_MOST ? n : 0;
}

/* --- thread caches --- */

bool tcmalloc_map_cache(const struct tcmalloc_map *m, const uint64_t words[TCMALLOC_CACHE_WORDS], taddr *next,
			taddr *prev)
{
	*next = words[m->version->next / 8];
	*prev = words[m->version->prev / 8];
	for (unsigned i = 1; i < m->nclasses; i++)
		if ((uint32_t)words[(i * TCMALLOC_LIST_BYTES + TCMALLOC_LIST_SIZE) / 8] != m->classes[i].size)
			return false;
	return true;
}
