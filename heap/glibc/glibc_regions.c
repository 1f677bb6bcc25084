/* SPDX-License-Identifier: MIT */
/*
 * Where there are chunks.
 *
 *	other arenas    heaps at multiples of 64 MiB (4 huge pages, with glibc.malloc.hugetlb=2 before 2.43):
 *
 *	                | heap_info | malloc_state | chunks ... | top |           the only heap, or
 *	                | heap_info | malloc_state | chunks ... | fenceposts |    the first, and after it
 *	                | heap_info | chunks ...                | top |           the last
 *
 *	main arena      memory from sbrk, [sbrk_base, sbrk_base + system_mem); a foreign sbrk in between is
 *	                included. After sbrk has failed, memory from mmap, anywhere (glibc_mapped.c).
 *
 * Heaps are searched for wherever one could be, not by their `prev` alone: heap_trim unmaps a heap before top
 * points away from it, and a corrupt link would hide the others.
 */
#include "heap/glibc/glibc.h"

#include <errno.h>
#include <stdlib.h>

#include "base/addr_search.h"
#include "base/addrmap.h"
#include "base/grow.h"

#define MIB (1ull << 20)
#define PAGE SNAPSHOT_PAGE

static bool is_private(const struct mapping *m)
{
	return !(m->perms & MAPPING_SHARED) && strncmp(m->path, "[v", 2) != 0 &&	/* vdso, vvar, vsyscall */
	       (!m->ino || strstr(m->path, "anon_hugepage"));
}

bool glibc_plain(const struct mapping *m)
{
	return m->perms & MAPPING_WRITE && is_private(m);
}

taddr glibc_plain_end(const struct glibc *g, size_t i)
{
	const struct mapping *m = g->s->maps.maps;

	while (i + 1 < g->s->maps.n && m[i + 1].lo == m[i].hi && is_private(&m[i + 1]))
		i++;
	return m[i].hi;
}

int glibc_add_region(struct glibc *g, const struct glibc_region *r)
{
	if (grow_for(&g->regions, g->nregions, &g->region_room, sizeof(*g->regions)) < 0)
		return -ENOMEM;
	g->regions[g->nregions++] = *r;
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct glibc_region *x = a, *y = b;

	return (x->lo > y->lo) - (x->lo < y->lo);
}

/* Regions that overlap cannot both be right; the first one is kept. */
void glibc_sort_regions(struct glibc *g)
{
	size_t kept = 0;

	if (g->nregions)
		qsort(g->regions, g->nregions, sizeof(*g->regions), by_address);
	for (size_t i = 0; i < g->nregions; i++) {
		struct glibc_region *r = &g->regions[i];

		if (kept && g->regions[kept - 1].hi > r->lo) {
			glibc_problem(g, r->lo, "a heap lies inside of another one");
			free(r->cached);
			continue;
		}
		g->regions[kept++] = *r;
	}
	g->nregions = kept;
}

struct glibc_region *glibc_region_at(struct glibc *g, taddr at)
{
	const size_t i = ADDR_SEARCH(g->regions, g->nregions, hi, at);

	return i < g->nregions && g->regions[i].lo <= at ? &g->regions[i] : NULL;
}

/* --- heaps of other arenas --- */

/* Do the heaps that contain the arenas' tops belong to them, if heaps are @max apart? */
static bool fits_heap_max(struct glibc *g, uint64_t max)
{
	for (size_t i = 1; i < g->narenas; i++) {
		uint64_t owner;

		if (g->arenas[i].at % max != g->layout.heap_info)
			return false;
		/* if it cannot be read, it is just being unmapped */
		if (snapshot_cursor_word(&g->cursor, g->arenas[i].top & ~(max - 1), &owner) &&
		    owner != g->arenas[i].at)
			return false;
	}
	return true;
}

/*
 * Arenas come after the heap_info of their first heap: that shows its size, and the distance between heaps.
 */
static bool learn_heap_layout(struct glibc *g)
{
	static const uint64_t most[] = { 64 * MIB, 8 * MIB, 4096 * MIB };

	g->layout.heap_info = (uint32_t)(g->arenas[1].at % PAGE);
	for (size_t i = 0; i < sizeof(most) / sizeof(*most); i++) {
		if (fits_heap_max(g, most[i])) {
			g->layout.heap_max = most[i];
			return g->layout.heap_info == 0x20 || g->layout.heap_info == 0x30;
		}
	}
	/* some top is wrong: that is reported when the walk meets it */
	g->layout.heap_max = 64 * MIB;
	return g->layout.heap_info == 0x20 || g->layout.heap_info == 0x30;
}

/* The first chunk: after the arena, if that is in this heap. */
static taddr first_chunk(const struct glibc *g, taddr heap, taddr arena)
{
	if (arena != heap + g->layout.heap_info)
		return heap + g->layout.heap_info;
	return (arena + g->layout.bins + GLIBC_STATE_END + GLIBC_ALIGN - 1) & ~(taddr)(GLIBC_ALIGN - 1);
}

/* Is there a heap of the arena number @a at @at, in memory that ends at @end? */
static int try_heap(struct glibc *g, taddr at, taddr end, size_t a)
{
	const struct glibc_arena *arena = &g->arenas[a];
	struct glibc_region r = { .lo = at, .arena = (uint32_t)a };
	uint64_t prev, size;

	if (!snapshot_cursor_word(&g->cursor, at + 8, &prev) ||
	    !snapshot_cursor_word(&g->cursor, at + 16, &size))
		return 0;
	if (!size || size % PAGE || size > g->layout.heap_max || size > end - at ||
	    prev % g->layout.heap_max) {
		glibc_problem(g, at,
			      "the heap of an arena has an impossible size or predecessor (%#" PRIx64
			      ", %#" PRIx64 ")",
			      size, prev);
		return 0;
	}
	r.hi = at + size;
	r.first = first_chunk(g, at, arena->at);
	r.ends_in_top = arena->top >= r.first && arena->top < r.hi;
	if (r.first >= r.hi)
		return 0;
	return glibc_add_region(g, &r);
}

/* All heaps in the mapping number @i. */
static int heaps_in(struct glibc *g, const struct addrmap *by_arena, size_t i)
{
	const struct mapping *m = &g->s->maps.maps[i];
	const uint64_t max = g->layout.heap_max;
	int err = 0;

	for (taddr at = (m->lo + max - 1) & ~(max - 1); at < m->hi && at >= m->lo && !err; at += max) {
		const size_t *a;
		uint64_t owner;

		if (!snapshot_cursor_word(&g->cursor, at, &owner))
			continue;
		a = addrmap_get(by_arena, owner);
		if (a && *a)
			err = try_heap(g, at, glibc_plain_end(g, i), *a);
	}
	return err;
}

static int find_heaps(struct glibc *g)
{
	struct addrmap by_arena;
	int err = 0;

	addrmap_init(&by_arena, sizeof(size_t));
	for (size_t i = 0; i < g->narenas && !err; i++)
		err = addrmap_put(&by_arena, g->arenas[i].at, &i);
	for (size_t i = 0; i < g->s->maps.n && !err; i++)
		if (glibc_plain(&g->s->maps.maps[i]))
			err = heaps_in(g, &by_arena, i);
	addrmap_fini(&by_arena);
	return err;
}

/* --- the main heap --- */

/*
 * The end of top, if its head is valid. It is not while a chunk is being split off, or the heap is shrinking.
 */
static taddr top_end(struct glibc *g, const struct glibc_arena *a)
{
	uint64_t head;

	if (!snapshot_cursor_word(&g->cursor, a->top + 8, &head) || (head & GLIBC_FLAGS) != GLIBC_PREV_INUSE)
		return 0;
	head &= ~(uint64_t)GLIBC_FLAGS;
	if (head < GLIBC_MINSIZE || a->top + head < a->top || (a->top + head) % PAGE ||
	    !procmaps_find(&g->s->maps, a->top + head - 1))
		return 0;
	return a->top + head;
}

/* Where the main heap begins: at malloc's sbrk_base, if known, else system_mem below its end. */
static taddr main_begin(const struct glibc *g, taddr end)
{
	const struct glibc_arena *a = &g->arenas[0];

	if (g->param.sbrk_base && g->param.sbrk_base <= a->top)
		return g->param.sbrk_base;
	return end > a->system_mem && end - a->system_mem <= a->top ? end - a->system_mem : 0;
}

/* The end of adjacent mappings from @at on, at most @end. */
static taddr mapped_to(const struct glibc *g, taddr at, taddr end)
{
	const struct mapping *m = procmaps_find(&g->s->maps, at);
	const struct mapping *last = g->s->maps.maps + g->s->maps.n - 1;

	if (!m)
		return at;
	while (m->hi < end && m < last && m[1].lo == m->hi)
		m++;
	return m->hi < end ? m->hi : end;
}

static int find_main(struct glibc *g)
{
	const struct glibc_arena *a = &g->arenas[0];
	struct glibc_region r = { .arena = 0, .ends_in_top = true, .foreign = true };
	taddr end = top_end(g, a), begin = main_begin(g, end);

	if (a->top == a->bins + GLIBC_TOP || !a->contiguous)
		return 0;
	if (!end)
		end = begin + a->system_mem;
	r.lo = r.first = (begin + GLIBC_ALIGN - 1) & ~(taddr)(GLIBC_ALIGN - 1);
	r.lead = (uint32_t)(r.lo - begin);
	r.hi = mapped_to(g, r.lo, end) & ~(taddr)(GLIBC_ALIGN - 1);
	if (!begin || r.hi <= r.lo) {
		glibc_problem(g, a->top,
			      "what the main arena says of its top and its size does not say where its heap "
			      "begins");
		return 0;
	}
	if (r.hi != end || r.hi <= a->top)
		glibc_problem(g, a->top, "the main heap does not reach its top");
	return glibc_add_region(g, &r);
}

int glibc_find_regions(struct glibc *g)
{
	int err = 0;

	if (g->narenas > 1) {
		if (learn_heap_layout(g))
			err = find_heaps(g);
		else
			glibc_problem(g, g->arenas[1].at,
				      "an arena that does not lie at the beginning of a heap");
	}
	if (!err)
		err = find_main(g);
	glibc_sort_regions(g);
	return err;
}
