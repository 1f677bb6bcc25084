/* SPDX-License-Identifier: MIT */
/*
 * reach: each rule by itself, and random heaps compared with valgrind's procedure, which is written down here
 * as its documentation and comments describe it, without any of our shortcuts.
 */
#include "heap/reach/reach.h"
#include "heap/reach/roots.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/memory_example.h"

#define DATA 0x600000u
#define HEAP 0x7f0000000000u
#define MAIN_STACK 0x7ffc00000000u
#define WORDS 512u		/* of the data, as roots */
/* blocks: enough for sweeps by several threads, which a few blocks never need */
#define MANY 300000u

/* --- a heap of blocks, and words to put pointers into --- */

struct heap {
	struct memory_example m;
	uint64_t *data, *heap;
	struct census census;
	struct census_area area;
	struct block *blocks;
	size_t room, size;
	struct reach_input in;
	struct reach r;
};

static struct heap *heap_for(size_t room, size_t size)
{
	struct heap *h = calloc(1, sizeof(*h));

	assert_non_null(h);
	h->room = room;
	h->size = size;
	h->blocks = calloc(room, sizeof(*h->blocks));
	assert_non_null(h->blocks);
	example_init(&h->m);
	h->data = example_map(&h->m, DATA, WORDS * 8, "rw-p", "/bin/target");
	h->heap = example_map(&h->m, HEAP, size, "rw-p", "[heap]");
	h->area = (struct census_area){ HEAP, HEAP + size, 0 };
	h->census = (struct census){ .known = true, .blocks = h->blocks, .areas = &h->area, .nareas = 1 };
	h->in = (struct reach_input){
		.snapshot = &h->m.s, .census = &h->census, .blocks = h->blocks, .heuristics = REACH_ALL
	};
	return h;
}

static struct heap *heap_new(void)
{
	return heap_for(1024, 1u << 20);
}

static void heap_free(struct heap *h)
{
	free(h->blocks);
	reach_fini(&h->r);
	example_fini(&h->m);
	free(h);
}

/* Another block of @size bytes, behind the others and a gap; returns its number. */
static size_t add(struct heap *h, uint64_t size)
{
	const size_t n = h->census.nblocks;
	const taddr end = n ? h->blocks[n - 1].addr + h->blocks[n - 1].size : HEAP;

	assert_true(n < h->room && end + size + 64 < HEAP + h->size);
	h->blocks[n] = (struct block){ (end + 16 + 15) & ~UINT64_C(15), size };
	h->census.nblocks = h->in.nblocks = n + 1;
	return n;
}

static uint64_t *word_of(struct heap *h, size_t block, size_t word)
{
	return h->heap + (h->blocks[block].addr - HEAP) / 8 + word;
}

static taddr addr(struct heap *h, size_t block)
{
	return h->blocks[block].addr;
}

static void run(struct heap *h)
{
	if (!h->m.s.sealed)
		example_seal(&h->m);
	reach_fini(&h->r);
	assert_int_equal(reach_run(&h->in, &h->r), 0);
	assert_int_equal(h->r.nblocks, h->in.nblocks);
}

static void expect(struct heap *h, size_t block, enum verdict v)
{
	if (h->r.verdict[block] != v)
		fail_msg("block %zu is %s, not %s", block, verdict_name(h->r.verdict[block]),
			 verdict_name(v));
}

/* --- rules --- */

static void test_chains(void **state)
{
	struct heap *h = heap_new();
	const size_t direct = add(h, 24), chained = add(h, 24), inner = add(h, 40), behind = add(h, 24),
		     lost = add(h, 24), with = add(h, 24);

	(void)state;
	h->data[3] = addr(h, direct);
	*word_of(h, direct, 1) = addr(h, chained);
	*word_of(h, chained, 0) = addr(h, inner) + 16;
	*word_of(h, inner, 0) = addr(h, behind);
	*word_of(h, lost, 2) = addr(h, with);
	run(h);
	expect(h, direct, VERDICT_REACHABLE);
	expect(h, chained, VERDICT_REACHABLE);
	expect(h, inner, VERDICT_POSSIBLE);
	expect(h, behind, VERDICT_POSSIBLE);
	expect(h, lost, VERDICT_DEFINITE);
	expect(h, with, VERDICT_INDIRECT);
	assert_int_equal(h->r.leader[with], lost);
	assert_int_equal(h->r.leader[lost], lost);
	assert_int_equal(h->r.sums[VERDICT_POSSIBLE].blocks, 2);
	assert_int_equal(h->r.sums[VERDICT_POSSIBLE].bytes, 64);
	heap_free(h);
}

static void test_start_pointer_found_last_wins(void **state)
{
	struct heap *h = heap_new();
	const size_t a = add(h, 24), b = add(h, 24), c = add(h, 24);

	(void)state;
	h->data[0] = addr(h, a) + 8;
	*word_of(h, a, 0) = addr(h, b);
	*word_of(h, b, 0) = addr(h, c) + 8;
	h->data[WORDS - 1] = addr(h, a);
	run(h);
	expect(h, a, VERDICT_REACHABLE);
	expect(h, b, VERDICT_REACHABLE);
	expect(h, c, VERDICT_POSSIBLE);
	heap_free(h);
}

/*
 * A ring: its first block by address is the leader. A later block by address that points to just that first
 * one takes it over.
 */
static void test_rings(void **state)
{
	struct heap *h = heap_new();
	const size_t a = add(h, 24), b = add(h, 24), c = add(h, 24), self = add(h, 24), taker = add(h, 24),
		     no_taker = add(h, 24);

	(void)state;
	*word_of(h, a, 0) = addr(h, b);
	*word_of(h, b, 0) = addr(h, c);
	*word_of(h, c, 0) = addr(h, a);
	*word_of(h, self, 0) = addr(h, self);
	run(h);
	expect(h, a, VERDICT_DEFINITE);
	expect(h, b, VERDICT_INDIRECT);
	expect(h, c, VERDICT_INDIRECT);
	expect(h, self, VERDICT_DEFINITE);
	*word_of(h, no_taker, 0) = addr(h, b);	/* b has a leader already: the ring stays as it is */
	run(h);
	expect(h, a, VERDICT_DEFINITE);
	expect(h, no_taker, VERDICT_DEFINITE);
	*word_of(h, taker, 0) = addr(h, a);
	run(h);
	expect(h, a, VERDICT_INDIRECT);
	expect(h, taker, VERDICT_DEFINITE);
	assert_int_equal(h->r.leader[a], taker);
	assert_int_equal(h->r.leader[b], taker);
	assert_int_equal(h->r.leader[c], taker);
	heap_free(h);
}

static void test_leaders_taken_over_in_a_row(void **state)
{
	struct heap *h = heap_new();
	size_t first = add(h, 24), n = 500;

	(void)state;
	for (size_t i = 1; i < n; i++) {
		const size_t taker = add(h, 24);

		*word_of(h, taker, 0) = addr(h, i - 1);
	}
	run(h);
	expect(h, n - 1, VERDICT_DEFINITE);
	for (size_t i = first; i < n - 1; i++) {
		expect(h, i, VERDICT_INDIRECT);
		assert_int_equal(h->r.leader[i], n - 1);
	}
	heap_free(h);
}

static void test_ends_of_blocks(void **state)
{
	struct heap *h = heap_new();
	const size_t behind = add(h, 24), last = add(h, 24), empty = add(h, 0), empty_inner = add(h, 0);

	(void)state;
	h->data[0] = addr(h, behind) + 24;
	h->data[1] = addr(h, last) + 23;
	h->data[2] = addr(h, empty);
	h->data[3] = addr(h, empty_inner) + 1;
	run(h);
	expect(h, behind, VERDICT_DEFINITE);
	expect(h, last, VERDICT_POSSIBLE);
	expect(h, empty, VERDICT_REACHABLE);
	expect(h, empty_inner, VERDICT_DEFINITE);
	heap_free(h);
}

/*
 * Heap memory outside of blocks, quiet memory, and the allocator's own data are not roots; the loader's block
 * is one.
 */
static void test_no_roots(void **state)
{
	struct heap *h = heap_new();
	const size_t a = add(h, 24), b = add(h, 24), c = add(h, 24), d = add(h, 24);
	struct block own = { HEAP + 0x8000, 0x100 }, quiet = { DATA + 64, 16 };
	struct census_arena arena = { .at = DATA + 128, .state_bytes = 64 };

	(void)state;
	h->heap[0x4000 / 8] = addr(h, a);
	h->data[8] = addr(h, b);
	h->data[17] = addr(h, c);
	h->heap[0x8010 / 8] = addr(h, d);
	h->census.arenas = &arena;
	h->census.narenas = 1;
	h->census.own = &own;
	h->census.nown = 1;
	h->in.quiet = &quiet;
	h->in.nquiet = 1;
	run(h);
	expect(h, a, VERDICT_DEFINITE);
	expect(h, b, VERDICT_DEFINITE);
	expect(h, c, VERDICT_DEFINITE);
	expect(h, d, VERDICT_REACHABLE);
	h->census.nproblems = 1;	/* now it is not known which parts of the heap are free */
	h->census.problem.at = HEAP + 0x9000;
	run(h);
	expect(h, a, VERDICT_REACHABLE);
	h->in.census = NULL;
	run(h);
	expect(h, a, VERDICT_REACHABLE);
	expect(h, b, VERDICT_DEFINITE);
	expect(h, c, VERDICT_REACHABLE);
	heap_free(h);
}

static void test_registers(void **state)
{
	struct heap *h = heap_new();
	const size_t a = add(h, 24), b = add(h, 24), c = add(h, 24);
	struct snapshot_thread *t = example_thread(&h->m, 1000, 0);
	uint64_t vectors[4] = { 0 };

	(void)state;
	t->regs.r12 = addr(h, a);
	t->regs.orig_rax = addr(h, b);
	run(h);
	expect(h, a, VERDICT_REACHABLE);
	expect(h, b, VERDICT_DEFINITE);
	vectors[3] = addr(h, c);
	t->vectors = (uint8_t *)vectors;
	t->nvectors = sizeof(vectors);
	run(h);
	expect(h, c, VERDICT_REACHABLE);
	t->known = false;
	run(h);
	expect(h, a, VERDICT_DEFINITE);
	heap_free(h);
}

static void test_given_ones_beside_the_census(void **state)
{
	struct heap *h = heap_new();
	const size_t root = add(h, 24), pool = add(h, 400), other = add(h, 24);
	/* the last of the census, with its requested size; two within the pool; one with memory of its own */
	struct block given[] = { { addr(h, pool) + 32, 64 },
				 { addr(h, pool) + 128, 64 },
				 { addr(h, other), 20 } };

	(void)state;
	h->data[0] = addr(h, root);
	*word_of(h, root, 0) = addr(h, other);
	*word_of(h, pool, 1) = given[0].addr;	/* in the pool, before the first of its blocks */
	*word_of(h, pool, 4) = addr(h, other) + 8;
	h->in.blocks = given;
	h->in.nblocks = 3;
	run(h);
	expect(h, 0, VERDICT_REACHABLE);
	expect(h, 1, VERDICT_DEFINITE);
	expect(h, 2, VERDICT_REACHABLE);
	assert_int_equal(h->r.sums[VERDICT_REACHABLE].bytes, 84);
	heap_free(h);
}

static void test_refused(void **state)
{
	struct heap *h = heap_new();
	struct block twice[] = { { HEAP + 64, 8 }, { HEAP + 64, 16 } }, wraps[] = { { UINT64_MAX - 8, 16 } };

	(void)state;
	example_seal(&h->m);
	h->in.blocks = twice;
	h->in.nblocks = 2;
	assert_int_equal(reach_run(&h->in, &h->r), -EINVAL);
	h->in.census = NULL;
	assert_int_equal(reach_run(&h->in, &h->r), -EINVAL);
	h->in.blocks = wraps;
	h->in.nblocks = 1;
	assert_int_equal(reach_run(&h->in, &h->r), -EINVAL);
	heap_free(h);
}

static void test_nothing(void **state)
{
	struct heap *h = heap_new();

	(void)state;
	run(h);
	assert_int_equal(h->r.nblocks, 0);
	heap_free(h);
}

/* --- pointers to an address --- */

static size_t who(struct heap *h, taddr at, size_t limit, struct pointer **out)
{
	size_t n, total;

	if (!h->m.s.sealed)
		example_seal(&h->m);
	assert_int_equal(reach_who_points(&h->in, at, limit, out, &n, &total), 0);
	assert_true(n <= limit && n <= total);
	return total;
}

static void test_who_points(void **state)
{
	struct heap *h = heap_new();
	const size_t a = add(h, 40), b = add(h, 40);
	struct snapshot_thread *t = example_thread(&h->m, 1000, 0);
	struct block quiet = { DATA + 64, 16 };
	struct pointer *p;

	(void)state;
	h->in.quiet = &quiet;
	h->in.nquiet = 1;
	h->data[4] = addr(h, a) + 8;
	h->data[5] = addr(h, a);
	h->data[8] = addr(h, a);		/* quiet */
	h->heap[0x8000 / 8] = addr(h, a);	/* free */
	*word_of(h, b, 2) = addr(h, a) + 39;
	t->regs.rbx = addr(h, a);
	assert_int_equal(who(h, addr(h, a) + 20, 10, &p), 4);
	assert_int_equal(p[0].place, POINTER_REGISTER);
	assert_string_equal(p[0].reg, "rbx");
	assert_int_equal(p[0].tid, 1000);
	assert_int_equal(p[1].place, POINTER_DATA);
	assert_int_equal(p[1].at, DATA + 40);
	assert_int_equal(p[2].at, DATA + 32);
	assert_int_equal(p[2].value, addr(h, a) + 8);
	assert_int_equal(p[3].place, POINTER_BLOCK);
	assert_int_equal(p[3].block, b);
	assert_int_equal(p[3].at, addr(h, b) + 16);
	free(p);
	assert_int_equal(who(h, addr(h, a), 1, &p), 4);
	assert_int_equal(p[0].place, POINTER_REGISTER);
	free(p);
	assert_int_equal(who(h, addr(h, b), 5, &p), 0);
	free(p);
	h->data[6] = 0x1234;			/* not in any block: just an address */
	assert_int_equal(who(h, 0x1234, 5, &p), 1);
	assert_int_equal(p[0].at, DATA + 48);
	free(p);
	heap_free(h);
}

/* --- doubts --- */

/* The doubts for @h after @r: returns how many, and sets @said if one contains @part. */
static size_t doubts_of(struct heap *h, const struct reach *r, const char *part, bool *said)
{
	struct strbuf text = STRBUF_INIT;
	size_t n, at = 0;

	if (!h->m.s.sealed)
		example_seal(&h->m);
	n = reach_doubts(&h->in, r, &text);
	*said = false;
	for (size_t i = 0; i < n; i++, at += strlen(text.s + at) + 1)
		*said |= strstr(text.s + at, part) != NULL;
	assert_int_equal(at, text.len);
	strbuf_fini(&text);
	return n;
}

static size_t doubts(struct heap *h, const char *part, bool *said)
{
	return doubts_of(h, &(struct reach){ .nheaders = 0 }, part, said);
}

static void test_doubts(void **state)
{
	struct heap *h = heap_new();
	struct snapshot_thread *t = example_thread(&h->m, 1000, MAIN_STACK + 0x800);
	bool said;

	(void)state;
	example_map(&h->m, MAIN_STACK, 0x1000, "rw-p", "[stack]");
	/* not written to by this process */
	example_gap(&h->m, MAIN_STACK + 0x10000, 0x3000, "r--s", "/cache");
	assert_int_equal(doubts(h, "", &said), 0);
	t->running = true;
	assert_int_equal(doubts(h, "of 1 thread the registers", &said), 1);
	assert_true(said);
	t->running = false;
	t->sp = DATA + 64;
	assert_int_equal(doubts(h, "1 thread runs on memory", &said), 1);
	assert_true(said);
	h->m.s.swapped = 20u << 20;
	assert_int_equal(doubts(h, "20 MiB of memory were swapped out", &said), 2);
	assert_true(said);
	h->m.s.missing = 1;
	assert_int_equal(doubts(h, "1 KiB of memory could not be read", &said), 3);
	assert_true(said);
	h->census.nproblems = 1;
	snprintf(h->census.problem.what, sizeof(h->census.problem.what), "a size of 0");
	assert_int_equal(doubts(h, "a size of 0", &said), 4);
	assert_true(said);
	h->in.census = NULL;
	assert_int_equal(doubts(h, "the allocator's heap cannot be read", &said), 4);
	assert_true(said);
	heap_free(h);
}

/* Only what was not seen may hold pointers; what counts as a root does no harm. */
static void test_what_may_be_taken_for_lost(void **state)
{
	struct heap *h = heap_new();
	struct snapshot_thread *t;

	(void)state;
	example_map(&h->m, MAIN_STACK, 0x1000, "rw-p", "[stack]");
	t = example_thread(&h->m, 1000, MAIN_STACK + 0x800);
	example_seal(&h->m);
	assert_false(reach_may_take_for_lost(&h->in));
	t->running = true;
	assert_true(reach_may_take_for_lost(&h->in));
	t->running = false;
	t->sp = DATA + 64;
	assert_false(reach_may_take_for_lost(&h->in));
	h->m.s.swapped = 1;
	assert_true(reach_may_take_for_lost(&h->in));
	h->m.s.swapped = 0;
	h->m.s.missing = 1;
	assert_true(reach_may_take_for_lost(&h->in));
	h->m.s.missing = 0;
	h->m.s.left_out = 4096;
	assert_true(reach_may_take_for_lost(&h->in));
	h->m.s.left_out = 0;
	h->in.census = NULL;
	assert_false(reach_may_take_for_lost(&h->in));
	heap_free(h);
}

static void test_doubts_of_shared_memory(void **state)
{
	struct heap *h = heap_new();
	bool said;

	(void)state;
	example_thread(&h->m, 1000, MAIN_STACK + 0x800);
	example_map(&h->m, MAIN_STACK, 0x1000, "rw-p", "[stack]");
	example_map(&h->m, MAIN_STACK + 0x10000, 0x1000, "rw-s", "/dev/shm/a");	/* in a core: it is there */
	example_gap(&h->m, MAIN_STACK + 0x20000, 0x3000, "rw-s", "/dev/shm/b");
	example_gap(&h->m, MAIN_STACK + 0x30000, 0x3000, "rw-s", "/dev/dri/card0");
	assert_int_equal(doubts(h, "12 KiB of shared memory are not in the core file:", &said), 1);
	assert_true(said);
	h->m.s.live = true;
	assert_int_equal(doubts(h, "12 KiB of shared memory have no page in this process,", &said), 1);
	assert_true(said);
	h->m.s.left_out = 8192;
	assert_int_equal(doubts(h, "8 KiB of shared memory were not copied,", &said), 2);
	assert_true(said);
	assert_int_equal(doubts(h, "4 KiB of shared memory have no page in this process,", &said), 2);
	assert_true(said);
	h->m.s.left_out = 3 * 4096;
	assert_int_equal(doubts(h, "12 KiB of shared memory were not copied,", &said), 1);
	assert_true(said);
	heap_free(h);
}

#define CODE 0x7f1000000000

/* In code that was made at run time an address is a part of an instruction; in other memory it is aligned. */
static void test_addresses_in_made_code(void **state)
{
	struct heap *h = heap_new();
	void *code = example_map(&h->m, CODE, ROOT_MAX + 0x2000, "rwxp", ""),
	     *data = example_map(&h->m, CODE + 0x1000000, 0x1000, "rw-p", "");
	const size_t in_code = add(h, 24), between = add(h, 24), in_data = add(h, 24);
	const taddr values[] = { addr(h, in_code), addr(h, between), addr(h, in_data) };
	struct pointer *found;
	size_t n, total;

	(void)state;
	memcpy((char *)code + 0x102, &values[0], 8);		/* movabs $..., %rax */
	memcpy((char *)code + ROOT_MAX - 3, &values[1], 8);	/* in two of the ranges that are searched */
	memcpy((char *)data + 0x102, &values[2], 8);
	run(h);
	expect(h, in_code, VERDICT_REACHABLE);
	expect(h, between, VERDICT_REACHABLE);
	expect(h, in_data, VERDICT_DEFINITE);
	assert_int_equal(reach_who_points(&h->in, values[0], 10, &found, &n, &total), 0);
	assert_int_equal(n, 1);
	assert_int_equal(found[0].at, CODE + 0x102);
	free(found);
	heap_free(h);
}

/*
 * A piece, a hole, a mapping without rights; the part of a hole beyond a mapping belongs to the next mapping.
 */
static void test_unseen_parts_of_shares(void **state)
{
	struct heap *h = heap_new();
	bool said;

	(void)state;
	h->m.s.live = true;
	example_thread(&h->m, 1000, MAIN_STACK + 0x800);
	example_map(&h->m, MAIN_STACK, 0x1000, "rw-p", "[stack]");
	example_gap(&h->m, MAIN_STACK + 0x10000, 0x8000, "rw-s", "/memfd:a");
	assert_int_equal(snapshot_add_piece(&h->m.s, MAIN_STACK + 0x12000, 0x1000, h->data), 0);
	assert_int_equal(snapshot_add_hole(&h->m.s, MAIN_STACK + 0x13000, MAIN_STACK + 0x14000), 0);
	assert_int_equal(snapshot_add_hole(&h->m.s, MAIN_STACK + 0x17000, MAIN_STACK + 0x19000), 0);
	example_gap(&h->m, MAIN_STACK + 0x18000, 0x4000, "---s", "/memfd:a");
	assert_int_equal(doubts(h, "32 KiB of shared memory", &said), 1);
	assert_true(said);
	heap_free(h);
}

/* --- random heaps, compared with valgrind's procedure --- */

enum reached { UNREACHED, POSSIBLY, REACHED, INDIRECTLY };

struct model {
	struct heap *h;
	size_t n;
	enum reached *state;
	bool *pending;
	size_t *leader, *stack, top;
	uint64_t *indirect;
};

static size_t model_find(const struct model *m, taddr v)
{
	size_t lo = 0, hi = m->n;

	while (lo < hi) {
		const size_t mid = (lo + hi) / 2;
		const struct block *b = &m->h->blocks[mid];

		if (v >= b->addr && v < b->addr + b->size + !b->size)
			return mid;
		if (v < b->addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return SIZE_MAX;
}

static void model_push(struct model *m, size_t i)
{
	if (m->pending[i])
		return;
	m->pending[i] = true;
	m->stack[m->top++] = i;
}

static void model_reach(struct model *m, taddr v, bool definite)
{
	const size_t i = model_find(m, v);

	if (i == SIZE_MAX || m->state[i] == REACHED)
		return;
	if (v == m->h->blocks[i].addr && definite)
		m->state[i] = REACHED;
	else if (m->state[i] == UNREACHED)
		m->state[i] = POSSIBLY;
	else
		return;
	model_push(m, i);
}

static void model_lose(struct model *m, taddr v, size_t clique)
{
	const size_t i = model_find(m, v);

	if (i == SIZE_MAX || m->state[i] != UNREACHED || i == clique)
		return;
	model_push(m, i);
	m->indirect[clique] += m->h->blocks[i].size + m->indirect[i];
	m->state[i] = INDIRECTLY;
	m->leader[i] = clique;
}

static void model_go(struct model *m, size_t clique)
{
	while (m->top) {
		const size_t i = m->stack[--m->top];
		const bool definite = m->state[i] != POSSIBLY;

		m->pending[i] = false;
		for (size_t w = 0; w < m->h->blocks[i].size / 8; w++) {
			const taddr v = *word_of(m->h, i, w);

			if (clique == SIZE_MAX)
				model_reach(m, v, definite);
			else
				model_lose(m, v, clique);
		}
	}
}

static void model_run(struct model *m, struct heap *h)
{
	m->h = h;
	m->n = h->census.nblocks;
	m->top = 0;
	m->state = calloc(m->n, sizeof(*m->state));
	m->pending = calloc(m->n, sizeof(*m->pending));
	m->leader = calloc(m->n, sizeof(*m->leader));
	m->stack = calloc(m->n, sizeof(*m->stack));
	m->indirect = calloc(m->n, sizeof(*m->indirect));
	assert_true(m->state && m->pending && m->leader && m->stack && m->indirect);
	for (size_t i = 0; i < WORDS; i++)
		model_reach(m, h->data[i], true);
	model_go(m, SIZE_MAX);
	for (size_t i = 0; i < m->n; i++) {
		m->leader[i] = i;
		if (m->state[i] != UNREACHED)
			continue;
		model_push(m, i);
		model_go(m, i);
	}
}

static void model_fini(struct model *m)
{
	free(m->state);
	free(m->pending);
	free(m->leader);
	free(m->stack);
	free(m->indirect);
}

static void compare(const struct model *m, const struct heap *h)
{
	static const enum verdict as[] = { VERDICT_DEFINITE, VERDICT_POSSIBLE, VERDICT_REACHABLE,
					   VERDICT_INDIRECT };
	uint64_t *indirect = calloc(m->n, sizeof(*indirect));

	assert_non_null(indirect);
	for (size_t i = 0; i < m->n; i++) {
		if (h->r.verdict[i] != as[m->state[i]])
			fail_msg("block %zu of %zu: %s, not %s", i, m->n, verdict_name(h->r.verdict[i]),
				 verdict_name(as[m->state[i]]));
		if (h->r.leader[i] != i)
			indirect[h->r.leader[i]] += h->blocks[i].size;
	}
	for (size_t i = 0; i < m->n; i++)
		if (m->state[i] == UNREACHED)
			assert_int_equal(indirect[i], m->indirect[i]);
	free(indirect);
}

static uint64_t seed = 1;

static uint64_t any(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 11) % below;
}

/* Into a block or close by; more often to its beginning than anywhere else. */
static taddr any_pointer(struct heap *h)
{
	const struct block *b = &h->blocks[any(h->census.nblocks)];

	switch (any(8)) {
	case 0:
		return b->addr + any(b->size + 24);
	case 1:
		return b->addr - any(16);
	case 2:
		return any(UINT64_MAX);
	default:
		return b->addr;
	}
}

static void fill_any(struct heap *h, size_t n)
{
	const size_t pointers = n * (1 + any(8)) / 3, roots = any(n / 4 + 2);

	for (size_t i = 0; i < n; i++)
		add(h, any(8) ? any(12) * 8 : any(3) * 800);
	for (size_t i = 0; i < pointers; i++) {
		const size_t b = any(n);

		if (h->blocks[b].size)
			*word_of(h, b, any(h->blocks[b].size / 8)) = any_pointer(h);
	}
	for (size_t i = 0; i < roots && i < WORDS; i++)
		h->data[any(WORDS)] = any_pointer(h);
}

static void judge_any(struct heap *h, size_t n, unsigned threads)
{
	struct model m;

	fill_any(h, n);
	h->in.heuristics = 0;
	h->in.threads = threads;
	run(h);
	model_run(&m, h);
	compare(&m, h);
	model_fini(&m);
	heap_free(h);
}

/* --- headers --- */

/* A chain of @n blocks with pointers to @behind their beginnings, and one block that nothing points to. */
static struct heap *chain_behind(size_t n, unsigned behind)
{
	struct heap *h = heap_for(n + 1, (n + 2) * 128);

	for (size_t i = 0; i < n; i++)
		add(h, 64);
	h->data[0] = addr(h, 0) + behind;
	for (size_t i = 0; i + 1 < n; i++)
		*word_of(h, i, 4) = addr(h, i + 1) + behind;
	add(h, 64);
	h->in.heuristics = REACH_ALL | REACH_HEADER;
	return h;
}

/*
 * Most blocks have only pointers to 16 bytes behind their beginning: that is the length of the program's own
 * header. A block that nothing points to is lost all the same.
 */
static void test_headers_are_recognised(void **state)
{
	struct heap *h = chain_behind(300, 16);
	bool said;

	(void)state;
	run(h);
	expect(h, 0, VERDICT_REACHABLE);
	expect(h, 299, VERDICT_REACHABLE);
	expect(h, 300, VERDICT_DEFINITE);
	assert_int_equal(h->r.nheaders, 1);
	assert_int_equal(h->r.headers[0].distance, 16);
	assert_int_equal(h->r.headers[0].blocks, 300);
	doubts_of(h, &h->r, "nothing points to the beginning of 300 blocks, but something to 16 bytes behind it in each", &said);
	assert_true(said);
	h->in.heuristics = REACH_ALL;
	run(h);
	expect(h, 0, VERDICT_POSSIBLE);
	expect(h, 299, VERDICT_POSSIBLE);
	assert_int_equal(h->r.nheaders, 0);
	heap_free(h);
}

/* Few blocks, or a small part of all, or pointers to many offsets: that is not a header. */
static void test_no_headers(void **state)
{
	struct heap *few = chain_behind(200, 16), *part = heap_for(1400, 1u << 20),
		    *scattered = chain_behind(400, 16);

	(void)state;
	run(few);
	expect(few, 100, VERDICT_POSSIBLE);
	heap_free(few);

	for (size_t i = 0; i < 1300; i++)
		add(part, 64);
	part->data[0] = addr(part, 0) + 16;
	for (size_t i = 0; i < 1299; i++)
		*word_of(part, i, 4) = addr(part, i + 1) + (i < 300 ? 16 : 0);
	for (size_t i = 0; i < 1000 && i + 1 < WORDS; i++)
		part->data[i + 1] = addr(part, 300 + i);
	part->in.heuristics = REACH_ALL | REACH_HEADER;
	run(part);
	expect(part, 100, VERDICT_POSSIBLE);
	assert_int_equal(part->r.nheaders, 0);
	heap_free(part);

	for (size_t i = 0; i + 1 < 400; i++)
		*word_of(scattered, i, 4) = addr(scattered, i + 1) + 8 * (i % 3 + 1);
	run(scattered);
	expect(scattered, 300, VERDICT_POSSIBLE);
	heap_free(scattered);
}

/* One library uses headers of 16 bytes, another of 32: the second is recognised once the first is known. */
static void test_two_headers(void **state)
{
	struct heap *h = chain_behind(1000, 16);

	(void)state;
	for (size_t i = 600; i + 1 < 1000; i++)
		*word_of(h, i, 4) = addr(h, i + 1) + 32;
	run(h);
	expect(h, 999, VERDICT_REACHABLE);
	expect(h, 1000, VERDICT_DEFINITE);
	assert_int_equal(h->r.nheaders, 2);
	heap_free(h);
}

static void test_random_heaps(void **state)
{
	(void)state;
	for (int i = 0; i < 3000; i++) {
		seed = (uint64_t)i * 2654435761u + 1;
		judge_any(heap_new(), 1 + any(any(4) ? 40 : 900), 1 + (unsigned)i % 3);
	}
}

static void test_large_heaps(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		seed = i * 2654435761u + 7;
		judge_any(heap_for(MANY, MANY * 256), MANY, 1 + i % 3);
	}
}

/* A lost block that reaches more than any stack has room for: the others have their own cliques behind it. */
static void test_large_clique(void **state)
{
	struct heap *h = heap_for(MANY, MANY * 64);
	const size_t many = 200000;

	(void)state;
	add(h, many * 8);
	for (size_t i = 0; i < many; i++) {
		const size_t with = add(h, 24);

		*word_of(h, 0, i) = addr(h, with);
	}
	for (size_t i = 0; i < 100; i++) {
		const size_t lost = add(h, 24), with = add(h, 24);

		*word_of(h, lost, 0) = addr(h, with);
	}
	run(h);
	assert_int_equal(h->r.sums[VERDICT_DEFINITE].blocks, 101);
	assert_int_equal(h->r.sums[VERDICT_INDIRECT].blocks, many + 100);
	assert_int_equal(h->r.leader[many], 0);
	assert_int_equal(h->r.leader[many + 2], many + 1);
	heap_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chains),
		cmocka_unit_test(test_start_pointer_found_last_wins),
		cmocka_unit_test(test_rings),
		cmocka_unit_test(test_leaders_taken_over_in_a_row),
		cmocka_unit_test(test_ends_of_blocks),
		cmocka_unit_test(test_no_roots),
		cmocka_unit_test(test_registers),
		cmocka_unit_test(test_given_ones_beside_the_census),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_who_points),
		cmocka_unit_test(test_doubts),
		cmocka_unit_test(test_what_may_be_taken_for_lost),
		cmocka_unit_test(test_doubts_of_shared_memory),
		cmocka_unit_test(test_unseen_parts_of_shares),
		cmocka_unit_test(test_addresses_in_made_code),
		cmocka_unit_test(test_headers_are_recognised),
		cmocka_unit_test(test_no_headers),
		cmocka_unit_test(test_two_headers),
		cmocka_unit_test(test_random_heaps),
		cmocka_unit_test(test_large_heaps),
		cmocka_unit_test(test_large_clique),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
