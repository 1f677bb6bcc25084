/* SPDX-License-Identifier: MIT */
/*
 * tcmalloc_hand: chains of blocks on their way between a thread cache and a central list. If the cache of
 * a thread has no block of a class, the thread takes a chain from the central list: once it has unlocked
 * that, nothing leads to the chain but registers and stack, until the cache counts it. (A transfer cache
 * counts one chain less before the thread reads where that is: then only its old element leads to the chain.)
 * If the cache has too many, the thread takes a chain from it, and returns all or some of it before it counts
 * that.
 *
 * A chain looks like a list of the program's, so this is never certain.
 */
#include "heap/atwork.h"
#include "heap/registers.h"
#include "heap/tcmalloc/tcmalloc.h"

#define WORDS 128u

/* The cache of the thread; NULL: it has none, or that is not known. */
static const struct tcmalloc_cache *cache_of(const struct tcmalloc *g, const struct snapshot_thread *t)
{
	for (size_t i = 0; i < g->ncaches; i++)
		if (g->caches[i].thread == t->regs.fs_base)
			return &g->caches[i];
	return NULL;
}

/* Can the thread of @c have a chain of the class in hand? */
static bool may_move(struct tcmalloc *g, const struct tcmalloc_cache *c, unsigned class)
{
	return !c || c->lacks || !tcmalloc_word_or_0(g, c->at + class * TCMALLOC_LIST_BYTES);
}

/*
 * At least two blocks of one class, no more than are moved at once, none of them in a list. That of a
 * cache which lacks some may still lead on to those that stay in it.
 */
static bool is_chain(struct tcmalloc *g, const struct tcmalloc_cache *c, taddr at)
{
	unsigned class = 0, n = 0;
	uint64_t i;

	while (at && n <= g->classes[class].batch) {
		const struct tcmalloc_span *p = tcmalloc_block_at(g, at, &i);

		if (!p || !p->class || (class && p->class != class))
			return false;
		class = p->class;
		if (tcmalloc_is_free(g, p, i)) {
			if (!c || !c->lacks)
				return false;
			break;
		}
		n++;
		if (!tcmalloc_word(g, at, &at))
			return false;
	}
	return n > 1 && n <= g->classes[class].batch && may_move(g, c, class);
}

/* The thread may have counted a chain of the transfer cache as taken, and not have read its address yet. */
static bool takes_chain(struct tcmalloc *g, const struct snapshot_thread *t, const struct tcmalloc_cache *c,
			unsigned class)
{
	const taddr at = g->central + class * TCMALLOC_CENTRAL_BYTES;
	uint32_t used;

	if (!registers_have_in(t, at, at + TCMALLOC_CENTRAL_BYTES - 1))
		return false;
	used = (uint32_t)tcmalloc_word_or_0(g, at + TCMALLOC_CHAINS_USED);
	return used < TCMALLOC_CHAINS_MOST && is_chain(g, c, tcmalloc_word_or_0(g, at + TCMALLOC_CHAINS + 16 * used));
}

static bool has_chain(struct tcmalloc *g, const struct snapshot_thread *t)
{
	const struct tcmalloc_cache *c = cache_of(g, t);
	uint64_t registers[REGISTERS];

	registers_general(t, registers);
	for (unsigned i = 0; i < REGISTERS; i++)
		if (is_chain(g, c, registers[i]))
			return true;
	for (unsigned i = 0; i < WORDS; i++)
		if (is_chain(g, c, tcmalloc_word_or_0(g, t->sp + 8 * i)))
			return true;
	for (unsigned i = 1; i < g->nclasses; i++)
		if (takes_chain(g, t, c, i))
			return true;
	return false;
}

/* Is the thread of @c one that is known and stopped? */
static bool has_thread(const struct tcmalloc *g, const struct tcmalloc_cache *c)
{
	for (size_t i = 0; i < g->s->nthreads; i++)
		if (g->s->threads[i].known && !g->s->threads[i].running && g->s->threads[i].regs.fs_base == c->thread)
			return true;
	return false;
}

void tcmalloc_look_for_chains(struct tcmalloc *g)
{
	for (size_t i = 0; i < g->s->nthreads; i++) {
		const struct snapshot_thread *t = &g->s->threads[i];

		/* what it has in its registers is not known */
		census_unsure(g->c, !t->known || t->running, t->regs.fs_base, "a thread was not stopped");
		if (t->known && atwork_is_in_file(g->s, t, g->file, g->data_lo, g->data_hi))
			census_unsure(g->c, has_chain(g, t), t->sp, "a thread may be moving blocks");
	}
	for (size_t i = 0; i < g->ncaches; i++)
		census_unsure(g->c, g->caches[i].lacks && !has_thread(g, &g->caches[i]), g->caches[i].at,
			      "a cache counts more blocks than it has, and its thread is not known");
}
