/* SPDX-License-Identifier: MIT */
/*
 * reach: see reach.h.
 *
 *	given blocks + census ─▶ nodes ─▶ index ┐
 *	threads ─▶ stacks ─▶ roots ─────────────┴─▶ flood ─▶ cliques of lost ones ─▶ verdicts of given blocks
 */
#include "heap/reach/reach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/statusline.h"
#include "heap/reach/flood.h"
#include "heap/reach/reach_graph.h"

#define LARGE_PAGE (2u << 20)

struct run {
	const struct reach_input *in;
	struct reach *out;
	struct reach_graph graph;
	uint8_t *state;			/* of the nodes: becomes out->verdict if they are the given blocks */
	uint32_t *leader;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void run_fini(struct run *r)
{
	reach_graph_fini(&r->graph);
	free(r->state);
	free(r->leader);
}

/* Zeros, in large pages if there are many, because they are accessed in no order. free() them. */
static void *large_zeros(size_t n, size_t size)
{
	void *p = NULL;

	if (n * size < 2 * LARGE_PAGE)
		return calloc(n, size);
	if (posix_memalign(&p, LARGE_PAGE, n * size) != 0)
		return NULL;
	madvise(p, n * size, MADV_HUGEPAGE);
	return memset(p, 0, n * size);
}

static int run_init(struct run *r)
{
	int err = reach_graph_init(&r->graph, r->in);

	if (err)
		return err;
	r->state = large_zeros(r->graph.nodes.n + 1, sizeof(*r->state));
	r->leader = large_zeros(r->graph.nodes.n + 1, sizeof(*r->leader));
	return r->state && r->leader ? 0 : -ENOMEM;
}

/* How many blocks the flood has found that are pointed into, but not reachable. */
static uint64_t count_possible(const struct run *r)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < r->graph.nodes.n; i++)
		n += (r->state[i] & FLOOD_NOT_LOST) && !(r->state[i] & FLOOD_REACHED);
	return n;
}

/*
 * Repeats the flood with each distance that is recognised, because the blocks that are then reached may show
 * another.
 */
static int flood_with_headers(struct run *r, struct flood *f)
{
	struct reach *out = r->out;
	int err = flood_run(f, &r->graph.roots, r->in->threads);

	while (!err && r->in->heuristics & REACH_HEADER && out->nheaders < REACH_HEADERS) {
		const uint32_t distance = headers_recognise(&f->behind, r->graph.nodes.n);
		const uint64_t possible = distance ? count_possible(r) : 0;

		if (!distance)
			break;
		f->headers |= 1u << (distance / 8 - 1);
		f->behind = (struct headers){ .elsewhere = 0 };
		memset(r->state, 0, r->graph.nodes.n * sizeof(*r->state));
		roots_rewind(&r->graph.roots);
		err = flood_run(f, &r->graph.roots, r->in->threads);
		out->headers[out->nheaders++] =
			(struct reach_header){ distance, possible - count_possible(r) };
	}
	return err;
}

static int flood(struct run *r)
{
	struct flood f = { .s = r->in->snapshot, .ix = &r->graph.ix,
			   .heuristics = r->in->heuristics & ~(unsigned)REACH_HEADER, .exact = r->in->exact,
			   .census = r->in->census,
			   .state = r->state,
			   .leader = r->leader };
	int err = flood_with_headers(r, &f);

	if (!err)
		err = flood_lost(&f);
	r->out->words = f.words;
	r->out->memory =
		f.memory + r->graph.ix.memory + r->graph.nodes.n * (sizeof(*r->state) + sizeof(*r->leader));
	if (r->graph.nodes.merged)
		r->out->memory += r->graph.nodes.n * (sizeof(struct block) + sizeof(uint32_t)) +
				  r->in->nblocks * (sizeof(*r->state) + sizeof(*r->leader));
	return err;
}

static enum verdict verdict_of(uint8_t state)
{
	if (state & FLOOD_REACHED)
		return VERDICT_REACHABLE;
	if (state & FLOOD_NOT_LOST)
		return VERDICT_POSSIBLE;
	return state & FLOOD_INDIRECT ? VERDICT_INDIRECT : VERDICT_DEFINITE;
}

/*
 * A leader may have been taken over by another, and that by a third: every block gets the last one, and the
 * chain is shortened.
 */
static uint32_t last_leader(uint32_t *leader, uint32_t i)
{
	uint32_t last = i;

	while (leader[last] != last)
		last = leader[last];
	while (leader[i] != last) {
		const uint32_t next = leader[i];

		leader[i] = last;
		i = next;
	}
	return last;
}

static void judge_nodes(struct run *r)
{
	for (uint32_t i = 0; i < r->graph.nodes.n; i++) {
		const enum verdict v = verdict_of(r->state[i]);

		r->state[i] = (uint8_t)v;
		r->leader[i] = v == VERDICT_INDIRECT ? last_leader(r->leader, i) : i;
	}
}

/*
 * The verdicts of the nodes become those of the given blocks. A leader that was not given does not count:
 * then the block is its own leader.
 */
static int hand_over(struct run *r)
{
	struct reach *out = r->out;

	out->nblocks = r->in->nblocks;
	if (!r->graph.nodes.merged) {
		out->verdict = r->state;
		out->leader = r->leader;
		r->state = NULL;
		r->leader = NULL;
		return 0;
	}
	out->verdict = calloc(out->nblocks + 1, sizeof(*out->verdict));
	out->leader = calloc(out->nblocks + 1, sizeof(*out->leader));
	if (!out->verdict || !out->leader)
		return -ENOMEM;
	for (size_t i = 0; i < r->graph.nodes.n; i++) {
		const uint32_t given = r->graph.nodes.given[i], leader = r->graph.nodes.given[r->leader[i]];

		if (given == BLOCK_NONE)
			continue;
		out->verdict[given] = r->state[i];
		out->leader[given] = leader == BLOCK_NONE ? given : leader;
	}
	return 0;
}

static void sum_up(const struct reach_input *in, struct reach *out)
{
	for (size_t i = 0; i < out->nblocks; i++) {
		struct reach_sum *sum = &out->sums[out->verdict[i]];

		sum->blocks++;
		sum->bytes += in->blocks[i].size;
	}
}

int reach_run(const struct reach_input *in, struct reach *out)
{
	struct run r = { .in = in, .out = out };
	const double begin = now();
	int err;

	statusline_step("following pointers", in->snapshot->bytes);
	memset(out, 0, sizeof(*out));
	err = run_init(&r);
	if (!err)
		err = flood(&r);
	if (!err) {
		judge_nodes(&r);
		err = hand_over(&r);
	}
	run_fini(&r);
	if (err) {
		reach_fini(out);
		return err;
	}
	sum_up(in, out);
	out->seconds = now() - begin;
	return 0;
}

void reach_fini(struct reach *r)
{
	free(r->verdict);
	free(r->leader);
	memset(r, 0, sizeof(*r));
}
