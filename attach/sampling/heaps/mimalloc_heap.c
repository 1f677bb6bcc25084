/* SPDX-License-Identifier: MIT */
#include "attach/sampling/heaps/mimalloc_heap.h"

#include <errno.h>
#include <stdlib.h>

#include "attach/sampling/heaps/free_lists.h"
#include "attach/sampling/heaps/live_pages.h"
#include "attach/sampling/heaps/owner_words.h"
#include "base/addrmap.h"
#include "heap/mimalloc/mimalloc_map.h"

/* Words of a page: the first blocks of its lists. */
#define FREE 2u
#define LOCAL_FREE 4u

enum which { COOKIE, SLICE, PIECES };
enum which_more { PAGE_WORDS, FIRST_WORDS, MORE };
enum lists { OWN, FOREIGN, DELAYED };

/* A block that is looked at. */
struct item {
	struct block_look *look;
	uint64_t cookie, slice, words[OWNER_WORDS], page[MIMALLOC_PAGE_WORDS];
	taddr page_at;
	struct mimalloc_place place;
	bool may_be_free;
};

struct mimalloc_heap {
	struct block_heap heap;
	pid_t pid;
	struct mimalloc_map map;
	struct free_lists lists;
	struct addrmap wanted;		/* pages and heaps whose lists are */
	struct item items[BLOCK_LOOKS];
	size_t n;
	struct remote_read_piece first[BLOCK_LOOKS * PIECES], more[BLOCK_LOOKS * MORE];
};

/* --- when it is given out --- */

static bool born(struct block_heap *heap, const struct block_hit *hit, struct block_birth *out)
{
	struct mimalloc_heap *h = (struct mimalloc_heap *)heap;
	uint64_t cookie, expected, word, words[MIMALLOC_PAGE_WORDS];
	const taddr slice = mimalloc_map_slice(hit->addr);
	const taddr cookie_at = mimalloc_map_cookie(&h->map, hit->addr, &expected);
	struct mimalloc_place p;
	taddr page, listed;

	if (!remote_read_is_address(hit->addr) || !remote_read_words(h->pid, cookie_at, &cookie, sizeof(cookie)) ||
	    cookie != expected || !remote_read_words(h->pid, slice, &word, sizeof(word)))
		return false;
	page = mimalloc_map_page(slice, word);
	if (!page || !remote_read_words(h->pid, page, words, sizeof(words)))
		return false;
	p = mimalloc_map_place(page, words);
	/* an address inside of a block is in no list when that is freed */
	if (!p.size || p.aligned || hit->addr < p.lo || hit->addr >= p.hi)
		return false;
	/* where blocks begin is shown by any that is in a list */
	listed = words[FREE] ? words[FREE] : words[LOCAL_FREE];
	if (listed && (int64_t)(hit->addr - listed) % (int64_t)p.size)
		return false;
	*out = (struct block_birth){ .heap = heap, .addr = hit->addr, .bytes = p.size, .usable = p.size };
	owner_words_born(hit, p.size, &out->words);
	return true;
}

/* --- a look: what is there --- */

static void ask(struct mimalloc_heap *h, size_t i)
{
	struct item *it = &h->items[i];
	const taddr at = it->look->addr;
	struct remote_read_piece *first = &h->first[PIECES * i];
	uint64_t expected;

	first[COOKIE] = remote_read_piece(mimalloc_map_cookie(&h->map, at, &expected), &it->cookie, 8);
	first[SLICE] = remote_read_piece(mimalloc_map_slice(at), &it->slice, 8);
}

static bool has(const struct mimalloc_heap *h, size_t i, enum which which)
{
	return remote_read_has(&h->first[PIECES * i + which]);
}

static bool is_absent(const struct mimalloc_heap *h, size_t i, enum which which)
{
	return h->first[PIECES * i + which].got == REMOTE_READ_ABSENT;
}

/* The words after the page: which links may be there depends on its flags. */
static int read_pages(struct mimalloc_heap *h, struct remote_read *g)
{
	for (size_t i = 0; i < h->n; i++) {
		struct item *it = &h->items[i];
		const taddr at = it->look->addr;

		it->page_at = has(h, i, SLICE) ? mimalloc_map_page(mimalloc_map_slice(at), it->slice) : 0;
		h->more[MORE * i + PAGE_WORDS] =
			remote_read_piece(it->page_at, it->page, it->page_at ? sizeof(it->page) : 0);
		h->more[MORE * i + FIRST_WORDS] =
			remote_read_piece(at, it->words, 8 * owner_words_of(tracked_bytes(it->look->b)));
	}
	return remote_read_now(g, h->more, MORE * h->n);
}

static bool has_more(const struct mimalloc_heap *h, size_t i, enum which_more which)
{
	return remote_read_has(&h->more[MORE * i + which]);
}

/* Is its first word what free would have written there? */
static bool has_link(const struct mimalloc_heap *h, size_t i)
{
	const struct item *it = &h->items[i];
	const struct mimalloc_place *p = &it->place;
	const uint64_t to = it->words[0];

	if (!p->size || !has_more(h, i, FIRST_WORDS))
		return false;
	if (!to || (p->delayed && remote_read_is_address(to)))
		return true;
	return to >= p->lo && to < p->hi && (int64_t)(to - it->look->addr) % (int64_t)p->size == 0;
}

/* Is there a block that may be free? */
static bool place_items(struct mimalloc_heap *h)
{
	bool any = false;

	for (size_t i = 0; i < h->n; i++) {
		struct item *it = &h->items[i];

		it->place = (struct mimalloc_place){ 0 };
		if (has_more(h, i, PAGE_WORDS))
			it->place = mimalloc_map_place(it->page_at, it->page);
		it->may_be_free = has_link(h, i);
		any |= it->may_be_free;
	}
	return any;
}

/* --- a look: lists of free blocks --- */

static void lead(void *ctx, struct free_lists *f, const struct free_source *s, const uint64_t *words)
{
	taddr free, local;

	(void)ctx;
	if (s->what == OWN) {
		free_lists_count(f, mimalloc_map_own(words, &free, &local));
		free_lists_list(f, free);
		free_lists_list(f, local);
	} else {
		/* how many there are is written down nowhere */
		free_lists_list(f, s->what == FOREIGN ? mimalloc_map_foreign_first(words[0]) : words[0]);
	}
}

static int want(struct mimalloc_heap *h, taddr key, const struct free_source *s, size_t n)
{
	bool fresh;
	int r = 0;

	if (!addrmap_slot(&h->wanted, key, &fresh))
		return -ENOMEM;
	for (size_t i = 0; i < n && fresh && r == 0; i++)
		r = free_lists_source(&h->lists, &s[i]);
	return r;
}

static int want_lists(struct mimalloc_heap *h, const struct item *it)
{
	const struct free_source of_page[] = {
		{ it->page_at, 8 * MIMALLOC_OWN_WORDS, OWN, it->page_at },
		{ mimalloc_map_foreign(it->page_at), 8, FOREIGN, it->page_at },
	};
	const taddr heap = it->place.delayed && remote_read_is_address(it->place.heap) ? it->place.heap : 0;
	const struct free_source of_heap = { mimalloc_map_delayed(heap), 8, DELAYED, heap };
	int r = free_lists_ask(&h->lists, it->look->addr, it->page_at, heap);

	if (r == 0)
		r = want(h, it->page_at, of_page, 2);
	return r == 0 && heap ? want(h, heap, &of_heap, 1) : r;
}

/* Which of the blocks that may be free are in a list? */
static int read_lists(struct mimalloc_heap *h, struct remote_read *g)
{
	int r = 0;

	addrmap_clear(&h->wanted);
	for (size_t i = 0; i < h->n && r == 0; i++)
		if (h->items[i].may_be_free)
			r = want_lists(h, &h->items[i]);
	return r == 0 ? free_lists_read(&h->lists, g) : r;
}

/* --- a look: what it means --- */

static enum block_sign sign_by_lists(const struct mimalloc_heap *h, const struct item *it)
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

static enum block_sign sign_of(const struct mimalloc_heap *h, size_t i)
{
	const struct item *it = &h->items[i];
	uint64_t expected;

	(void)mimalloc_map_cookie(&h->map, it->look->addr, &expected);
	if (is_absent(h, i, COOKIE) || is_absent(h, i, SLICE))
		return BLOCK_UNMAPPED;
	if (has(h, i, COOKIE) && it->cookie != expected)
		return BLOCK_FREED;
	if (!has(h, i, COOKIE) || !has(h, i, SLICE))
		return BLOCK_UNSEEN;
	if (!it->page_at)
		return BLOCK_FREED;
	if (!has_more(h, i, PAGE_WORDS))
		return BLOCK_UNSEEN;
	if (!it->place.size)
		return BLOCK_FREED;
	if (it->place.size != tracked_bytes(it->look->b))
		return BLOCK_RESIZED;
	if (!has_more(h, i, FIRST_WORDS))
		return BLOCK_UNSEEN;
	return it->may_be_free ? sign_by_lists(h, it) : BLOCK_IN_USE;
}

static int look(struct block_heap *heap, struct remote_read *g, struct block_look *const *looks, size_t n)
{
	struct mimalloc_heap *h = (struct mimalloc_heap *)heap;
	int r;

	h->n = n;
	for (size_t i = 0; i < n; i++) {
		h->items[i].look = looks[i];
		ask(h, i);
	}
	r = remote_read_now(g, h->first, PIECES * n);
	if (r == 0)
		r = read_pages(h, g);
	free_lists_begin(&h->lists);
	if (r == 0 && place_items(h) && free_lists_may_read(&h->lists))
		r = read_lists(h, g);
	for (size_t i = 0; i < n && r == 0; i++) {
		struct block_look *l = looks[i];
		const bool words = has_more(h, i, FIRST_WORDS);

		l->sign = sign_of(h, i);
		l->away = l->sign == BLOCK_UNSEEN && !words;
		owner_words_look(l, h->items[i].words, words ? owner_words_of(tracked_bytes(l->b)) : 0);
	}
	return r;
}

/* --- --- */

static void fini(struct block_heap *heap)
{
	struct mimalloc_heap *h = (struct mimalloc_heap *)heap;

	free_lists_fini(&h->lists);
	addrmap_fini(&h->wanted);
	free(h);
}

static int find(const struct snapshot *s, void *map)
{
	return mimalloc_map_find(s, map);
}

int mimalloc_heap_open(pid_t pid, struct block_heap_found *out)
{
	struct mimalloc_map map;
	struct mimalloc_heap *h;
	int r;

	*out = (struct block_heap_found){ 0 };
	r = live_pages_find(pid, find, &map);
	if (r < 0)
		return r;
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->heap = (struct block_heap){ .born = born, .look = look, .free = fini };
	h->pid = pid;
	h->map = map;
	addrmap_init(&h->wanted, 0);
	free_lists_init(&h->lists, lead, h);
	out->heap = &h->heap;
	out->data_lo = map.data_lo;
	out->data_hi = map.data_hi;
	return 0;
}
