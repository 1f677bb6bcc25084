/* SPDX-License-Identifier: MIT */
#include "heap/jemalloc/jemalloc_map.h"

#include <string.h>

#include "heap/jemalloc/jemalloc.h"

int jemalloc_map_find(const struct snapshot *s, struct jemalloc_map *out)
{
	struct census c;
	struct jemalloc j = { .s = s, .c = &c, .cursor = snapshot_cursor_of(s) };
	int r;

	census_init(&c);
	r = jemalloc_find(&j);
	*out = (struct jemalloc_map){ .version = j.version, .form = j.form, .root = j.root,
				      .data_lo = j.data_lo, .data_hi = j.data_hi, .huge = j.huge,
				      .text = j.version ? j.version->name : "" };
	memcpy(out->unread, c.unread, sizeof(out->unread));
	census_fini(&c);
	return r;
}

/* --- the way to an element --- */

uint64_t jemalloc_map_leaf(const struct jemalloc_map *m, taddr at)
{
	return at / JEMALLOC_PAGE >> m->form->bits;
}

unsigned jemalloc_map_tables(const struct jemalloc_map *m)
{
	return m->form->levels - 1u;
}

/* The index of @at in a table of @level. */
static uint64_t index_in(const struct jemalloc_map *m, unsigned level, taddr at)
{
	const unsigned below = m->form->bits * (m->form->levels - 1u - level);

	return at / JEMALLOC_PAGE >> below & ((UINT64_C(1) << m->form->bits) - 1);
}

taddr jemalloc_map_step(const struct jemalloc_map *m, unsigned level, taddr table, taddr at)
{
	return table + 8 * index_in(m, level, at);
}

taddr jemalloc_map_element(const struct jemalloc_map *m, taddr leaf, taddr at, unsigned *nwords)
{
	*nwords = m->form->leaf_words;
	return leaf + 8 * *nwords * index_in(m, m->form->levels - 1u, at);
}

/* --- what the words say --- */

struct jemalloc_place jemalloc_map_place(const struct jemalloc_map *m, const uint64_t *words)
{
	const struct jemalloc_element e = jemalloc_element(m->version, m->form, words);

	return (struct jemalloc_place){ .extent = e.extent, .slab = e.slab,
					.size = e.extent ? jemalloc_size(e.class) : 0 };
}

/* By the bitmap of the slab: a 1 is a free region. */
static enum jemalloc_use use_in_slab(const uint64_t *words, uint64_t size, uint64_t bytes, uint64_t offset)
{
	const uint64_t i = offset / size;

	if (offset % size || i >= bytes / size || i >= JEMALLOC_REGIONS)
		return JEMALLOC_UNSURE;
	return words[EXTENT_BITMAP / 8 + i / 64] >> i % 64 & 1 ? JEMALLOC_FREE : JEMALLOC_USED;
}

static taddr first_page(const uint64_t *words)
{
	return words[EXTENT_ADDR / 8] & ~(taddr)(JEMALLOC_PAGE - 1);
}

static uint64_t bytes_of(const uint64_t *words)
{
	return words[EXTENT_SIZE / 8] & ~(uint64_t)(JEMALLOC_PAGE - 1);
}

/* Not if the extent's struct was given away since the element was read, and maybe the block with it. */
static bool is_still_of(const struct jemalloc_version *v, const struct jemalloc_place *p, const uint64_t *words,
			taddr at)
{
	const uint64_t bits = words[EXTENT_BITS / 8];

	return (bits >> v->state_shift & v->state_mask) == EXTENT_ACTIVE &&
	       at - first_page(words) < bytes_of(words) && jemalloc_size(extent_class(v, bits)) == p->size &&
	       !!(bits & EXTENT_SLAB) == p->slab && !(bits & v->huge);
}

taddr jemalloc_map_start(const struct jemalloc_map *m, const struct jemalloc_place *p,
			 const uint64_t words[JEMALLOC_EXTENT_WORDS], taddr at)
{
	if (!p->size || !is_still_of(m->version, p, words, at))
		return 0;
	return p->slab ? at - (at - first_page(words)) % p->size : words[EXTENT_ADDR / 8];
}

enum jemalloc_use jemalloc_map_use(const struct jemalloc_map *m, const struct jemalloc_place *p,
				   const uint64_t words[JEMALLOC_EXTENT_WORDS], taddr at)
{
	if (!is_still_of(m->version, p, words, at))
		return JEMALLOC_UNSURE;
	if (p->slab)
		return use_in_slab(words, p->size, bytes_of(words), at - first_page(words));
	return words[EXTENT_ADDR / 8] == at ? JEMALLOC_USED : JEMALLOC_UNSURE;
}
