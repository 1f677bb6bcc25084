/* SPDX-License-Identifier: MIT */
/*
 * pointers: what points at an address (reach.h). All words of the snapshot are compared, which is as fast as
 * memory is; what contains a word is only looked up for hits. A hit in free memory, dead stack or the
 * allocator's structs does not count, and is not reported.
 */
#include "heap/reach/reach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr_search.h"
#include "base/grow.h"
#include "heap/reach/reach_graph.h"

typedef uint64_t __attribute__((may_alias)) word_t;

struct hits {
	struct pointer *all;
	size_t n, room, total;
};

struct search {
	const struct reach_input *in;
	taddr lo, hi;			/* range of the values to search for */
	size_t limit;
	struct reach_graph graph;
	struct hits begin, inside;
};

/* Set the kind of root: a thread's stack or TLS, or data. */
static void place_root(const struct search *q, struct pointer *p)
{
	for (size_t i = 0; i < q->graph.stacks.n; i++) {
		const struct stack *k = &q->graph.stacks.all[i];

		if (k->tls && p->at >= k->tls && p->at < k->tls_end)
			p->place = POINTER_TLS;
		else if (p->at >= k->lo && p->at < k->hi)
			p->place = POINTER_STACK;
		else
			continue;
		p->tid = k->tid;
		return;
	}
}

/*
 * The kind of root is looked up only for pointers that are listed: there may be many pointers, and many
 * threads.
 */
static int add(struct search *q, const struct pointer *p)
{
	struct hits *h = p->value == q->lo ? &q->begin : &q->inside;

	h->total++;
	if (h->n >= q->limit)
		return 0;
	if (grow_for(&h->all, h->n, &h->room, sizeof(*h->all)) < 0)
		return -ENOMEM;
	h->all[h->n] = *p;
	if (p->place == POINTER_DATA)
		place_root(q, &h->all[h->n]);
	h->n++;
	return 0;
}

static int search_registers(struct search *q, const struct snapshot_thread *t)
{
	uint64_t regs[ROOT_REGISTERS];
	int err = 0;

	if (!t->known)
		return 0;
	root_registers(t, regs);
	for (size_t i = 0; i < ROOT_REGISTERS && !err; i++) {
		const struct pointer p = { .place = POINTER_REGISTER, .value = regs[i], .tid = t->tid,
					   .reg = root_register_names[i] };

		if (regs[i] >= q->lo && regs[i] < q->hi)
			err = add(q, &p);
	}
	return err;
}

/* Vector registers have no names here: the number and part of one would mean little. */
static int search_vectors(struct search *q, const struct snapshot_thread *t)
{
	int err = 0;

	if (!t->known || !t->vectors)
		return 0;
	for (size_t at = 0; at + sizeof(uint64_t) <= t->nvectors && !err; at += sizeof(uint64_t)) {
		struct pointer p = { .place = POINTER_REGISTER, .tid = t->tid, .reg = "a vector register" };

		memcpy(&p.value, t->vectors + at, sizeof(p.value));
		if (p.value >= q->lo && p.value < q->hi)
			err = add(q, &p);
	}
	return err;
}

/* Find what contains the word. false: nothing that counts. */
static bool place(const struct search *q, struct pointer *p)
{
	const uint32_t node = block_index_find(&q->graph.ix, p->at);
	bool own;

	if (node != BLOCK_NONE) {
		const uint32_t given = q->graph.nodes.given ? q->graph.nodes.given[node] : node;

		p->place = POINTER_BLOCK;
		p->block = given == BLOCK_NONE ? POINTER_NO_BLOCK : given;
		return true;
	}
	if (!roots_hold(&q->graph.roots, p->at, &own))
		return false;
	p->place = own ? POINTER_OWN : POINTER_DATA;
	return true;
}

static int search_piece(struct search *q, const struct snapshot_piece *piece)
{
	const taddr first = (piece->lo + 7) & ~UINT64_C(7);
	const word_t *word = (const word_t *)(const void *)(piece->bytes + (first - piece->lo));
	const uint64_t span = q->hi - q->lo;
	size_t n;
	int err = 0;

	if (first - piece->lo >= piece->size)
		return 0;
	n = (piece->size - (first - piece->lo)) / 8;
	for (size_t i = 0; i < n && !err; i++) {
		struct pointer p = { .at = first + i * 8, .value = word[i] };

		if (word[i] - q->lo < span && place(q, &p))
			err = add(q, &p);
	}
	return err;
}

/* Addresses in instructions, at bytes that are not aligned. */
static int search_code(struct search *q, const struct snapshot_piece *piece, taddr lo, taddr hi)
{
	int err = 0;

	for (taddr at = lo; at + 8 <= hi && !err; at++) {
		struct pointer p = { .at = at };

		memcpy(&p.value, piece->bytes + (at - piece->lo), sizeof(p.value));
		if (at % 8 && p.value - q->lo < q->hi - q->lo && place(q, &p))
			err = add(q, &p);
	}
	return err;
}

static int search_codes(struct search *q, const struct snapshot_piece *piece)
{
	const struct procmaps *maps = &q->in->snapshot->maps;
	const taddr end = piece->lo + piece->size;
	int err = 0;

	for (size_t i = ADDR_SEARCH(maps->maps, maps->n, hi, piece->lo); i < maps->n && maps->maps[i].lo < end && !err; i++) {
		const struct mapping *m = &maps->maps[i];

		if (root_is_code(m))
			err = search_code(q, piece, m->lo > piece->lo ? m->lo : piece->lo, m->hi < end ? m->hi : end);
	}
	return err;
}

static int search_all(struct search *q)
{
	const struct snapshot *s = q->in->snapshot;
	int err = 0;

	for (size_t i = 0; i < s->nthreads && !err; i++) {
		err = search_registers(q, &s->threads[i]);
		if (!err)
			err = search_vectors(q, &s->threads[i]);
	}
	for (size_t i = 0; i < s->npieces && !err; i++) {
		err = search_piece(q, &s->pieces[i]);
		if (!err)
			err = search_codes(q, &s->pieces[i]);
	}
	return err;
}

static int search_init(struct search *q, taddr addr)
{
	uint32_t node;
	int err = reach_graph_init(&q->graph, q->in);

	if (err)
		return err;
	node = block_index_find(&q->graph.ix, addr);
	q->lo = node == BLOCK_NONE ? addr : q->graph.nodes.blocks[node].addr;
	q->hi = node == BLOCK_NONE
			? addr + 1
			: q->lo + (q->graph.nodes.blocks[node].size ? q->graph.nodes.blocks[node].size : 1);
	return 0;
}

static void search_fini(struct search *q)
{
	reach_graph_fini(&q->graph);
	free(q->begin.all);
	free(q->inside.all);
}

/* Pointers to the beginning first, then others, up to the limit. */
static int hand_over(struct search *q, struct pointer **out, size_t *n, size_t *total)
{
	const size_t rest = q->limit - q->begin.n < q->inside.n ? q->limit - q->begin.n : q->inside.n;

	*out = calloc(q->begin.n + rest + 1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	if (q->begin.n)
		memcpy(*out, q->begin.all, q->begin.n * sizeof(**out));
	if (rest)
		memcpy(*out + q->begin.n, q->inside.all, rest * sizeof(**out));
	*n = q->begin.n + rest;
	*total = q->begin.total + q->inside.total;
	return 0;
}

int reach_who_points(const struct reach_input *in, taddr addr, size_t limit, struct pointer **out, size_t *n,
		     size_t *total)
{
	struct search q = { .in = in, .limit = limit };
	int err = search_init(&q, addr);

	*out = NULL;
	*n = *total = 0;
	if (!err)
		err = search_all(&q);
	if (!err)
		err = hand_over(&q, out, n, total);
	search_fini(&q);
	return err;
}
