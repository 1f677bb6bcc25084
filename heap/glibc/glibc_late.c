/* SPDX-License-Identifier: MIT */
/*
 * What is found to be free after the walk.
 *
 *	a tcache without a thread	the thread ends: it has cleared its pointer, and frees one chunk after
 *					the other; or the thread's registers are not known. It is a block of
 *					just that size, whose words lead to chunks that have a tcache's key
 *	a detached fastbin		malloc_consolidate detaches a whole list, and has it in a register. It
 *					is found as chunks that lead to each other and then to nothing, from a
 *					thread's registers or the end of its stack; the remains there of
 *					another list, long after, may begin like one
 *	the rest of a lost list		if a link in a tcache is overwritten: blocks that have the key
 *
 * What is likely to be free and was not found is a doubt: the census does not add up.
 */
#include "heap/glibc/glibc.h"
#include "heap/registers.h"

#include <errno.h>
#include <stdlib.h>

/* the key is the tcache's address or, since 2.34, random: anything smaller is a number of the program's */
#define KEY_LEAST UINT32_MAX
#define STACK_WORDS 96u		/* of malloc_consolidate's frame and those below it */

/* --- detached fastbins --- */

static bool is_next(struct glibc *g, size_t arena, taddr chunk, uint64_t size)
{
	struct glibc_region *r;

	return glibc_chunk_size(g, chunk, &r) == size && r->arena == arena &&
	       !(r->cached && glibc_bit(r->cached, r, chunk));
}

static taddr link_of(struct glibc *g, taddr chunk)
{
	uint64_t link;

	return snapshot_cursor_word(&g->cursor, chunk + 16, &link) ? glibc_unmangle(g, chunk + 16, link) : 1;
}

/* Does the list lead to its end through free chunks only? */
static bool is_whole(struct glibc *g, size_t arena, taddr chunk, uint64_t size)
{
	taddr behind = chunk;

	for (size_t n = 1; chunk; n++) {
		if (!is_next(g, arena, chunk, size))
			return false;
		chunk = link_of(g, chunk);
		/* half as fast: the two meet if it is a ring */
		if (n % 2 == 0)
			behind = link_of(g, behind);
		if (chunk == behind)
			return false;
	}
	return true;
}

/* If @chunk begins a list, of two at least: nothing distinguishes a single one from a block. */
static void try_list(struct glibc *g, taddr chunk)
{
	struct glibc_region *r;
	const uint64_t size = glibc_chunk_size(g, chunk, &r);

	if (!size || size / GLIBC_ALIGN - 2 >= GLIBC_FASTBINS || r->arena == CENSUS_MMAPPED ||
	    !g->arenas[r->arena].busy)
		return;
	if (!link_of(g, chunk) || !is_whole(g, r->arena, chunk, size))
		return;
	while (chunk && glibc_mark(g, glibc_region_at(g, chunk), chunk, size, &g->c->arenas[r->arena].fast))
		chunk = link_of(g, chunk);
}

static void try_hands(struct glibc *g, const struct snapshot_thread *t)
{
	uint64_t regs[REGISTERS], word;

	registers_general(t, regs);
	for (size_t i = 0; i < REGISTERS; i++)
		try_list(g, regs[i]);
	for (size_t i = 0; i < STACK_WORDS && snapshot_cursor_word(&g->cursor, t->sp + 8 * i, &word); i++)
		try_list(g, word);
}

static bool any_busy(const struct glibc *g)
{
	for (size_t i = 0; i < g->narenas; i++)
		if (g->arenas[i].busy)
			return true;
	return false;
}

/* --- the rest of a lost list --- */

static void find_by_key(struct glibc *g)
{
	const struct census *c = g->c;
	const uint64_t lost = g->lost_key ? g->lost_key : g->key;

	for (size_t i = 0; i < c->nblocks && lost > KEY_LEAST && !g->no_memory; i++) {
		struct glibc_region *r;
		uint64_t key, size;

		if (!snapshot_cursor_word(&g->cursor, c->blocks[i].addr + 8, &key) || key != lost)
			continue;
		size = glibc_chunk_size(g, c->blocks[i].addr - 16, &r);
		if (size && r->arena != CENSUS_MMAPPED)
			(void)glibc_mark(g, r, c->blocks[i].addr - 16, size, &g->c->arenas[r->arena].tcache);
	}
}

/* --- no tcache at all --- */

/*
 * To 2.42 a thread that calls malloc has a tcache from then on. If there is none, it may have a form that is
 * not known, and what is in it would be taken for blocks.
 */
static void doubt_none(struct glibc *g)
{
	size_t known = 0;

	if (!g->layout.fastbins || !g->param.at || !g->param.tcache_count || !g->arenas[0].system_mem)
		return;
	for (size_t i = 0; i < g->s->nthreads; i++)
		known += g->s->threads[i].known && g->s->threads[i].regs.fs_base;
	census_unsure(g->c, known && known == g->s->nthreads, g->arenas[0].at,
		      "no thread has a tcache of a form that is known: what is in it counts as in use");
}

/* --- removal from the blocks --- */

static int by_address(const void *a, const void *b)
{
	const taddr *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void take_out(struct glibc *g)
{
	struct census *c = g->c;
	size_t kept = 0, late = 0;

	qsort(g->late, g->nlate, sizeof(*g->late), by_address);
	for (size_t i = 0; i < c->nblocks; i++) {
		while (late < g->nlate && g->late[late] < c->blocks[i].addr)
			late++;
		if (late == g->nlate || g->late[late] != c->blocks[i].addr)
			c->blocks[kept++] = c->blocks[i];
	}
	c->nblocks = kept;
}

int glibc_find_late(struct glibc *g)
{
	int err = 0;

	for (size_t i = 0; i < g->norphans && !err; i++)
		err = glibc_mark_orphan(g, g->orphans[i]);
	for (size_t i = 0; i < g->s->nthreads && !err && g->layout.fastbins && any_busy(g); i++)
		/* a thread in a system call waits for the lock, or has just released it */
		if (g->s->threads[i].known && (long long)g->s->threads[i].regs.orig_rax < 0)
			try_hands(g, &g->s->threads[i]);
	if (!err && g->list_lost)
		find_by_key(g);
	if (g->nlate)
		take_out(g);
	if (!g->c->nown)
		doubt_none(g);
	return g->no_memory ? -ENOMEM : err;
}
