/* SPDX-License-Identifier: MIT */
/*
 * mimalloc_find: segments are at multiples of 32 MiB, and each has a cookie: its address, mixed with that of
 * the main heap. So the cookies of all segments lead to one number; and the main heap, in the data of the
 * library or program, has it.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "heap/datawords.h"
#include "heap/mimalloc/mimalloc.h"

#define COOKIE_IN_HEAP 2864u
#define HEAP_IN_TLD 16u
/* Distinct cookies that are looked for: something else may look like a segment. */
#define COOKIES_MOST 16u

/* false: there is none. It may still be none: `plausible`, and its cookie. */
static bool read_segment(struct mimalloc *g, taddr at, struct mimalloc_segment *out)
{
	uint64_t w[7], page;

	if (snapshot_kind_at(g->s, at) != SNAPSHOT_HERE || !mimalloc_word(g, at + 264, &page))
		return false;
	for (unsigned i = 0; i < 7; i++)
		if (!mimalloc_word(g, at + 208 + 8 * i, &w[i]))
			return false;
	*out = (struct mimalloc_segment){ at, w[1], w[0], w[2], w[3], (uint32_t)w[4], w[5], w[6], false };
	/* the first slices are the segment's own: they are a page without blocks */
	out->plausible = out->info_slices && out->info_slices < 16 && out->kind <= 1 && out->entries &&
			 out->entries <= MIMALLOC_SLICES && out->slices >= out->entries &&
			 page == out->info_slices && out->slices <= UINT64_C(1) << 31;
	return out->cookie;
}

/* Where a segment may be, from @at on: the snapshot has memory there, or may get it. 0: nowhere. */
static taddr next_place(const struct mimalloc *g, taddr at)
{
	const size_t i = snapshot_piece_from(g->s, at);
	const bool ahead = !g->s->source && i < g->s->npieces && g->s->pieces[i].lo > at;
	const taddr lo = ahead ? g->s->pieces[i].lo : at;

	return g->s->source || i < g->s->npieces ? (lo + MIMALLOC_SEGMENT - 1) & ~(MIMALLOC_SEGMENT - 1) : 0;
}

static int add_segments_in(struct mimalloc *g, const struct mapping *m)
{
	for (taddr at = next_place(g, m->lo); at >= m->lo && at < m->hi; at = next_place(g, at + MIMALLOC_SEGMENT)) {
		struct mimalloc_segment one, *place;

		if (!read_segment(g, at, &one))
			continue;
		place = grow_by_one(&g->segments, g->nsegments, sizeof(*place));
		if (!place)
			return -ENOMEM;
		*place = one;
		g->nsegments++;
	}
	return 0;
}

static int add_segments(struct mimalloc *g)
{
	int r = 0;

	for (size_t i = 0; i < g->s->maps.n && r == 0; i++) {
		const struct mapping *m = &g->s->maps.maps[i];

		if (m->perms & MAPPING_WRITE && !(m->perms & MAPPING_SHARED))
			r = add_segments_in(g, m);
	}
	return r;
}

/* Is the heap at @at the main one of its thread, as both of them show? */
static bool is_heap(struct mimalloc *g, taddr at)
{
	uint64_t tld, back;

	return mimalloc_word(g, at, &tld) && tld && mimalloc_word(g, tld + HEAP_IN_TLD, &back) && back == at;
}

static bool find_heap_in(struct mimalloc *g, taddr lo, taddr hi, uint64_t cookie)
{
	for (taddr at = (lo + 7) & ~7ull; at + 8 <= hi; at += 8) {
		uint64_t word;

		if (!mimalloc_word(g, at, &word) || word != cookie || !is_heap(g, at - COOKIE_IN_HEAP))
			continue;
		g->heap = at - COOKIE_IN_HEAP;
		g->cookie = cookie;
		return true;
	}
	return false;
}

static bool find_heap(struct mimalloc *g, uint64_t cookie)
{
	struct datawords d = datawords_of(g->s);

	while (datawords_next(&d))
		if (find_heap_in(g, d.lo, d.hi, cookie)) {
			g->file = d.file;
			return true;
		}
	return false;
}

/*
 * Keep those that are plausible and have the main heap's cookie. One for which only one of that holds was, or
 * will be, a segment; or it belongs to another mimalloc in the process.
 */
static void keep_own(struct mimalloc *g)
{
	size_t kept = 0;

	for (size_t i = 0; i < g->nsegments; i++) {
		const struct mimalloc_segment *seg = &g->segments[i];
		const bool own = (seg->cookie ^ seg->at) == g->cookie;

		census_unsure(g->c, own != seg->plausible, seg->at, "a segment that is being made, or removed");
		if (own && seg->plausible)
			g->segments[kept++] = *seg;
	}
	g->nsegments = kept;
}

int mimalloc_find(struct mimalloc *g)
{
	uint64_t tried[COOKIES_MOST];
	size_t ntried = 0;
	int r = add_segments(g);

	for (size_t i = 0; i < g->nsegments && r == 0 && ntried < COOKIES_MOST; i++) {
		const uint64_t cookie = g->segments[i].cookie ^ g->segments[i].at;
		size_t k = 0;

		while (k < ntried && tried[k] != cookie)
			k++;
		/* 0: the heap would be among zeros */
		if (!cookie || k < ntried || !g->segments[i].plausible)
			continue;
		if (find_heap(g, cookie)) {
			keep_own(g);
			g->own_file = g->file->ino != g->s->maps.maps[0].ino;
			return 0;
		}
		tried[ntried++] = cookie;
	}
	return r < 0 ? r : -ENOENT;
}
