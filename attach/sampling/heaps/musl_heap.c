/* SPDX-License-Identifier: MIT */
#include "attach/sampling/heaps/musl_heap.h"

#include <errno.h>
#include <stdlib.h>

#include "attach/sampling/heaps/live_pages.h"
#include "attach/sampling/heaps/owner_words.h"
#include "heap/musl/musl_map.h"

enum which { HEAD, FIRST_WORDS, PIECES };

struct musl_heap {
	struct block_heap heap;
	pid_t pid;
	struct musl_map map;
	struct item {			/* a block that is looked at */
		struct block_look *look;
		uint64_t head, words[OWNER_WORDS];
	} items[BLOCK_LOOKS];
	struct remote_read_piece pieces[BLOCK_LOOKS * PIECES];
};

/* --- when it is given out --- */

static bool born(struct block_heap *heap, const struct block_hit *hit, struct block_birth *out)
{
	struct musl_heap *h = (struct musl_heap *)heap;
	const taddr group = hit->has_head ? musl_map_group(hit->addr, hit->head) : 0;
	uint64_t meta[MUSL_META_WORDS], secret;
	struct musl_place p;
	taddr at;

	if (!group || !remote_read_words(h->pid, group, &at, sizeof(at)) || !musl_map_secret(at) ||
	    !remote_read_words(h->pid, musl_map_secret(at), &secret, sizeof(secret)) || secret != h->map.secret ||
	    !remote_read_words(h->pid, at, meta, sizeof(meta)))
		return false;
	p = musl_map_place(hit->addr, hit->head, group, meta);
	*out = (struct block_birth){ .heap = heap, .addr = hit->addr, .bytes = p.bytes, .usable = p.usable,
				     .mark = musl_map_head(hit->head) };
	owner_words_born(hit, p.usable, &out->words);
	return p.bytes;
}

/* --- a look --- */

static enum block_sign sign_of(const struct musl_heap *h, size_t i)
{
	const struct remote_read_piece *head = &h->pieces[PIECES * i + HEAD];
	const struct item *it = &h->items[i];
	const uint32_t now = musl_map_head(it->head);

	if (head->got == REMOTE_READ_ABSENT)
		return BLOCK_UNMAPPED;
	if (!remote_read_has(head))
		return BLOCK_UNSEEN;
	if (now == it->look->b->mark)
		return BLOCK_IN_USE;
	return musl_map_is_freed(now) ? BLOCK_FREED : BLOCK_RESIZED;
}

static int look(struct block_heap *heap, struct remote_read *g, struct block_look *const *looks, size_t n)
{
	struct musl_heap *h = (struct musl_heap *)heap;
	int r;

	for (size_t i = 0; i < n; i++) {
		struct item *it = &h->items[i];
		const struct tracked_block *b = looks[i]->b;

		it->look = looks[i];
		h->pieces[PIECES * i + HEAD] = remote_read_piece(b->addr - 8, &it->head, 8);
		h->pieces[PIECES * i + FIRST_WORDS] =
			remote_read_piece(b->addr, it->words, 8 * owner_words_of(tracked_bytes(b)));
	}
	r = remote_read_now(g, h->pieces, PIECES * n);
	for (size_t i = 0; i < n && r == 0; i++) {
		const struct remote_read_piece *words = &h->pieces[PIECES * i + FIRST_WORDS];
		struct block_look *l = looks[i];

		l->sign = sign_of(h, i);
		l->away = l->sign == BLOCK_UNSEEN;
		owner_words_look(l, h->items[i].words, remote_read_has(words) ? words->n / 8 : 0);
	}
	return r;
}

/* --- --- */

static void fini(struct block_heap *heap)
{
	free(heap);
}

static int find(const struct snapshot *s, void *map)
{
	return musl_map_find(s, map);
}

int musl_heap_open(pid_t pid, struct block_heap_found *out)
{
	struct musl_map map;
	struct musl_heap *h;
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
	out->heap = &h->heap;
	out->data_lo = map.data_lo;
	out->data_hi = map.data_hi;
	return 0;
}
