/* SPDX-License-Identifier: MIT */
/*
 * jemalloc_extents: all extents of the page map, by address: see jemalloc.h.
 *
 * The map has the first and the last page of each extent, of slabs all pages. So the first element that is met
 * is that of an extent's first page; anything else is a change under way, or corrupt.
 */
#include "heap/jemalloc/jemalloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr_search.h"
#include "base/grow.h"
#include "heap/datamaps.h"

#define BASE_MOST (UINT64_C(4) << 30)	/* how far the beginning of a block of jemalloc's own is looked for */
#define ADDRESS_BITS 48u	/* of an element that has all in one word: the others are the class */

static taddr sign_extend(uint64_t word)
{
	return (taddr)((int64_t)(word << (64 - ADDRESS_BITS)) >> (64 - ADDRESS_BITS));
}

struct jemalloc_element jemalloc_element(const struct jemalloc_version *v, const struct jemalloc_form *f,
					 const uint64_t *w)
{
	const uint64_t below = v->align - 1;

	if (f->leaf_words == 1)
		return (struct jemalloc_element){ sign_extend(w[0]) & ~below, (unsigned)(w[0] >> ADDRESS_BITS) & 0xff,
						  w[0] & 1 };
	/* 5.3: slab, head, state and class from the lowest bit on; 5.2: the class, then the slab as a byte */
	if (v->caches_point_back)
		return (struct jemalloc_element){ w[0], (unsigned)(w[1] >> 5 & 0xff), w[1] & 1 };
	return (struct jemalloc_element){ w[0], (unsigned)(w[1] & 0xff), w[1] >> 32 & 1 };
}

/* --- jemalloc's own memory --- */

static bool in_bases(const struct jemalloc *j, taddr at)
{
	for (size_t i = j->nbases; i--;)
		if (j->bases[i].lo <= at && at < j->bases[i].hi)
			return true;
	return false;
}

/*
 * A block of jemalloc's own memory begins with its size and the struct of the extent that is left of it, which
 * ends where the block does.
 */
static bool is_base(struct jemalloc *j, taddr lo, uint64_t *size)
{
	uint64_t addr, rest;

	return snapshot_cursor_word(&j->cursor, lo, size) && *size >= JEMALLOC_BASE && !(*size % JEMALLOC_BASE) &&
	       datamaps_cover(&j->s->maps, lo, lo + *size) &&
	       snapshot_cursor_word(&j->cursor, lo + 16 + EXTENT_ADDR, &addr) &&
	       snapshot_cursor_word(&j->cursor, lo + 16 + EXTENT_SIZE, &rest) && addr > lo &&
	       addr + rest == lo + *size;
}

/* Note the block of jemalloc's own memory that @at is in. */
static void note_base(struct jemalloc *j, taddr at)
{
	const struct mapping *m = in_bases(j, at) ? NULL : procmaps_find(&j->s->maps, at);
	uint64_t size;

	if (!m)
		return;
	for (taddr lo = at & ~(JEMALLOC_BASE - 1); lo >= m->lo && lo && at - lo < BASE_MOST; lo -= JEMALLOC_BASE) {
		if (!is_base(j, lo, &size) || at - lo >= size)
			continue;
		if (grow_for(&j->bases, j->nbases, &j->base_room, sizeof(*j->bases)) < 0)
			j->no_memory = true;
		else
			j->bases[j->nbases++] = (struct snapshot_range){ lo, lo + size };
		return;
	}
}

/* --- extents --- */

static bool read_extent(struct jemalloc *j, taddr at, struct jemalloc_extent *x)
{
	uint64_t size;

	if (!snapshot_cursor_word(&j->cursor, at + EXTENT_BITS, &x->bits) ||
	    !snapshot_cursor_word(&j->cursor, at + EXTENT_ADDR, &x->addr) ||
	    !snapshot_cursor_word(&j->cursor, at + EXTENT_SIZE, &size))
		return false;
	x->at = at;
	x->lo = x->addr & ~(taddr)(JEMALLOC_PAGE - 1);
	x->bytes = size & ~(uint64_t)(JEMALLOC_PAGE - 1);
	return x->bytes && x->lo + x->bytes > x->lo;
}

/* The part of the map that is walked. */
struct walk {
	struct jemalloc *j;
	taddr next;			/* where the extent before it ends */
	uint64_t elements;		/* that were looked at: no more than there can be in memory */
};

/* The element of page @page. */
static void take_element(struct walk *w, taddr page, const uint64_t *words)
{
	struct jemalloc *j = w->j;
	const struct jemalloc_element e = jemalloc_element(j->version, j->form, words);
	struct jemalloc_extent x;

	if (w->elements++ == j->s->bytes / 8)
		jemalloc_problem(j, page, "the page map has more elements than there is memory");
	if (!e.extent || page < w->next || w->elements > j->s->bytes / 8)
		return;
	if (!read_extent(j, e.extent, &x)) {
		jemalloc_problem(j, e.extent, "the page map has no extent for " PRItaddr, page);
		return;
	}
	if (x.lo != page) {
		/* the end of one that is just being put together, or divided: no block of the program's */
		census_unsure(j->c, extent_state(j, x.bits) == EXTENT_ACTIVE && page - x.lo < x.bytes, page,
			      "an extent is being put together, or divided");
		return;
	}
	if (!datamaps_cover(&j->s->maps, x.lo, x.lo + x.bytes)) {
		/* a core may lack the memory of those that are free */
		if (extent_state(j, x.bits) == EXTENT_ACTIVE)
			jemalloc_problem(j, e.extent, "an extent is larger than its memory");
		return;
	}
	x.taken = extent_state(j, x.bits) == EXTENT_ACTIVE && e.class != JEMALLOC_SIZES;
	j->huge |= x.taken && x.bits & j->version->huge;
	census_unsure(j->c, x.taken && (e.class != extent_class(j->version, x.bits) ||
					e.slab != !!(x.bits & EXTENT_SLAB)), page,
		      "the page map has another class of an extent than it has");
	note_base(j, x.at);
	w->next = x.lo + x.bytes;
	if (grow_for(&j->extents, j->nextents, &j->extent_room, sizeof(*j->extents)) < 0)
		j->no_memory = true;
	else
		j->extents[j->nextents++] = x;
}

/* From @at on, what of [at, end) the snapshot has, and is not zero for certain. NULL: nothing more. */
static const uint8_t *next_bytes(const struct snapshot *s, taddr *at, taddr end, uint64_t *n)
{
	while (*at < end) {
		const uint8_t *bytes = snapshot_bytes(s, *at, n);

		if (bytes && *n >= 8) {
			*n = *n < end - *at ? *n : end - *at;
			return bytes;
		}
		if (!bytes && snapshot_extent(s, *at, n) == SNAPSHOT_NOTHING)
			return NULL;
		*at += *n & ~(uint64_t)7 ? *n & ~(uint64_t)7 : 8;
	}
	return NULL;
}

static void walk_leaf(struct walk *w, taddr leaf, uint64_t key)
{
	const struct jemalloc_form *f = w->j->form;
	const unsigned size = f->leaf_words * 8u;
	const taddr end = leaf + ((taddr)size << f->bits);
	const uint8_t *bytes;
	uint64_t n;

	note_base(w->j, leaf);
	for (taddr at = leaf; (bytes = next_bytes(w->j->s, &at, end, &n)) && !w->j->no_memory; at += n & ~UINT64_C(7))
		for (uint64_t i = (size - (at - leaf) % size) % size; i + size <= n; i += size) {
			uint64_t words[2] = { 0 };

			memcpy(words, bytes + i, size);
			if (words[0])
				take_element(w, (key << f->bits | (at + i - leaf) / size) * JEMALLOC_PAGE, words);
		}
}

/* The tables of @level at @table, for addresses that begin with @key. */
static void walk_table(struct walk *w, taddr table, unsigned level, uint64_t key)
{
	const struct jemalloc_form *f = w->j->form;
	const taddr end = table + ((taddr)8 << f->bits);
	const uint8_t *bytes;
	uint64_t n;

	for (taddr at = table; (bytes = next_bytes(w->j->s, &at, end, &n)) && !w->j->no_memory; at += n & ~UINT64_C(7))
		for (uint64_t i = 0; i + 8 <= n; i += 8) {
			const uint64_t k = key << f->bits | (at + i - table) / 8;
			taddr child;

			memcpy(&child, bytes + i, sizeof(child));
			if (child && level + 2 == f->levels)
				walk_leaf(w, child, k);
			else if (child)
				walk_table(w, child, level + 1, k);
		}
}

int jemalloc_list_extents(struct jemalloc *j)
{
	struct walk w = { .j = j };

	walk_table(&w, j->root, 0, 0);
	j->nbases = snapshot_join(j->bases, j->nbases);
	return j->no_memory ? -ENOMEM : 0;
}

const struct jemalloc_extent *jemalloc_extent_over(const struct jemalloc *j, taddr at)
{
	const size_t i = ADDR_SEARCH(j->extents, j->nextents, lo, at);

	return i && at - j->extents[i - 1].lo < j->extents[i - 1].bytes ? &j->extents[i - 1] : NULL;
}
