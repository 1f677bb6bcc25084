/* SPDX-License-Identifier: MIT */
/*
 * musl_metas: from meta area to meta area, from meta to group, from slot to slot.
 *
 * What is counted besides: the slots of all groups of a class, and the metas that are in the list of unused
 * ones. Malloc counts the first itself, and the second is the length of that list: so a meta that was
 * overwritten with zeros is noticed, though nothing else leads to its group.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/grow.h"
#include "heap/census_blocks.h"
#include "heap/datamaps.h"
#include "heap/musl/musl.h"

#define PAGE SNAPSHOT_PAGE
#define SLOTS_MOST 32u
/* What a thread in malloc may have counted, and not made yet. */
#define METAS_IN_HAND 2u
#define SLOTS_IN_HAND (2u * SLOTS_MOST)

static int order(const void *pa, const void *pb)
{
	const taddr a = *(const taddr *)pa, b = *(const taddr *)pb;

	return (a > b) - (a < b);
}

/* --- extents --- */

static int add_extent(struct musl *g, taddr lo, taddr hi, uint32_t arena)
{
	struct census *c = g->c;
	int r = grow_for(&c->areas, c->nareas, &g->census_area_room, sizeof(*c->areas));

	if (r == 0)
		c->areas[c->nareas++] = (struct census_area){ lo, hi, arena };
	if (r == 0 && arena != CENSUS_MMAPPED)
		c->arenas->walked_bytes += hi - lo;
	return r;
}

/* --- slots --- */

static int take_block(struct musl *g, const struct musl_group *gr, const struct block *b)
{
	struct census_sum *sum = gr->class == MUSL_MAPPED ? &g->c->mmapped : &g->c->arenas->used;

	sum->blocks++;
	sum->bytes += b->size + MUSL_HEAD;
	return census_blocks_add(g->c, b->addr, b->size) ? 0 : -ENOMEM;
}

/* Is there a group at @mem, which a meta describes? */
static bool leads_to_meta(struct musl *g, taddr mem)
{
	taddr meta, back;

	if (!snapshot_cursor_word(&g->cursor, mem, &meta))
		return false;
	back = meta & ~(taddr)(PAGE - 1);
	return bsearch(&back, g->areas, g->nareas, sizeof(*g->areas), order) &&
	       snapshot_cursor_word(&g->cursor, meta + 16, &back) && back == mem;
}

/* A slot that is not free, as the masks of its group say. */
static int take_slot(struct musl *g, const struct musl_group *gr, unsigned i)
{
	struct block b;

	switch (musl_slot_look(g, gr, i, &b)) {
	case MUSL_BLOCK:
		return take_block(g, gr, &b);
	case MUSL_RELEASED:
		g->released++;
		if (!g->at_work)
			musl_problem(g, b.addr, "corrupt: a block that is in use by the masks of its group, "
				     "and free by its head");
		break;
	case MUSL_TORN:
		if (b.size)
			census_doubt(g->c, g->at_work, b.addr, "corrupt: the end of this block was overwritten");
		else
			census_doubt(g->c, g->at_work, b.addr, "corrupt: the head of this block was overwritten");
		return b.size ? take_block(g, gr, &b) : 0;
	case MUSL_UNSEEN:
		musl_problem(g, b.addr, "malloc's memory is not in the snapshot here");
		g->c->unseen_bytes += gr->stride;
		break;
	case MUSL_GROUP:
		if (!leads_to_meta(g, b.addr))
			census_doubt(g->c, g->at_work, b.addr, "corrupt: the head of this block was overwritten");
		break;
	}
	return 0;
}

/* A slot that is free by the masks. One that was never given out may contain anything. */
static void check_free(struct musl *g, const struct musl_group *gr, unsigned i)
{
	struct block b;
	uint64_t word;

	g->c->arenas->bins.blocks++;
	g->c->arenas->bins.bytes += gr->stride;
	if (musl_slot_look(g, gr, i, &b) != MUSL_BLOCK)
		return;
	/* slot 0's may be 0 because nothing was ever written there */
	if (snapshot_cursor_word(&g->cursor, b.addr - 8, &word) && word >> 32)
		census_unsure(g->c, 1, b.addr, "a free slot has a block's head");
}

static int take_slots(struct musl *g, const struct musl_group *gr)
{
	int r = 0;

	for (unsigned i = 0; i < gr->slots && r == 0; i++) {
		if ((gr->avail | gr->freed) >> i & 1)
			check_free(g, gr, i);
		else
			r = take_slot(g, gr, i);
	}
	return r;
}

/* --- groups --- */

struct musl_group musl_group_of(const uint64_t meta[MUSL_META_WORDS])
{
	const uint64_t flags = meta[4];
	struct musl_group gr = { .mem = meta[2], .avail = (uint32_t)meta[3], .freed = (uint32_t)(meta[3] >> 32),
				 .made = flags & 0xfff, .slots = (flags & 31) + 1, .freeable = flags >> 5 & 1,
				 .class = flags >> 6 & 63, .mapped = flags >> 12 << 12 };

	if (gr.mapped && gr.slots == 1)
		gr.stride = gr.mapped - MUSL_UNIT;
	else if (gr.class < MUSL_CLASSES)
		gr.stride = musl_stride(gr.class);
	return gr;
}

static bool read_group(struct musl *g, taddr meta, struct musl_group *gr)
{
	uint64_t words[MUSL_META_WORDS] = { 0 };

	for (unsigned i = 2; i < MUSL_META_WORDS; i++)
		if (!snapshot_cursor_word(&g->cursor, meta + 8 * i, &words[i]))
			return false;
	*gr = musl_group_of(words);
	gr->meta = meta;
	return true;
}

/* Can that be a group, and does its memory lead back to its meta? */
static bool is_group(struct musl *g, struct musl_group *gr)
{
	const uint64_t all = (UINT64_C(1) << gr->slots) - 1;
	uint64_t back;

	if (gr->mem % (gr->mapped ? PAGE : MUSL_UNIT))
		return false;
	if (gr->class >= MUSL_CLASSES && gr->class != MUSL_MAPPED)
		return false;
	if (gr->class == MUSL_MAPPED && (gr->slots != 1 || !gr->mapped))
		return false;
	if ((gr->avail | gr->freed) & ~all || gr->avail & gr->freed)
		return false;
	if (gr->mapped && gr->slots * gr->stride + MUSL_UNIT > gr->mapped)
		return false;
	return gr->mem + gr->mapped >= gr->mem && snapshot_cursor_word(&g->cursor, gr->mem, &back) &&
	       back == gr->meta;
}

static int take_group(struct musl *g, struct musl_group *gr)
{
	/* what has no mapping of its own is in a slot of another group, or was donated by the loader */
	const uint64_t size = gr->mapped ? gr->mapped : MUSL_UNIT + gr->slots * gr->stride;
	int r = 0;

	if (!datamaps_cover(&g->s->maps, gr->mem, gr->mem + size)) {
		census_doubt(g->c, g->at_work, gr->meta,
			     "corrupt: a group of blocks is in no memory (" PRItaddr ")", gr->mem);
		return 0;
	}
	if (gr->class < MUSL_CLASSES && gr->freeable)
		g->slots[gr->class] += gr->slots;
	if (gr->mapped || !gr->freeable)
		r = add_extent(g, gr->mem, gr->mem + size, gr->class == MUSL_MAPPED ? CENSUS_MMAPPED : 0);
	return r == 0 ? take_slots(g, gr) : r;
}

/*
 * A group that is being made, which has no block yet, or of which the one block is being moved: it has no
 * class or flags yet; or its memory was never written to, or there is none.
 */
static bool is_in_hand(const struct musl *g, const struct musl_group *gr)
{
	const enum snapshot_kind kind = snapshot_kind_at(g->s, gr->mem);

	return g->at_work && gr->mem % MUSL_UNIT == 0 &&
	       (!gr->made || kind == SNAPSHOT_ZERO || (kind == SNAPSHOT_NOTHING && gr->class == MUSL_MAPPED));
}

static int take_meta(struct musl *g, taddr meta)
{
	struct musl_group gr;

	if (!read_group(g, meta, &gr)) {
		musl_problem(g, meta, "malloc's lists of groups are not in the snapshot here");
		return 0;
	}
	if (!gr.mem) {
		g->unused_metas++;
		return 0;
	}
	if (is_group(g, &gr))
		return take_group(g, &gr);
	if (is_in_hand(g, &gr) && g->in_hand++ < g->at_work)
		return 0;
	census_doubt(g->c, g->at_work, meta, "corrupt: there can be no group of blocks as it is described here");
	return 0;
}

/* --- meta areas --- */

/* How many metas of this area were ever in use: all, if it is not the one that the next is taken from. */
static unsigned metas_in(const struct musl *g, taddr area)
{
	const taddr first = area + MUSL_AREA_HEAD;

	if (g->context.next_meta - first <= MUSL_AREA_SLOTS * MUSL_META)
		return (unsigned)((g->context.next_meta - first) / MUSL_META);
	return area == g->context.last_area ? 0 : MUSL_AREA_SLOTS;
}

static int take_area(struct musl *g, taddr area)
{
	const unsigned n = metas_in(g, area);
	int r = add_extent(g, area, area + PAGE, 0);

	for (unsigned i = 0; i < n && r == 0; i++)
		r = take_meta(g, area + MUSL_AREA_HEAD + i * MUSL_META);
	return r;
}

/* The list of areas, sorted. They are pages: there are no more than the snapshot has. */
static int find_areas(struct musl *g)
{
	const uint64_t most = g->s->bytes / PAGE + 1;
	taddr at = g->context.first_area;
	uint64_t check = 0;

	while (at && g->nareas < most) {
		taddr *area = grow_by_one(&g->areas, g->nareas, sizeof(*area));

		if (!area)
			return -ENOMEM;
		if (at % PAGE || !snapshot_cursor_word(&g->cursor, at, &check) ||
		    check != g->context.secret) {
			census_doubt(g->c, g->at_work, at, "corrupt: what malloc's list of groups leads to is none");
			return 0;
		}
		*area = at;
		g->nareas++;
		if (!snapshot_cursor_word(&g->cursor, at + 8, &at))
			return 0;
	}
	return 0;
}

static void sort_areas(struct musl *g)
{
	size_t kept = 0;

	if (g->nareas)
		qsort(g->areas, g->nareas, sizeof(*g->areas), order);
	for (size_t i = 0; i < g->nareas; i++)
		if (!i || g->areas[i] != g->areas[i - 1])
			g->areas[kept++] = g->areas[i];
	if (kept < g->nareas)
		musl_problem(g, g->areas[0], "corrupt: malloc's list of groups has no end");
	g->nareas = kept;
}

/* --- malloc's own figures --- */

static bool differ(uint64_t a, uint64_t b, uint64_t most)
{
	return (a > b ? a - b : b - a) > most;
}

static void compare_slots(struct musl *g)
{
	for (unsigned i = 0; i < MUSL_CLASSES; i++)
		if (differ(g->slots[i], g->context.usage[i], g->at_work * SLOTS_IN_HAND))
			census_differs(g->c, 1, g->at, "malloc counts other slots of a class than its groups have");
}

/* The length of the list of unused metas. false: it is no ring, as while a thread changes it. */
static bool count_unused(struct musl *g, uint64_t *n)
{
	const uint64_t most = g->nareas * MUSL_AREA_SLOTS;
	taddr at = g->context.free_meta;

	for (*n = 0; at && *n <= most;) {
		++*n;
		if (!snapshot_cursor_word(&g->cursor, at + 8, &at))
			return false;
		if (at == g->context.free_meta)
			return true;
	}
	return !g->context.free_meta;
}

static void compare_unused(struct musl *g)
{
	uint64_t n;

	if (count_unused(g, &n) ? differ(n, g->unused_metas, g->at_work * METAS_IN_HAND) : !g->at_work)
		census_differs(g->c, 1, g->at, "malloc's list of unused metas has others than there are");
}

int musl_take_all(struct musl *g)
{
	int r = find_areas(g);

	sort_areas(g);
	if (r == 0 && !census_blocks_reserve(g->c, g->nareas * MUSL_AREA_SLOTS * SLOTS_MOST + 1))
		r = -ENOMEM;
	for (size_t i = 0; i < g->nareas && r == 0; i++)
		r = take_area(g, g->areas[i]);
	if (r == 0 && g->released > g->at_work * SLOTS_MOST)
		census_unsure(g->c, 1, g->at, "blocks that their heads have no more");
	compare_slots(g);
	compare_unused(g);
	return r;
}
