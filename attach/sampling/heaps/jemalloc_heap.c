/* SPDX-License-Identifier: MIT */
#include "attach/sampling/heaps/jemalloc_heap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "attach/sampling/heaps/jemalloc_cached.h"
#include "attach/sampling/heaps/live_pages.h"
#include "attach/sampling/heaps/owner_words.h"
#include "base/addrmap.h"

#define PAGE 4096u
#define HIGHEST (1ull << 47)
#define ALIGN 8u
#define ELEMENT_WORDS 2u

enum which { ELEMENT, FIRST_WORDS, PIECES };

/* A block that is looked at. */
struct item {
	struct block_look *look;
	uint64_t element[ELEMENT_WORDS], words[OWNER_WORDS], extent[JEMALLOC_EXTENT_WORDS];
	struct jemalloc_place place;
};

struct jemalloc_heap {
	struct block_heap heap;
	pid_t pid;
	struct jemalloc_map map;
	struct addrmap leaves;		/* number of a leaf -> its address; they are never freed */
	struct jemalloc_cached cached;
	struct item items[BLOCK_LOOKS];
	size_t n;
	struct remote_read_piece first[BLOCK_LOOKS * PIECES], extents[BLOCK_LOOKS];
};

/* --- the page map --- */

/* The leaf that has the element of @at; 0: there is none yet. */
static taddr leaf_of(struct jemalloc_heap *h, taddr at)
{
	const uint64_t number = jemalloc_map_leaf(&h->map, at);
	const taddr *known = addrmap_get(&h->leaves, number);
	taddr table = h->map.root;

	if (known)
		return *known;
	for (unsigned level = 0; level < jemalloc_map_tables(&h->map); level++)
		if (!remote_read_words(h->pid, jemalloc_map_step(&h->map, level, table, at), &table, sizeof(table)) ||
		    !table)
			return 0;
	(void)!addrmap_put(&h->leaves, number, &table);
	return table;
}

/* Where the element of @at is; 0: nowhere. */
static taddr element_of(struct jemalloc_heap *h, taddr at, unsigned *nwords)
{
	const taddr leaf = leaf_of(h, at);

	return leaf ? jemalloc_map_element(&h->map, leaf, at, nwords) : 0;
}

/* --- when it is given out --- */

/* The block around the address that a wrapper returned. 0: there is none. */
static taddr start_of(struct jemalloc_heap *h, const struct jemalloc_place *place, taddr inside)
{
	uint64_t extent[JEMALLOC_EXTENT_WORDS];

	return remote_read_words(h->pid, place->extent, extent, sizeof(extent))
		       ? jemalloc_map_start(&h->map, place, extent, inside)
		       : 0;
}

static bool born(struct block_heap *heap, const struct block_hit *hit, struct block_birth *out)
{
	struct jemalloc_heap *h = (struct jemalloc_heap *)heap;
	const taddr asked = hit->inside ? hit->inside : hit->addr;
	uint64_t words[ELEMENT_WORDS];
	struct jemalloc_place place;
	unsigned nwords;
	taddr at, start;

	if (asked < PAGE || asked >= HIGHEST - PAGE)
		return false;
	at = element_of(h, asked, &nwords);
	if (!at || !remote_read_words(h->pid, at, words, 8 * nwords))
		return false;
	place = jemalloc_map_place(&h->map, words);
	start = hit->inside && place.size ? start_of(h, &place, hit->inside) : hit->addr;
	if (!start || start % ALIGN)
		return false;
	*out = (struct block_birth){ .heap = heap, .addr = start, .bytes = place.size, .usable = place.size,
				     .has_start = true };
	if (start == hit->addr)
		owner_words_born(hit, place.size, &out->words);
	return place.size;
}

/* --- a look --- */

/* 0 or -ENOMEM. */
static int ask(struct jemalloc_heap *h, size_t i)
{
	struct item *it = &h->items[i];
	const struct tracked_block *b = it->look->b;
	const uint64_t bytes = tracked_bytes(b);
	struct remote_read_piece *first = &h->first[PIECES * i];
	unsigned nwords = 0;
	const taddr at = element_of(h, b->addr, &nwords);

	first[ELEMENT] = remote_read_piece(at, it->element, at ? 8 * nwords : 0);
	first[FIRST_WORDS] = remote_read_piece(b->addr, it->words, 8 * owner_words_of(bytes));
	return jemalloc_cached_ask(&h->cached, b->addr, bytes);
}

static int read_extents(struct jemalloc_heap *h, struct remote_read *g)
{
	for (size_t i = 0; i < h->n; i++) {
		struct item *it = &h->items[i];

		h->extents[i] = remote_read_piece(0, it->extent, 0);
		if (!remote_read_has(&h->first[PIECES * i + ELEMENT]))
			continue;
		it->place = jemalloc_map_place(&h->map, it->element);
		if (it->place.size == tracked_bytes(it->look->b))
			h->extents[i] = remote_read_piece(it->place.extent, it->extent, sizeof(it->extent));
	}
	return remote_read_now(g, h->extents, h->n);
}

static enum block_sign sign_of(const struct jemalloc_heap *h, size_t k)
{
	const struct item *i = &h->items[k];
	enum jemalloc_use use;

	if (!remote_read_has(&h->first[PIECES * k + ELEMENT]))
		return BLOCK_UNSEEN;
	if (!i->place.size)
		return BLOCK_FREED;
	if (i->place.size != tracked_bytes(i->look->b))
		return BLOCK_RESIZED;
	use = remote_read_has(&h->extents[k])
		      ? jemalloc_map_use(&h->map, &i->place, i->extent, i->look->addr)
		      : JEMALLOC_UNSURE;
	if (use != JEMALLOC_USED)
		return use == JEMALLOC_FREE ? BLOCK_FREED : BLOCK_UNSEEN;
	switch (jemalloc_cached_answer(&h->cached, i->look->addr)) {
	case CACHED_YES:
		return BLOCK_LINKED;
	case CACHED_UNSURE:
		return BLOCK_UNSEEN;
	default:
		return BLOCK_IN_USE;
	}
}

static int look(struct block_heap *heap, struct remote_read *g, struct block_look *const *looks, size_t n)
{
	struct jemalloc_heap *h = (struct jemalloc_heap *)heap;
	int r = jemalloc_cached_list(&h->cached);

	/* without any cache it is not known what is in them */
	r = r == -ENOENT ? 0 : r;
	jemalloc_cached_begin(&h->cached);
	h->n = n;
	for (size_t i = 0; i < n && r == 0; i++) {
		h->items[i].look = looks[i];
		r = ask(h, i);
	}
	if (r == 0)
		r = remote_read_now(g, h->first, PIECES * n);
	if (r == 0)
		r = jemalloc_cached_read(&h->cached, g);
	if (r == 0)
		r = read_extents(h, g);
	if (r == 0)
		r = jemalloc_cached_read(&h->cached, g);
	for (size_t i = 0; i < n && r == 0; i++) {
		const struct remote_read_piece *first = &h->first[PIECES * i];
		struct block_look *l = looks[i];

		l->sign = sign_of(h, i);
		l->away = !remote_read_has(&first[ELEMENT]);
		owner_words_look(l, h->items[i].words, remote_read_has(&first[FIRST_WORDS]) ? first[FIRST_WORDS].n / 8 : 0);
	}
	return r;
}

/* --- --- */

static void fini(struct block_heap *heap)
{
	struct jemalloc_heap *h = (struct jemalloc_heap *)heap;

	jemalloc_cached_fini(&h->cached);
	addrmap_fini(&h->leaves);
	free(h);
}

static int find(const struct snapshot *s, void *map)
{
	return jemalloc_map_find(s, map);
}

/* 0; -ENOENT: there is no thread's cache; or -errno. */
static int make(pid_t pid, const struct jemalloc_map *map, struct block_heap **out)
{
	struct jemalloc_heap *h = calloc(1, sizeof(*h));
	int r;

	if (!h)
		return -ENOMEM;
	h->heap = (struct block_heap){ .born = born, .look = look, .free = fini };
	h->pid = pid;
	h->map = *map;
	addrmap_init(&h->leaves, sizeof(taddr));
	jemalloc_cached_init(&h->cached, pid, &h->map);
	r = jemalloc_cached_list(&h->cached);
	if (r < 0)
		fini(&h->heap);
	else
		*out = &h->heap;
	return r;
}

int jemalloc_heap_open(pid_t pid, struct block_heap_found *out)
{
	struct jemalloc_map map;
	int r;

	*out = (struct block_heap_found){ 0 };
	r = live_pages_find(pid, find, &map);
	if (r < 0) {
		if (r == -ENOENT)
			snprintf(out->why, sizeof(out->why), "%s", map.unread);
		return r;
	}
	if (map.huge) {
		snprintf(out->why, sizeof(out->why),
			 "jemalloc's huge page allocator (opt.hpa) is on: what it keeps free cannot be read");
		return -ENOTSUP;
	}
	out->data_lo = map.data_lo;
	out->data_hi = map.data_hi;
	r = make(pid, &map, &out->heap);
	if (r == -ENOENT)
		snprintf(out->why, sizeof(out->why),
			 "jemalloc %s is there, but no thread's cache of it was found (tcache:false, or "
			 "threads that glibc has not made)",
			 map.text);
	return r;
}
