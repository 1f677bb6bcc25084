/* SPDX-License-Identifier: MIT */
#include "attach/sampling/blocks/jemalloc_heap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#include "attach/sampling/blocks/jemalloc_cached.h"
#include "attach/sampling/blocks/live_pages.h"
#include "base/addrmap.h"
#include "base/procmaps.h"

#define PAGE 4096u
#define HIGHEST (1ull << 47)
#define ALIGN 8u
#define ROOM 256u		/* blocks that are looked at together */
#define WORDS 2u
#define ELEMENT_WORDS 2u
#define LOOKS 20u
#define LOOK_AGAIN_NS 10000000

enum which { ELEMENT, FIRST_WORDS, PIECES };

/* A block that is looked at. */
struct item {
	struct block_look *look;
	uint64_t element[ELEMENT_WORDS], words[WORDS], extent[JEMALLOC_EXTENT_WORDS];
	struct jemalloc_place place;
	struct remote_read_piece pieces[PIECES], of_extent;
};

struct jemalloc_heap {
	struct block_heap heap;
	pid_t pid;
	struct jemalloc_map map;
	struct addrmap leaves;		/* number of a leaf -> its address; they are never freed */
	struct jemalloc_cached cached;
	struct item items[ROOM];
	size_t n;
	struct remote_read_piece pieces[ROOM * PIECES];
};

/* --- the page map --- */

static bool read_words(const struct jemalloc_heap *h, taddr at, uint64_t *to, size_t bytes)
{
	const struct iovec here = { to, bytes }, there = { (void *)(uintptr_t)at, bytes };

	return process_vm_readv(h->pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

/* The leaf that has the element of @at; 0: there is none yet. */
static taddr leaf_of(struct jemalloc_heap *h, taddr at)
{
	const uint64_t number = jemalloc_map_leaf(&h->map, at);
	const taddr *known = addrmap_get(&h->leaves, number);
	taddr table = h->map.root;

	if (known)
		return *known;
	for (unsigned level = 0; level < jemalloc_map_tables(&h->map); level++)
		if (!read_words(h, jemalloc_map_step(&h->map, level, table, at), &table, sizeof(table)) ||
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

/* What was there before: none of it was written by the block's owner. */
static void keep_words(const struct block_hit *hit, uint64_t size, struct chunkstate *out)
{
	chunkstate_keep(&(struct chunkstate_look){ .block = hit->addr, .nwords = size < 8 * WORDS ? 1 : WORDS,
						   .words = { hit->words[0], hit->words[1] } },
			out);
	out->link = out->blank = true;
}

/* The block around the address that a wrapper returned. 0: there is none. */
static taddr start_of(struct jemalloc_heap *h, const struct jemalloc_place *place, taddr inside)
{
	uint64_t extent[JEMALLOC_EXTENT_WORDS];

	return read_words(h, place->extent, extent, sizeof(extent))
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
	if (!at || !read_words(h, at, words, 8 * nwords))
		return false;
	place = jemalloc_map_place(&h->map, words);
	start = hit->inside && place.size ? start_of(h, &place, hit->inside) : hit->addr;
	if (!start || start % ALIGN)
		return false;
	*out = (struct block_birth){ .heap = heap, .addr = start, .bytes = place.size, .usable = place.size,
				     .has_start = true };
	if (hit->has_words && start == hit->addr)
		keep_words(hit, place.size, &out->words);
	return place.size;
}

/* --- a look --- */

static struct remote_read_piece piece(taddr at, void *to, uint64_t n)
{
	return (struct remote_read_piece){ .at = at, .to = to, .n = (uint32_t)n, .got = REMOTE_READ_FAILED };
}

/* 0 or -ENOMEM. */
static int ask(struct jemalloc_heap *h, struct item *i)
{
	const struct tracked_block *b = i->look->b;
	const uint64_t bytes = tracked_bytes(b);
	unsigned nwords = 0;
	const taddr at = element_of(h, b->addr, &nwords);

	i->pieces[ELEMENT] = piece(at, i->element, at ? 8 * nwords : 0);
	i->pieces[FIRST_WORDS] = piece(b->addr, i->words, bytes < 8 * WORDS ? bytes : 8 * WORDS);
	i->of_extent = piece(0, i->extent, 0);
	return jemalloc_cached_ask(&h->cached, b->addr, bytes);
}

static int read_first(struct jemalloc_heap *h, struct remote_read *g)
{
	size_t n = 0, at = 0;
	int r;

	for (size_t i = 0; i < h->n; i++)
		for (unsigned k = 0; k < PIECES; k++)
			if (h->items[i].pieces[k].n)
				h->pieces[n++] = h->items[i].pieces[k];
	r = remote_read_now(g, h->pieces, n);
	for (size_t i = 0; i < h->n && r == 0; i++)
		for (unsigned k = 0; k < PIECES; k++)
			if (h->items[i].pieces[k].n)
				h->items[i].pieces[k].got = h->pieces[at++].got;
	return r;
}

static bool has(const struct remote_read_piece *p)
{
	return p->n && p->got == REMOTE_READ_DONE;
}

static int read_extents(struct jemalloc_heap *h, struct remote_read *g)
{
	size_t n = 0, at = 0;
	int r;

	for (size_t i = 0; i < h->n; i++) {
		struct item *it = &h->items[i];

		if (!has(&it->pieces[ELEMENT]))
			continue;
		it->place = jemalloc_map_place(&h->map, it->element);
		if (it->place.size != tracked_bytes(it->look->b))
			continue;
		it->of_extent = piece(it->place.extent, it->extent, sizeof(it->extent));
		h->pieces[n++] = it->of_extent;
	}
	r = remote_read_now(g, h->pieces, n);
	for (size_t i = 0; i < h->n && r == 0; i++)
		if (h->items[i].of_extent.n)
			h->items[i].of_extent.got = h->pieces[at++].got;
	return r;
}

static enum block_sign sign_of(const struct jemalloc_heap *h, const struct item *i)
{
	enum jemalloc_use use;

	if (!has(&i->pieces[ELEMENT]))
		return BLOCK_UNSEEN;
	if (!i->place.size)
		return BLOCK_FREED;
	if (i->place.size != tracked_bytes(i->look->b))
		return BLOCK_RESIZED;
	use = has(&i->of_extent) ? jemalloc_map_use(&h->map, &i->place, i->extent, i->look->addr)
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

/* A word is the owner's once it is not what it was when the block was given out. */
static void compare_words(const struct item *i, struct chunkstate *now)
{
	const struct chunkstate *before = &i->look->b->state;
	const bool none = !has(&i->pieces[FIRST_WORDS]);
	const uint8_t nwords = none ? 0 : (uint8_t)(i->pieces[FIRST_WORDS].n / 8);
	unsigned changed;

	chunkstate_keep(&(struct chunkstate_look){ .block = i->look->addr, .nwords = nwords,
						   .words = { i->words[0], i->words[1] } },
			now);
	changed = chunkstate_changed(before, now);
	now->link = before->link && !(changed & 1);
	now->blank = before->blank && !changed;
}

static int look_some(struct jemalloc_heap *h, struct remote_read *g)
{
	int r = jemalloc_cached_list(&h->cached);

	/* without any cache it is not known what is in them */
	r = r == -ENOENT ? 0 : r;
	jemalloc_cached_begin(&h->cached);
	for (size_t i = 0; i < h->n && r == 0; i++)
		r = ask(h, &h->items[i]);
	if (r == 0)
		r = read_first(h, g);
	if (r == 0)
		r = jemalloc_cached_read(&h->cached, g);
	if (r == 0)
		r = read_extents(h, g);
	if (r == 0)
		r = jemalloc_cached_read(&h->cached, g);
	for (size_t i = 0; i < h->n && r == 0; i++) {
		struct block_look *l = h->items[i].look;

		l->sign = sign_of(h, &h->items[i]);
		l->away = !has(&h->items[i].pieces[ELEMENT]);
		compare_words(&h->items[i], &l->now);
	}
	h->n = 0;
	return r;
}

static int look(struct block_heap *heap, struct remote_read *g, struct block_look *looks, size_t n)
{
	struct jemalloc_heap *h = (struct jemalloc_heap *)heap;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		if (looks[i].b->heap != heap)
			continue;
		h->items[h->n++].look = &looks[i];
		if (h->n == ROOM)
			r = look_some(h, g);
	}
	return r == 0 && h->n ? look_some(h, g) : r;
}

/* --- --- */

static void fini(struct block_heap *heap)
{
	struct jemalloc_heap *h = (struct jemalloc_heap *)heap;

	jemalloc_cached_fini(&h->cached);
	addrmap_fini(&h->leaves);
	free(h);
}

/* Find the page map in the memory of process @pid. */
static int find(pid_t pid, struct jemalloc_map *map)
{
	struct live_pages pages;
	struct snapshot s;
	char path[64];
	int r = live_pages_open(&pages, pid);

	if (r < 0)
		return r;
	snapshot_init(&s);
	s.pid = pid;
	s.source = &pages.source;
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	r = procmaps_read(path, &s.maps);
	if (r == 0)
		r = jemalloc_map_find(&s, map);
	snapshot_fini(&s);
	live_pages_close(&pages);
	return r;
}

int jemalloc_heap_new(pid_t pid, struct jemalloc_map *map, struct block_heap **out)
{
	struct jemalloc_heap *h;
	int r = find(pid, map);

	if (r < 0)
		return r;
	h = calloc(1, sizeof(*h));
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
	return r == -ENOENT ? -ENODATA : r;
}

int jemalloc_heap_await(pid_t pid, struct jemalloc_map *map, struct block_heap **out)
{
	const struct timespec pause = { 0, LOOK_AGAIN_NS };
	int r = jemalloc_heap_new(pid, map, out);

	for (unsigned i = 0; i < LOOKS && (r == -ENOENT || r == -ENODATA); i++) {
		nanosleep(&pause, NULL);
		r = jemalloc_heap_new(pid, map, out);
	}
	return r;
}
