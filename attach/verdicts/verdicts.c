/* SPDX-License-Identifier: MIT */
/* verdicts: see verdicts.h. Results are written by verdicts_write.c. */
#include "attach/verdicts/verdicts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "heap/census_take.h"
#include "heap/reach/loaderblocks.h"

#define BLOCKS_LIMIT (UINT32_MAX - 2)	/* as reach has it */

/* --- which blocks --- */

static int add(struct verdicts *j, taddr addr, uint64_t size, uint32_t family)
{
	if (grow_for(&j->blocks, j->nblocks, &j->blocks_room, sizeof(*j->blocks)) < 0)
		return -ENOMEM;
	j->blocks[j->nblocks++] = (struct verdicts_block){
		.addr = addr, .size = size, .family = family, .node = VERDICTS_NONE,
	};
	return 0;
}

static int add_family(struct verdicts *j, const struct ledger *l, uint32_t family)
{
	struct live_block b;
	uint64_t key;
	void *value;
	taddr addr;
	int r = 0;

	for (size_t at = 0; r == 0 && live_next(l->books[family].live, &at, &addr, &b);)
		r = add(j, addr, b.size, family);
	/* being resized: still allocated */
	for (size_t at = 0; r == 0 && addrmap_next(&l->aside, &at, &key, &value);) {
		const struct ledger_aside *a = value;

		if (a->held && a->family == family && !ledger_holds(l, family, a->addr, NULL))
			r = add(j, a->addr, a->block.size, family);
	}
	return r;
}

static int list_blocks(struct verdicts *j, const struct ledger *l)
{
	int r = 0;

	for (size_t i = 0; i < j->census.nblocks && r == 0; i++)
		r = add(j, j->census.blocks[i].addr, j->census.blocks[i].size, VERDICTS_NONE);
	for (uint32_t i = 0; i < l->nbooks && r == 0; i++)
		if (defs_is_of_blocks(&l->defs.families[i]))
			r = add_family(j, l, i);
	return r;
}

/* By address; at one address the census's first, then the largest: an inner block is after the outer one. */
static int compare(const void *pa, const void *pb)
{
	const struct verdicts_block *a = pa, *b = pb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	if ((a->family == VERDICTS_NONE) != (b->family == VERDICTS_NONE))
		return a->family == VERDICTS_NONE ? -1 : 1;
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	return a->family < b->family ? -1 : a->family > b->family;
}

/* --- what each block is --- */

/* How many blocks of a family begin where a block of malloc begins, inside of one, and elsewhere. */
struct positions {
	size_t same, inside, elsewhere;
};

static bool is_census(const struct verdicts_block *b)
{
	return b->family == VERDICTS_NONE;
}

static bool holds(const struct verdicts_block *b, taddr addr)
{
	return addr >= b->addr && addr - b->addr < b->size;
}

/* The census's block in which, or at which, block @i begins; NULL: none. Call it for ascending @i. */
static const struct verdicts_block *census_at(const struct verdicts *j, size_t i,
					      const struct verdicts_block **last)
{
	const struct verdicts_block *b = &j->blocks[i];

	if (is_census(b))
		*last = b;
	return *last && holds(*last, b->addr) ? *last : NULL;
}

static struct positions positions_of(const struct verdicts *j, uint32_t family)
{
	const struct verdicts_block *last = NULL;
	struct positions m = { 0 };

	for (size_t i = 0; i < j->nblocks; i++) {
		const struct verdicts_block *in = census_at(j, i, &last);

		if (j->blocks[i].family != family)
			continue;
		m.same += in && in->addr == j->blocks[i].addr;
		m.inside += in && in->addr != j->blocks[i].addr;
		m.elsewhere += !in;
	}
	return m;
}

/* Is @addr in the allocator's memory, of which the census has all blocks? */
static bool in_heap(const struct census *c, taddr addr)
{
	return census_adds_up(c) && census_area_at(c, addr);
}

static bool is_loaders(const struct census *c, taddr addr)
{
	return block_at(c->own, c->nown, addr) < c->nown;
}

static bool is_writable(const struct mapping *m)
{
	return (m->perms & (MAPPING_WRITE | MAPPING_SHARED)) == MAPPING_WRITE;
}

static bool is_own_memory(const struct snapshot *s, const struct verdicts_block *b)
{
	const struct mapping *m = procmaps_find(&s->maps, b->addr);

	return m && b->size && is_writable(m);
}

/*
 * If the family's noun is "block", its blocks are memory; those with another noun take part if they are in a
 * block of malloc.
 */
static bool takes_part(const struct verdicts_block *b, const struct snapshot *s, const struct defs_family *f,
		       bool in_census)
{
	return in_census || ((!f->noun || !strcmp(f->noun, "block")) && is_own_memory(s, b));
}

/*
 * How large the block can be at most. A rule may give a wrong size, too large; then memory behind the outer
 * block, or behind the mapping, would be taken for a part of the block, and not count as a root.
 */
static uint64_t most_of(const struct snapshot *s, const struct verdicts_block *b,
			const struct verdicts_block *in)
{
	const struct mapping *m = procmaps_find(&s->maps, b->addr), *last = s->maps.maps + s->maps.n - 1;

	if (in)
		return in->addr + in->size - b->addr;
	while (m < last && m[1].lo == m->hi && is_writable(&m[1]))
		m++;
	return m->hi - b->addr;
}

/*
 * If a family's blocks are malloc's own blocks, none begins inside of a malloc block. If one does, it was
 * freed, and its memory belongs to another block by now. But an allocator may give out an address inside of its
 * block (mimalloc's memalign).
 */
static bool is_stale(const struct verdicts *j, const struct verdicts_block *b,
		     const struct verdicts_block *in, const struct positions *m)
{
	if (!j->census.known)
		return false;
	if (in)
		return in->addr != b->addr && m->same > m->inside && !census_is_inner(&j->census, b->addr);
	return in_heap(&j->census, b->addr);
}

static void choose_family(struct verdicts *j, const struct snapshot *s, const struct ledger *l,
			  uint32_t family, bool exact)
{
	const struct positions m = positions_of(j, family);
	const struct verdicts_block *last = NULL;

	for (size_t i = 0; i < j->nblocks; i++) {
		struct verdicts_block *b = &j->blocks[i];
		const struct verdicts_block *in = census_at(j, i, &last);

		if (b->family != family)
			continue;
		if (is_loaders(&j->census, b->addr)) {
			b->part = VERDICTS_LOADERS;
			b->verdict = VERDICT_REACHABLE;
		} else if (is_stale(j, b, in, &m)) {
			b->part = VERDICTS_STALE;
		} else if (takes_part(b, s, &l->defs.families[family], in)) {
			const uint64_t most = most_of(s, b, in);

			b->part = VERDICTS_NODE;
			b->size = b->size < most ? b->size : most;
			b->requested = exact && in && m.same > m.inside;
		}
		j->stale += b->part == VERDICTS_STALE;
	}
}

static void choose(struct verdicts *j, const struct snapshot *s, const struct ledger *l, bool exact)
{
	for (size_t i = 0; i < j->nblocks; i++)
		if (is_census(&j->blocks[i]))
			j->blocks[i].part = VERDICTS_NODE;
	for (uint32_t i = 0; i < l->nbooks; i++)
		if (defs_is_of_blocks(&l->defs.families[i]) &&
		    (live_count(l->books[i].live) || addrmap_count(&l->aside)))
			choose_family(j, s, l, i, exact);
}

/* --- the innermost --- */

/* The first from @i on that takes part; nblocks: none. */
static size_t next_part(const struct verdicts *j, size_t i)
{
	while (i < j->nblocks && j->blocks[i].part != VERDICTS_NODE)
		i++;
	return i;
}

/*
 * Of the blocks at one address, the first that takes part gives the size: it is the census's, if there is
 * one. But if it is known what was requested, that is the size.
 */
static void make_node(struct verdicts *j, size_t i, size_t next)
{
	uint64_t size = j->blocks[i].size;

	for (size_t k = next_part(j, i + 1); k < next; k = next_part(j, k + 1))
		if (j->blocks[k].requested) {
			size = j->blocks[k].size;
			break;
		}
	j->nodes[j->nnodes] = (struct block){ j->blocks[i].addr, size };
	j->nnodes++;
}

/*
 * For each address with blocks: does the next block with another address begin inside of the first one? Then
 * all blocks of this address are outer ones; otherwise they are one node.
 */
static int make_nodes(struct verdicts *j)
{
	size_t i = next_part(j, 0);

	j->nodes = calloc(j->nblocks + 1, sizeof(*j->nodes));
	if (!j->nodes)
		return -ENOMEM;
	while (i < j->nblocks) {
		const struct verdicts_block first = j->blocks[i];
		size_t from = i, next = i;
		bool outer;

		while (next < j->nblocks && j->blocks[next].addr == first.addr)
			next = next_part(j, next + 1);
		outer = next < j->nblocks && holds(&first, j->blocks[next].addr);
		for (; i < next; i = next_part(j, i + 1)) {
			j->blocks[i].part = outer ? VERDICTS_OUTER : VERDICTS_NODE;
			j->blocks[i].node = outer ? VERDICTS_NONE : (uint32_t)j->nnodes;
			j->outer += outer;
		}
		if (!outer)
			make_node(j, from, next);
	}
	return j->nnodes < BLOCKS_LIMIT ? 0 : -E2BIG;
}

/* --- verdicts --- */

/* An outer block, open while the addresses in it are visited. */
struct open_block {
	size_t block;
	taddr end;
	enum verdict best;
};

struct open_blocks {
	struct open_block *all;
	size_t n, size;
};

static bool is_better(enum verdict a, enum verdict b)
{
	static const int ranks[VERDICT_COUNT] = {
		[VERDICT_UNKNOWN] = 0,	[VERDICT_DEFINITE] = 1,	 [VERDICT_INDIRECT] = 2,
		[VERDICT_POSSIBLE] = 3, [VERDICT_REACHABLE] = 4,
	};

	return ranks[a] > ranks[b];
}

/* The verdict of an outer block is the best of the blocks in it, and counts for the block around it. */
static void close_last(struct verdicts *j, struct open_blocks *open)
{
	const struct open_block *o = &open->all[--open->n];
	const taddr addr = j->blocks[o->block].addr;

	for (size_t i = o->block; i < j->nblocks && j->blocks[i].addr == addr; i++)
		if (j->blocks[i].part == VERDICTS_OUTER)
			j->blocks[i].verdict = o->best;
	if (open->n && is_better(o->best, open->all[open->n - 1].best))
		open->all[open->n - 1].best = o->best;
}

static int open_one(struct verdicts *j, struct open_blocks *open, size_t i)
{
	const struct verdicts_block *b = &j->blocks[i];

	/* the first block at this address is open already */
	if (open->n && j->blocks[open->all[open->n - 1].block].addr == b->addr)
		return 0;
	if (grow_for(&open->all, open->n, &open->size, sizeof(*open->all)) < 0)
		return -ENOMEM;
	open->all[open->n++] = (struct open_block){ i, b->addr + b->size, VERDICT_UNKNOWN };
	return 0;
}

static int assign(struct verdicts *j, struct open_blocks *open)
{
	int r = 0;

	for (size_t i = 0; i < j->nblocks && r == 0; i++) {
		struct verdicts_block *b = &j->blocks[i];

		while (open->n && open->all[open->n - 1].end <= b->addr)
			close_last(j, open);
		if (b->part == VERDICTS_OUTER)
			r = open_one(j, open, i);
		if (b->part != VERDICTS_NODE)
			continue;
		b->verdict = j->reach.verdict[b->node];
		if (open->n && is_better(b->verdict, open->all[open->n - 1].best))
			open->all[open->n - 1].best = b->verdict;
	}
	while (open->n)
		close_last(j, open);
	return r;
}

static int find_verdicts(struct verdicts *j, const struct reach_input *in)
{
	struct open_blocks open = { 0 };
	int r = reach_run(in, &j->reach);

	if (r == 0)
		r = assign(j, &open);
	free(open.all);
	return r;
}

/* --- doubts --- */

static void add_doubt(struct verdicts *j, const char *fmt, size_t n)
{
	strbuf_printf(&j->doubts, "%zu %s", n, fmt);
	strbuf_putc(&j->doubts, '\0');
	j->ndoubts++;
}

static void add_unread(struct verdicts *j)
{
	if (!*j->census.unread)
		return;
	strbuf_printf(&j->doubts, "%s: that memory counts as a root, so less is found to be lost than is",
		      j->census.unread);
	strbuf_putc(&j->doubts, '\0');
	j->ndoubts++;
}

static int add_doubts(struct verdicts *j, const struct reach_input *in)
{
	j->ndoubts = reach_doubts(in, &j->reach, &j->doubts);
	j->may_err = reach_may_take_for_lost(in);
	add_unread(j);
	if (j->stale)
		add_doubt(j,
			  "of the blocks that are listed are not in the allocator's books: their release was "
			  "not seen, and they have no verdict",
			  j->stale);
	if (j->outer)
		add_doubt(j,
			  "blocks hold others that were watched, too: what is around these counts as a root",
			  j->outer);
	return strbuf_error(&j->doubts);
}

int verdicts_run(struct verdicts *j, const struct snapshot *s, const struct ledger *l, bool exact)
{
	struct reach_input in = { .snapshot = s, .heuristics = REACH_ALL | REACH_OURS };
	int r;

	*j = (struct verdicts){ .doubts = STRBUF_INIT };
	r = census_take(s, &j->census);
	if (r == 0)
		r = loaderblocks_set_apart(s, &j->census);
	if (r == 0)
		r = list_blocks(j, l);
	if (r < 0)
		return r;
	if (j->nblocks)
		qsort(j->blocks, j->nblocks, sizeof(*j->blocks), compare);
	choose(j, s, l, exact);
	r = make_nodes(j);
	if (r < 0)
		return r;
	in.census = &j->census;
	in.blocks = j->nodes;
	in.nblocks = j->nnodes;
	/* the census has the allocator's sizes */
	in.exact = exact && !j->census.known;
	r = find_verdicts(j, &in);
	return r < 0 ? r : add_doubts(j, &in);
}

void verdicts_fini(struct verdicts *j)
{
	free(j->blocks);
	free(j->nodes);
	free(j->with);
	reach_fini(&j->reach);
	census_fini(&j->census);
	strbuf_fini(&j->doubts);
	*j = (struct verdicts){ .doubts = STRBUF_INIT };
}
