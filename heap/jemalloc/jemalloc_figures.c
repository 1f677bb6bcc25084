/* SPDX-License-Identifier: MIT */
/*
 * jemalloc_figures: what the arenas have counted: see jemalloc.h.
 *
 * The array of arenas is in the same data as the page map. Each arena has its own index, which tells where the
 * array begins; it must then have an arena for each index that an extent has. An arena counts the regions in use
 * of each class, after it has changed the slabs, while it has the class's lock: a difference is a thread at work.
 */
#include "heap/jemalloc/jemalloc.h"

#include <string.h>

#define LINE 64u

static bool is_own(const struct jemalloc *j, taddr at)
{
	for (size_t i = 0; i < j->nbases; i++)
		if (j->bases[i].lo <= at && at < j->bases[i].hi)
			return true;
	return false;
}

/* Its index, if there is an arena at @at. */
static bool arena_index(struct jemalloc *j, taddr at, uint32_t *index)
{
	const struct jemalloc_version *v = j->version;
	uint64_t base, of_base, of_arena;

	if (at % LINE || !is_own(j, at) || !snapshot_cursor_word(&j->cursor, at + v->arena_base, &base) ||
	    !is_own(j, base) || !snapshot_cursor_word(&j->cursor, base, &of_base))
		return false;
	*index = (uint32_t)of_base;
	if (*index >= JEMALLOC_ARENAS)
		return false;
	return !v->arena_index || (snapshot_cursor_word(&j->cursor, at + v->arena_index, &of_arena) &&
				   (uint32_t)of_arena == *index);
}

/* Are there, from @array on, arenas for all indices that extents have? Their addresses go to the census. */
static bool is_array(struct jemalloc *j, taddr array)
{
	for (unsigned i = 0; i < JEMALLOC_ARENAS; i++) {
		uint32_t index;
		uint64_t at;

		if (!j->arena_of[i])
			continue;
		if (!snapshot_cursor_word(&j->cursor, array + 8 * i, &at) || !arena_index(j, at, &index) || index != i)
			return false;
		j->c->arenas[j->arena_of[i] - 1].at = at;
	}
	return true;
}

static bool find_arenas(struct jemalloc *j)
{
	for (taddr at = j->data_lo; at < j->data_hi;) {
		uint64_t n, word;
		const uint8_t *bytes = snapshot_bytes(j->s, at, &n);
		uint32_t index;

		if (!bytes && snapshot_extent(j->s, at, &n) == SNAPSHOT_NOTHING)
			return false;
		n = n < j->data_hi - at ? n : j->data_hi - at;
		for (uint64_t i = 0; bytes && i + 8 <= n; i += 8) {
			memcpy(&word, bytes + i, sizeof(word));
			if (word && arena_index(j, word, &index) && is_array(j, at + i - 8 * (uint64_t)index))
				return true;
		}
		at += n & ~(uint64_t)7 ? n & ~(uint64_t)7 : 8;
	}
	return false;
}

/* The regions in use of @class, as the arena has counted them. false: not known. */
static bool counted(struct jemalloc *j, taddr arena, unsigned class, uint64_t *n)
{
	const struct jemalloc_version *v = j->version;
	taddr bin = arena + v->arena_bins + (taddr)class * v->bin_bytes;

	if (!v->bin_bytes && !snapshot_cursor_word(&j->cursor, arena + v->arena_bins + 8 * (taddr)class, &bin))
		return false;
	return snapshot_cursor_word(&j->cursor, bin + v->bin_regions, n);
}

void jemalloc_compare_figures(struct jemalloc *j)
{
	uint64_t all = 0;
	size_t differing = 0;

	if (j->shards || !find_arenas(j))
		return;
	for (size_t i = 0; i < j->c->narenas; i++)
		for (unsigned k = 0; k < JEMALLOC_SMALL; k++) {
			uint64_t n;

			if (!counted(j, j->c->arenas[i].at, k, &n))
				continue;
			all += n;
			differing += n != j->regions[i * JEMALLOC_SMALL + k];
		}
	/* none at all: it was built without statistics */
	census_differs(j->c, all ? differing : 0, 0, "an arena counts other blocks in use than its slabs have");
}
