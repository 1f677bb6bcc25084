/* SPDX-License-Identifier: MIT */
#include "heap/mimalloc/mimalloc_map.h"

#include <stdlib.h>

#include "heap/datamaps.h"
#include "heap/mimalloc/mimalloc.h"

#define COOKIE 216u
#define FOREIGN 40u
#define FLAGS 3u			/* of the word that leads to what other threads have freed */

int mimalloc_map_find(const struct snapshot *s, struct mimalloc_map *out)
{
	struct census c;
	struct mimalloc g = { .s = s, .c = &c, .cursor = snapshot_cursor_of(s) };
	int r;

	census_init(&c);
	r = mimalloc_find(&g);
	*out = (struct mimalloc_map){ .cookie = g.cookie };
	if (r == 0) {
		out->data_lo = g.file->lo;
		out->data_hi = datamaps_end(&s->maps, g.file);
	}
	free(g.segments);
	census_fini(&c);
	return r;
}

/* --- the way to a page --- */

static taddr segment_of(taddr at)
{
	return at & ~(MIMALLOC_SEGMENT - 1);
}

taddr mimalloc_map_cookie(const struct mimalloc_map *m, taddr at, uint64_t *value)
{
	*value = m->cookie ^ segment_of(at);
	return segment_of(at) + COOKIE;
}

taddr mimalloc_map_slice(taddr at)
{
	return segment_of(at) + MIMALLOC_PAGES_AT + (at - segment_of(at)) / MIMALLOC_SLICE * MIMALLOC_PAGE_BYTES;
}

taddr mimalloc_map_page(taddr slice, uint64_t word)
{
	const uint32_t back = (uint32_t)(word >> 32);

	return back % MIMALLOC_PAGE_BYTES || back > slice - segment_of(slice) - MIMALLOC_PAGES_AT ? 0 : slice - back;
}

/* --- what its words say --- */

struct mimalloc_place mimalloc_map_place(taddr page, const uint64_t words[MIMALLOC_PAGE_WORDS])
{
	const struct mimalloc_slice sl = mimalloc_slice_of(words);
	const taddr segment = segment_of(page);
	const uint64_t first = (page - segment - MIMALLOC_PAGES_AT) / MIMALLOC_PAGE_BYTES;
	struct mimalloc_place out = { .aligned = sl.aligned, .delayed = words[FOREIGN / 8] & FLAGS,
				      .heap = words[FOREIGN / 8 + 1] };

	/* 0: free; 1: no page any more, or not yet */
	if (sl.block <= 1 || !sl.reserved || sl.offset || !sl.count)
		return out;
	out.lo = segment + first * MIMALLOC_SLICE;
	out.hi = out.lo + sl.count * MIMALLOC_SLICE;
	out.size = sl.block >= MIMALLOC_HUGE ? out.hi - out.lo : sl.block;
	return out;
}

/* --- lists of free blocks --- */

uint32_t mimalloc_map_own(const uint64_t words[MIMALLOC_OWN_WORDS], taddr *free, taddr *local)
{
	const struct mimalloc_slice sl = mimalloc_slice_of(words);

	*free = sl.free;
	*local = words[4];
	return sl.capacity > sl.used ? sl.capacity - sl.used : 0;
}

taddr mimalloc_map_foreign(taddr page)
{
	return page + FOREIGN;
}

taddr mimalloc_map_foreign_first(uint64_t word)
{
	return word & ~(taddr)FLAGS;
}

taddr mimalloc_map_delayed(taddr heap)
{
	return heap + MIMALLOC_DELAYED_IN_HEAP;
}
