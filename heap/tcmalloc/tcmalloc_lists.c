/* SPDX-License-Identifier: MIT */
/*
 * tcmalloc_lists: a free block's first word leads to the next one. Lists are: of each span; of the
 * transfer cache of each class, which are chains; of each class in each thread cache.
 */
#include <errno.h>
#include <stdlib.h>

#include "heap/tcmalloc/tcmalloc.h"

/* A thread cache: the bytes that it has, by its own count. */
#define CACHE_SIZE 4096u

/*
 * The list that begins with @at: of span @p, or of a class (@p NULL). Returns its length. A list of a class may have
 * blocks of others: C++'s operator delete(p, size) is believed, and programs have mistakes.
 */
static uint64_t follow(struct tcmalloc *g, const struct tcmalloc_span *p, taddr at, taddr from)
{
	uint64_t n = 0, i;

	while (at) {
		const struct tcmalloc_span *in = tcmalloc_block_at(g, at, &i);

		if (!in || (p && in != p)) {
			census_doubt(g->c, g->at_work, from,
				     "corrupt: a list of free blocks leads from here to what is none (" PRItaddr
				     ")", at);
			return n;
		}
		if (!tcmalloc_mark_free(g, in, i)) {
			census_doubt(g->c, g->at_work, at,
				     "corrupt: a block that is in two free lists, or twice in one");
			return n;
		}
		n++;
		from = at;
		if (!tcmalloc_word(g, at, &at)) {
			census_doubt(g->c, g->at_work, from, "tcmalloc's memory is not in the snapshot here");
			return n;
		}
	}
	return n;
}

static void count(struct census_sum *sum, uint64_t n, uint64_t size)
{
	sum->blocks += n;
	sum->bytes += n * size;
}

/*
 * A span without a block in use is just being made or released: all of its blocks are free, and its list
 * may be anything. It is not so for long.
 */
static void take_span(struct tcmalloc *g, const struct tcmalloc_span *p)
{
	uint64_t n = 0;

	if (p->used) {
		n = follow(g, p, p->objects, p->at);
		if (n + p->used != p->blocks)
			census_doubt(g->c, g->at_work, p->at,
				     "corrupt: a span counts %u blocks in use, and its list leaves %lu",
				     p->used, (unsigned long)(p->blocks - n));
	} else {
		for (; n < p->blocks; n++)
			(void)tcmalloc_mark_free(g, p, n);
		if (!g->at_work)
			tcmalloc_problem(g, p->at, "corrupt: a span of blocks counts none in use");
	}
	count(&g->c->arenas->bins, n, g->classes[p->class].size);
}

static void take_central(struct tcmalloc *g, unsigned class)
{
	const taddr at = g->central + class * TCMALLOC_CENTRAL_BYTES;
	const uint32_t used = (uint32_t)tcmalloc_word_or_0(g, at + TCMALLOC_CHAINS_USED);
	uint64_t n = 0;

	if (used > TCMALLOC_CHAINS_MOST) {
		census_doubt(g->c, g->at_work, at, "corrupt: a transfer cache has %u chains", used);
		return;
	}
	for (unsigned i = 0; i < used; i++) {
		const taddr chain = at + TCMALLOC_CHAINS + 16 * i;
		const uint64_t length = follow(g, NULL, tcmalloc_word_or_0(g, chain), chain);

		if (length != g->classes[class].batch)
			census_doubt(g->c, g->at_work, chain, "corrupt: a chain in a transfer cache has %lu blocks",
				     (unsigned long)length);
		n += length;
	}
	count(&g->c->arenas->bins, n, g->classes[class].size);
}

/*
 * A thread counts what its cache has: before it puts a chain into its cache, and after it has given one
 * back. So if it counts more than there is, it may have a chain in hand; if it counts less, by one block,
 * it is in free.
 */
static void take_cache(struct tcmalloc *g, struct tcmalloc_cache *c)
{
	const taddr at = c->at;
	const uint32_t counted = (uint32_t)tcmalloc_word_or_0(g, at + CACHE_SIZE);
	uint64_t bytes = 0;
	bool one_less = false;

	for (unsigned i = 1; i < g->nclasses; i++) {
		const taddr list = at + i * TCMALLOC_LIST_BYTES;
		const uint64_t n = follow(g, NULL, tcmalloc_word_or_0(g, list), list);

		count(&g->c->arenas->tcache, n, g->classes[i].size);
		bytes += n * g->classes[i].size;
	}
	for (unsigned i = 1; i < g->nclasses; i++)
		one_less |= bytes - counted == g->classes[i].size;
	c->lacks = g->at_work && bytes < counted;
	if (bytes != counted && !c->lacks && !(g->at_work && one_less))
		census_doubt(g->c, g->at_work, at,
			     "corrupt: a thread cache counts %u bytes, and its lists have %lu", counted,
			     (unsigned long)bytes);
}

int tcmalloc_mark(struct tcmalloc *g)
{
	g->bits = calloc(g->nbits / 64 + 1, sizeof(*g->bits));
	if (!g->bits)
		return -ENOMEM;
	for (size_t i = 0; i < g->nspans; i++)
		if (g->spans[i].class && !g->spans[i].place)
			take_span(g, &g->spans[i]);
	for (unsigned i = 1; i < g->nclasses; i++)
		take_central(g, i);
	for (size_t i = 0; i < g->ncaches; i++)
		take_cache(g, &g->caches[i]);
	return 0;
}
