/* SPDX-License-Identifier: MIT */
/*
 * oldmusl_find: where musl's old malloc has its state: no symbol is needed. An array of 64 bins, each with a lock,
 * the first and the last free chunk, is hard to mistake: the chunks lead back to their bin, an empty one leads to
 * itself, and one that was never used is zero. At least one must have a chunk of the bin's size, which is there
 * twice. Before the bins is a map of them, with a bit of each that has chunks.
 *
 * A list of another allocator among zeros must not do: tcmalloc's free spans have next and previous at the same
 * distances, and their length in pages where a chunk has its size. Where that was 8, it was "there twice", as
 * the word 8 bytes further is the same; so the size must be a chunk's, and the bin's.
 */
#include <errno.h>

#include "heap/datawords.h"
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

/* The bin for chunks of this size: one for each of the smallest, then four for each power of two. */
static unsigned bin_of(uint64_t size)
{
	const uint64_t n = size / OLDMUSL_UNIT - 1;
	const unsigned power = n ? 63 - (unsigned)__builtin_clzll(n) : 0;

	if (n <= 32)
		return (unsigned)n;
	return n > 0x1c00 ? OLDMUSL_BINS - 1 : 12 + 4 * power + (n >> (power - 2) & 3);
}

/* Is there a free chunk, of bin number @i? */
static bool is_free_chunk(struct oldmusl *g, taddr at, unsigned i)
{
	struct oldmusl_chunk c, next;

	return at % OLDMUSL_UNIT == 16 && oldmusl_read(g, at, &c) && c.size && c.size % OLDMUSL_UNIT == 0 &&
	       bin_of(c.size) == i && oldmusl_read(g, at + c.size, &next) && next.before == c.size;
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
	if (is_word(g, head + PREV, sentinel) && is_word(g, tail + NEXT, sentinel) && is_free_chunk(g, head, i))
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
	struct datawords d = datawords_of(g->s);
	taddr at = 0;

	while (datawords_next(&d))
		for (at = at > d.lo ? at : d.lo; at < d.hi;)
			at = look_at(g, at, d.file);
	return g->at ? 0 : -ENOENT;
}
