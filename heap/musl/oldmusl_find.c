/* SPDX-License-Identifier: MIT */
/*
 * oldmusl_find: where musl's old malloc has its state: no symbol is needed. An array of 64 bins, each with a lock,
 * the first and the last free chunk, is hard to mistake: the chunks lead back to their bin, an empty one leads to
 * itself, and one that was never used is zero. At least one must have a chunk whose size is there twice. Before
 * the bins is a map of them, with a bit of each that has chunks: without it, a list of another allocator among
 * zeros would do.
 */
#include <errno.h>

#include "heap/datamaps.h"
#include "heap/musl/oldmusl.h"

#define BIN 24u
#define NEXT 16u			/* in a free chunk, and in a sentinel */
#define PREV 24u
#define TORN_MOST 2u			/* lists that a thread may just be changing */

static bool is_word(struct oldmusl *g, taddr at, uint64_t value)
{
	uint64_t word;

	return snapshot_cursor_word(&g->cursor, at, &word) && word == value;
}

static bool is_free_chunk(struct oldmusl *g, taddr at)
{
	struct oldmusl_chunk c, next;

	return at % OLDMUSL_UNIT == 16 && oldmusl_read(g, at, &c) && !oldmusl_is_used(c.size) && c.size &&
	       oldmusl_read(g, at + c.size, &next) && next.before == c.size;
}

enum bin_look { BIN_UNUSED, BIN_EMPTY, BIN_FULL, BIN_TORN, BIN_NONE };

static enum bin_look look_at_bin(struct oldmusl *g, taddr state, unsigned i)
{
	const taddr sentinel = oldmusl_sentinel(state, i);
	uint64_t lock, head, tail;

	if (!snapshot_cursor_word(&g->cursor, sentinel + 8, &lock) ||
	    !snapshot_cursor_word(&g->cursor, sentinel + NEXT, &head) ||
	    !snapshot_cursor_word(&g->cursor, sentinel + PREV, &tail) || (uint32_t)lock > 1)
		return BIN_NONE;
	if (!head && !tail)
		return BIN_UNUSED;
	if (head == sentinel && tail == sentinel)
		return BIN_EMPTY;
	if (head % 8 || tail % 8)
		return BIN_NONE;
	if (is_word(g, head + PREV, sentinel) && is_word(g, tail + NEXT, sentinel) && is_free_chunk(g, head))
		return BIN_FULL;
	return BIN_TORN;
}

static bool is_state(struct oldmusl *g, taddr at)
{
	unsigned n[BIN_NONE + 1] = { 0 }, differ = 0;
	uint64_t map;

	if (!snapshot_cursor_word(&g->cursor, at, &map) || !map)
		return false;
	for (unsigned i = 0; i < OLDMUSL_BINS; i++) {
		const enum bin_look look = look_at_bin(g, at, i);

		n[look]++;
		differ += look != BIN_TORN && (map >> i & 1) != (look == BIN_FULL);
		if (n[BIN_NONE] || n[BIN_TORN] > TORN_MOST || differ > TORN_MOST)
			return false;
	}
	/* the bits of full bins are not all among those that differ */
	return n[BIN_FULL] > differ;
}

static void take_state(struct oldmusl *g, taddr at, const struct mapping *file)
{
	if (g->at) {
		g->c->others++;
		return;
	}
	g->at = at;
	g->file = file;
	g->data_lo = file->lo;
	g->data_hi = datamaps_end(&g->s->maps, file);
}

/* @at is the word with a bin's first chunk, if that leads back to it. Of which bin is not known. */
static bool is_first_chunk(struct oldmusl *g, taddr at)
{
	uint64_t head;

	return snapshot_cursor_word(&g->cursor, at, &head) && head && head % 8 == 0 &&
	       is_word(g, head + PREV, at - NEXT);
}

/* Returns where to go on. */
static taddr look_at(struct oldmusl *g, taddr at, const struct mapping *file)
{
	if (is_first_chunk(g, at))
		for (unsigned i = 0; i < OLDMUSL_BINS; i++) {
			const taddr state = at - NEXT - (taddr)BIN * i;

			if (is_state(g, state)) {
				take_state(g, state, file);
				return state + OLDMUSL_STATE;
			}
		}
	return at + 8;
}

int oldmusl_find(struct oldmusl *g)
{
	const struct snapshot *s = g->s;
	struct datamaps data = datamaps_of(&s->maps);
	const struct mapping *m, *file;
	taddr next = 0;

	while ((m = datamaps_next(&data, &file)))
		for (size_t i = snapshot_piece_from(s, m->lo); i < s->npieces && s->pieces[i].lo < m->hi; i++) {
			const struct snapshot_piece *p = &s->pieces[i];
			const taddr lo = p->lo > m->lo ? p->lo : m->lo;
			const taddr end = p->lo + p->size < m->hi ? p->lo + p->size : m->hi;

			for (taddr at = next > lo ? next : lo; at < end; at = next)
				next = look_at(g, at, file);
		}
	return g->at ? 0 : -ENOENT;
}
