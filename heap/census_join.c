/* SPDX-License-Identifier: MIT */
#include "heap/census_join.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap/census_blocks.h"

/* --- texts --- */

/* "@text; @more", or the one of them that is not empty. */
static void add_text(char *text, size_t size, const char *more)
{
	const size_t n = strlen(text);

	if (*more)
		snprintf(text + n, size - n, "%s%s", n ? "; " : "", more);
}

static void join_texts(struct census *c, const struct census *more)
{
	add_text(c->layout, sizeof(c->layout), more->layout);
	add_text(c->unread, sizeof(c->unread), more->unread);
	for (size_t i = 0; i < more->nlisted && c->nlisted < CENSUS_ALLOCATORS; i++)
		c->listed[c->nlisted++] = more->listed[i];
	if (!c->problem.at && !*c->problem.what && *more->problem.what) {
		c->problem = more->problem;
		c->nproblems = more->nproblems;
	}
}

/* --- blocks --- */

static void swap_blocks(struct census *a, struct census *b)
{
	struct block *const blocks = a->blocks;
	const size_t n = a->nblocks, room = a->block_room;

	a->blocks = b->blocks;
	a->nblocks = b->nblocks;
	a->block_room = b->block_room;
	b->blocks = blocks;
	b->nblocks = n;
	b->block_room = room;
}

/* From the end on, in place: the fewer ones are put between the others. */
static int join_blocks(struct census *c, struct census *more)
{
	size_t to, i, j;

	if (more->nblocks > c->nblocks)
		swap_blocks(c, more);
	i = c->nblocks;
	j = more->nblocks;
	while (j && c->block_room < i + j)
		if (!census_blocks_grow(c))
			return -ENOMEM;
	for (to = i + j; j; to--)
		c->blocks[to - 1] = i && c->blocks[i - 1].addr > more->blocks[j - 1].addr ? c->blocks[--i]
											 : more->blocks[--j];
	c->nblocks += more->nblocks;
	return 0;
}

/* Of those that overlap, the first stays. */
static void drop_overlapping(struct census *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->nblocks; i++)
		if (!kept || !block_holds(&c->blocks[kept - 1], c->blocks[i].addr))
			c->blocks[kept++] = c->blocks[i];
	c->nblocks = kept;
}

/* --- the rest --- */

/* The @n elements at @from behind the @n_to at *@to. 0 or -ENOMEM. */
static int append(void *to, size_t n_to, const void *from, size_t n, size_t size)
{
	char *all = *(char **)to;

	if (!n)
		return 0;
	all = reallocarray(all, n_to + n, size);
	if (!all)
		return -ENOMEM;
	memcpy(all + n_to * size, from, n * size);
	*(char **)to = all;
	return 0;
}

static int area_order(const void *pa, const void *pb)
{
	const struct census_area *a = pa, *b = pb;

	return (a->lo > b->lo) - (a->lo < b->lo);
}

/* Where two overlap, the memory is in the first. How many did. */
static size_t part_areas(struct census *c)
{
	size_t kept = 0, overlaps = 0;

	for (size_t i = 0; i < c->nareas; i++) {
		struct census_area a = c->areas[i];

		if (kept && a.lo < c->areas[kept - 1].hi) {
			a.lo = c->areas[kept - 1].hi;
			overlaps++;
		}
		if (a.lo < a.hi)
			c->areas[kept++] = a;
	}
	c->nareas = kept;
	return overlaps;
}

static int join_areas(struct census *c, const struct census *more)
{
	if (append(&c->areas, c->nareas, more->areas, more->nareas, sizeof(*c->areas)) < 0)
		return -ENOMEM;
	for (size_t i = c->nareas; i < c->nareas + more->nareas; i++)
		if (c->areas[i].arena != CENSUS_MMAPPED)
			c->areas[i].arena += (uint32_t)c->narenas;
	c->nareas += more->nareas;
	if (c->nareas)
		qsort(c->areas, c->nareas, sizeof(*c->areas), area_order);
	return 0;
}

static int join_lists(struct census *c, const struct census *more)
{
	if (append(&c->own, c->nown, more->own, more->nown, sizeof(*c->own)) < 0)
		return -ENOMEM;
	c->nown += more->nown;
	if (c->nown)
		qsort(c->own, c->nown, sizeof(*c->own), block_order);
	if (append(&c->inner, c->ninner, more->inner, more->ninner, sizeof(*c->inner)) < 0)
		return -ENOMEM;
	c->ninner += more->ninner;
	if (join_areas(c, more) < 0 ||
	    append(&c->arenas, c->narenas, more->arenas, more->narenas, sizeof(*c->arenas)) < 0)
		return -ENOMEM;
	c->narenas += more->narenas;
	return 0;
}

static void join_figures(struct census *c, const struct census *more)
{
	c->mmapped.blocks += more->mmapped.blocks;
	c->mmapped.bytes += more->mmapped.bytes;
	/* if one of them was not found, the sum is not known */
	if (c->mmapped_claimed != UINT64_MAX)
		c->mmapped_claimed = more->mmapped_claimed == UINT64_MAX
					     ? UINT64_MAX
					     : c->mmapped_claimed + more->mmapped_claimed;
	c->mmapped_chunks_claimed += more->mmapped_chunks_claimed;
	c->others += more->others;
	c->others_bytes += more->others_bytes;
	c->between += more->between;
	c->foreign_bytes += more->foreign_bytes;
	c->unseen_bytes += more->unseen_bytes;
	if (!*c->doubt.what)
		c->doubt = more->doubt;
	c->unsure += more->unsure;
	c->repaired += more->repaired;
	c->differing += more->differing;
	c->nproblems += more->nproblems;
}

static int join_known(struct census *c, struct census *more)
{
	size_t overlaps;
	int err = join_lists(c, more);

	if (err == 0)
		err = join_blocks(c, more);
	if (err)
		return err;
	overlaps = part_areas(c);
	if (overlaps)
		drop_overlapping(c);
	join_figures(c, more);
	census_unsure(c, overlaps, 0, "memory that two allocators have");
	return 0;
}

int census_join(struct census *c, struct census *more)
{
	if (c->known && more->known) {
		const int err = join_known(c, more);

		if (err)
			return err;
	} else if (more->known) {
		const struct census had = *c;

		*c = *more;
		*more = had;
		/* why another was not found matters no more */
		*more->problem.what = '\0';
	} else if (c->known) {
		*more->problem.what = '\0';
	}
	join_texts(c, more);
	census_fini(more);
	return 0;
}
