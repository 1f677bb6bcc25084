/* SPDX-License-Identifier: MIT */
#include "attach/sampling/heaps/tcmalloc_heap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/sampling/heaps/free_lists.h"
#include "attach/sampling/heaps/live_pages.h"
#include "attach/sampling/heaps/owner_words.h"
#include "base/addrmap.h"
#include "base/grow.h"
#include "heap/tcmalloc/tcmalloc_map.h"

#define CACHES_MOST 4096u

enum which { ELEMENT, FIRST_WORDS, PIECES };
enum which_more { SPAN, TARGET, MORE };
enum lists { CACHE, CHAINS, OBJECTS };

/* A block that is looked at. */
struct item {
	struct block_look *look;
	/* of it, and of what its first word leads to */
	uint64_t element, span[TCMALLOC_SPAN_WORDS], element_to, span_to[TCMALLOC_SPAN_WORDS];
	uint64_t words[OWNER_WORDS];
	struct tcmalloc_place place;
	bool may_be_free;
};

struct tcmalloc_heap {
	struct block_heap heap;
	pid_t pid;
	struct tcmalloc_map map;
	struct addrmap leaves;		/* number of a leaf -> its address; they are never freed */
	taddr *caches;
	size_t ncaches;
	struct free_lists lists;
	bool wanted[TCMALLOC_CLASSES];	/* the lists of a class */
	struct addrmap spans;		/* the lists of a span */
	struct item items[BLOCK_LOOKS];
	size_t n;
	struct remote_read_piece first[BLOCK_LOOKS * PIECES], more[BLOCK_LOOKS * MORE];
};

/* --- the page map --- */

/* Where the element of @at is; 0: there is none yet. */
static taddr element_of(struct tcmalloc_heap *h, taddr at)
{
	const uint64_t number = tcmalloc_map_leaf(&h->map, at);
	const taddr *known = addrmap_get(&h->leaves, number);
	taddr leaf;

	if (known)
		return tcmalloc_map_element(&h->map, *known, at);
	if (!remote_read_words(h->pid, tcmalloc_map_step(&h->map, at), &leaf, sizeof(leaf)) ||
	    !remote_read_is_address(leaf))
		return 0;
	(void)!addrmap_put(&h->leaves, number, &leaf);
	return tcmalloc_map_element(&h->map, leaf, at);
}

static struct remote_read_piece piece(taddr at, void *to, uint64_t n)
{
	return remote_read_piece(at, to, remote_read_is_address(at) ? n : 0);
}

/* --- when it is given out --- */

static bool born(struct block_heap *heap, const struct block_hit *hit, struct block_birth *out)
{
	struct tcmalloc_heap *h = (struct tcmalloc_heap *)heap;
	const taddr at = remote_read_is_address(hit->addr) ? element_of(h, hit->addr) : 0;
	uint64_t element, words[TCMALLOC_SPAN_WORDS];
	struct tcmalloc_place place;

	if (!at || !remote_read_words(h->pid, at, &element, sizeof(element)) || !remote_read_is_address(element) ||
	    !remote_read_words(h->pid, element, words, sizeof(words)))
		return false;
	place = tcmalloc_map_place(&h->map, words, hit->addr);
	*out = (struct block_birth){ .heap = heap, .addr = hit->addr, .bytes = place.size, .usable = place.size };
	owner_words_born(hit, place.size, &out->words);
	return place.size;
}

/* --- a look: what is there --- */

static void ask(struct tcmalloc_heap *h, size_t i)
{
	struct item *it = &h->items[i];
	const struct tracked_block *b = it->look->b;

	it->element = it->element_to = 0;
	it->may_be_free = false;
	h->first[PIECES * i + ELEMENT] = piece(element_of(h, b->addr), &it->element, sizeof(it->element));
	h->first[PIECES * i + FIRST_WORDS] =
		remote_read_piece(b->addr, it->words, 8 * owner_words_of(tracked_bytes(b)));
}

static bool has_words(const struct tcmalloc_heap *h, size_t i)
{
	return remote_read_has(&h->first[PIECES * i + FIRST_WORDS]);
}

static int read_spans(struct tcmalloc_heap *h, struct remote_read *g)
{
	for (size_t i = 0; i < h->n; i++) {
		struct item *it = &h->items[i];
		const uint64_t to = has_words(h, i) ? it->words[0] : 0;

		h->more[MORE * i + SPAN] = piece(it->element, it->span, sizeof(it->span));
		h->more[MORE * i + TARGET] = piece(remote_read_is_address(to) ? element_of(h, to) : 0, &it->element_to,
						   sizeof(it->element_to));
	}
	return remote_read_now(g, h->more, MORE * h->n);
}

static void place_items(struct tcmalloc_heap *h)
{
	for (size_t i = 0; i < h->n; i++) {
		struct item *it = &h->items[i];

		it->place = (struct tcmalloc_place){ 0 };
		if (remote_read_has(&h->more[MORE * i + SPAN]))
			it->place = tcmalloc_map_place(&h->map, it->span, it->look->addr);
	}
}

/* Of each block of a class whose first word leads to a span: that span. */
static int read_targets(struct tcmalloc_heap *h, struct remote_read *g)
{
	for (size_t i = 0; i < h->n; i++) {
		struct item *it = &h->items[i];

		h->more[MORE * i + TARGET] =
			piece(it->place.class ? it->element_to : 0, it->span_to, sizeof(it->span_to));
		h->more[MORE * i + SPAN].n = 0;
	}
	return remote_read_now(g, h->more, MORE * h->n);
}

/* Is its first word what free would have written there? */
static bool has_link(const struct tcmalloc_heap *h, size_t i)
{
	const struct item *it = &h->items[i];

	if (!it->place.class || !has_words(h, i))
		return false;
	if (!it->words[0])
		return true;
	return remote_read_has(&h->more[MORE * i + TARGET]) &&
	       tcmalloc_map_place(&h->map, it->span_to, it->words[0]).class == it->place.class;
}

/* --- a look: lists of free blocks --- */

/* Is there a thread cache at @at? */
static bool read_cache(const struct tcmalloc_heap *h, taddr at, taddr *next, taddr *prev)
{
	uint64_t words[TCMALLOC_CACHE_WORDS];

	return remote_read_is_address(at) && remote_read_words(h->pid, at, words, sizeof(words)) &&
	       tcmalloc_map_cache(&h->map, words, next, prev);
}

/* A thread that has just begun, or ended, may have freed blocks. 0 or -ENOMEM. */
static int list_caches(struct tcmalloc_heap *h)
{
	taddr at = 0, next, prev;

	if (!remote_read_words(h->pid, h->map.caches, &at, sizeof(at)))
		at = 0;
	/* to the first of them */
	for (size_t n = 0; read_cache(h, at, &next, &prev) && prev && n < CACHES_MOST; n++)
		at = prev;
	for (h->ncaches = 0; h->ncaches < CACHES_MOST && read_cache(h, at, &next, &prev); at = next) {
		taddr *place = grow_by_one(&h->caches, h->ncaches, sizeof(*place));

		if (!place)
			return -ENOMEM;
		*place = at;
		h->ncaches++;
	}
	/* some are missing, or change just now: a block may be in the list of one of these */
	if (at)
		h->ncaches = 0;
	return 0;
}

static void lead(void *ctx, struct free_lists *f, const struct free_source *s, const uint64_t *words)
{
	struct tcmalloc_heap *h = ctx;

	if (s->what == CACHE) {
		free_lists_list(f, words[0]);
		free_lists_count(f, tcmalloc_map_listed(words));
	} else if (s->what == CHAINS) {
		const uint32_t n = tcmalloc_map_chained(words);

		for (uint32_t i = 0; i < n; i++)
			free_lists_list(f, words[2 * i]);
		free_lists_count(f, (uint64_t)n * h->map.classes[s->kind].batch);
	} else {
		/* of the span's first block: it need not be free */
		const struct tcmalloc_place p = tcmalloc_map_place(&h->map, words, words[0] << h->map.page_shift);

		free_lists_list(f, p.objects);
		free_lists_count(f, p.free);
	}
}

static int want_class(struct tcmalloc_heap *h, unsigned class)
{
	int r = 0;

	if (h->wanted[class])
		return 0;
	h->wanted[class] = true;
	for (size_t i = 0; i < h->ncaches && r == 0; i++)
		r = free_lists_source(&h->lists, &(struct free_source){ tcmalloc_map_list(h->caches[i], class),
									8 * TCMALLOC_LIST_WORDS, CACHE, class });
	if (r == 0)
		r = free_lists_source(&h->lists, &(struct free_source){ tcmalloc_map_chains(&h->map, class),
									8 * TCMALLOC_CHAINS_WORDS, CHAINS, class });
	return r;
}

static int want_span(struct tcmalloc_heap *h, taddr span)
{
	bool fresh;

	if (!addrmap_slot(&h->spans, span, &fresh))
		return -ENOMEM;
	return !fresh ? 0
		      : free_lists_source(&h->lists, &(struct free_source){ span, 8 * TCMALLOC_SPAN_WORDS, OBJECTS,
									   span });
}

/* Which of the blocks that may be free are in a list? */
static int read_lists(struct tcmalloc_heap *h, struct remote_read *g)
{
	int r = list_caches(h);

	/* without any cache it is not known what is in them */
	if (!h->ncaches)
		return r;
	memset(h->wanted, 0, sizeof(h->wanted));
	addrmap_clear(&h->spans);
	for (size_t i = 0; i < h->n && r == 0; i++) {
		const struct item *it = &h->items[i];

		if (!it->may_be_free)
			continue;
		r = free_lists_ask(&h->lists, it->look->addr, it->place.class, it->element);
		if (r == 0)
			r = want_class(h, it->place.class);
		if (r == 0)
			r = want_span(h, it->element);
	}
	return r == 0 ? free_lists_read(&h->lists, g) : r;
}

/* Is there a block that may be free? */
static bool find_links(struct tcmalloc_heap *h)
{
	bool any = false;

	for (size_t i = 0; i < h->n; i++) {
		h->items[i].may_be_free = has_link(h, i);
		any |= h->items[i].may_be_free;
	}
	return any;
}

/* --- a look: what it means --- */

static enum block_sign sign_by_lists(const struct tcmalloc_heap *h, const struct item *it)
{
	const enum free_lists_answer a = free_lists_answer(&h->lists, it->look->addr);

	if (a == LISTED_YES)
		return BLOCK_LINKED;
	/* it may have been in a list when its words were read, and given out before the lists were */
	if (a == LISTED_UNSURE || !owner_words_still(h->pid, it->look->addr, it->words,
						     owner_words_of(tracked_bytes(it->look->b))))
		return BLOCK_UNSEEN;
	return BLOCK_IN_USE;
}

static enum block_sign sign_of(const struct tcmalloc_heap *h, size_t i, bool span_read)
{
	const struct item *it = &h->items[i];

	if (!remote_read_has(&h->first[PIECES * i + ELEMENT]))
		return BLOCK_UNSEEN;
	if (!it->element)
		return BLOCK_FREED;
	if (!span_read)
		return BLOCK_UNSEEN;
	if (!it->place.size)
		return BLOCK_FREED;
	if (it->place.size != tracked_bytes(it->look->b))
		return BLOCK_RESIZED;
	if (!has_words(h, i))
		return BLOCK_UNSEEN;
	return it->may_be_free ? sign_by_lists(h, it) : BLOCK_IN_USE;
}

static int look(struct block_heap *heap, struct remote_read *g, struct block_look *const *looks, size_t n)
{
	struct tcmalloc_heap *h = (struct tcmalloc_heap *)heap;
	bool span_read[BLOCK_LOOKS];
	int r;

	h->n = n;
	for (size_t i = 0; i < n; i++) {
		h->items[i].look = looks[i];
		ask(h, i);
	}
	r = remote_read_now(g, h->first, PIECES * n);
	if (r == 0)
		r = read_spans(h, g);
	for (size_t i = 0; i < n; i++)
		span_read[i] = remote_read_has(&h->more[MORE * i + SPAN]);
	place_items(h);
	if (r == 0)
		r = read_targets(h, g);
	free_lists_begin(&h->lists);
	if (r == 0 && find_links(h) && free_lists_may_read(&h->lists))
		r = read_lists(h, g);
	for (size_t i = 0; i < n && r == 0; i++) {
		struct block_look *l = looks[i];

		l->sign = sign_of(h, i, span_read[i]);
		l->away = l->sign == BLOCK_UNSEEN && !has_words(h, i);
		owner_words_look(l, h->items[i].words, has_words(h, i) ? owner_words_of(tracked_bytes(l->b)) : 0);
	}
	return r;
}

/* --- --- */

static void fini(struct block_heap *heap)
{
	struct tcmalloc_heap *h = (struct tcmalloc_heap *)heap;

	free_lists_fini(&h->lists);
	addrmap_fini(&h->leaves);
	addrmap_fini(&h->spans);
	free(h->caches);
	free(h);
}

static int find(const struct snapshot *s, void *map)
{
	return tcmalloc_map_find(s, map);
}

int tcmalloc_heap_open(pid_t pid, struct block_heap_found *out)
{
	struct tcmalloc_map map;
	struct tcmalloc_heap *h;
	int r;

	*out = (struct block_heap_found){ 0 };
	r = live_pages_find(pid, find, &map);
	if (r < 0) {
		if (r == -ENOENT)
			snprintf(out->why, sizeof(out->why), "%s", map.unread);
		return r;
	}
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->heap = (struct block_heap){ .born = born, .look = look, .free = fini };
	h->pid = pid;
	h->map = map;
	addrmap_init(&h->leaves, sizeof(taddr));
	addrmap_init(&h->spans, 0);
	free_lists_init(&h->lists, lead, h);
	out->heap = &h->heap;
	out->data_lo = map.data_lo;
	out->data_hi = map.data_hi;
	return 0;
}
