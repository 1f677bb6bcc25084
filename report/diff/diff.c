/* SPDX-License-Identifier: MIT */
/*
 * diff: see diff.h. Each group of both sides gets a key, a text made of its stack. Sorted by key, equal
 * groups are next to each other. An inlined function and a called one have the same key, so that two builds
 * may differ in that.
 */
#include "report/diff/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/diff/diff_parts.h"

#define UNEQUAL 1.03	/* if one watch is so many times as long as the other, leaks differ by that much */
#define LEAST_S 0.25	/* and the lengths differ at least by this */
#define SHORTEST_S 1	/* a shorter watch says nothing about rates */
#define TENTH 0.1

static char *make_key(const struct summary_group *g)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_puts(&sb, g->family ? g->family : "");
	strbuf_putc(&sb, '\2');
	strbuf_puts(&sb, g->tag ? g->tag : "");
	strbuf_putc(&sb, '\2');
	diff_key_stack(&sb, &g->stack);
	return strbuf_steal(&sb);
}

static int add_sides(struct diff_sides *sides, const struct summary *s, bool is_new)
{
	int r = 0;

	for (size_t i = 0; i < s->ngroups && r == 0; i++)
		r = diff_sides_add(sides, make_key(&s->groups[i]), &s->groups[i], is_new);
	return r;
}

static bool unequal(double a, double b)
{
	return a >= SHORTEST_S && b >= SHORTEST_S && (a > b * UNEQUAL || b > a * UNEQUAL) &&
	       fabs(a - b) > LEAST_S;
}

double diff_rate(const struct summary *s, uint64_t bytes)
{
	return s->run.seconds > 0 ? (double)bytes * 60 / s->run.seconds : 0;
}

/*
 * The difference that may be chance: the larger of a tenth and 2 / sqrt(n) of @expected, where n is the
 * smaller number of blocks.
 */
static double by_chance(const struct diff_group *g, double expected)
{
	uint64_t blocks = g->old_blocks < g->new_blocks ? g->old_blocks : g->new_blocks;

	return expected * (blocks && 2 / sqrt((double)blocks) > TENTH ? 2 / sqrt((double)blocks) : TENTH);
}

static enum diff_change change_of_rate(const struct diff_group *g)
{
	double expected = (double)g->new_bytes - g->change_bytes;

	if (fabs(g->change_bytes) <= by_chance(g, expected))
		return DIFF_SAME;
	return g->change_bytes > 0 ? DIFF_GREW : DIFF_SHRANK;
}

static enum diff_change change_of(const struct diff_group *g, bool in_old, bool in_new)
{
	if (!in_old)
		return DIFF_APPEARED;
	if (!in_new)
		return DIFF_WENT;
	if (g->rated)
		return change_of_rate(g);
	if (g->new_bytes != g->old_bytes)
		return g->new_bytes > g->old_bytes ? DIFF_GREW : DIFF_SHRANK;
	if (g->new_blocks != g->old_blocks)
		return g->new_blocks > g->old_blocks ? DIFF_GREW : DIFF_SHRANK;
	return DIFF_SAME;
}

static double change_bytes(const struct diff *d, const struct diff_group *g)
{
	double scale = g->rated ? d->new->run.seconds / d->old->run.seconds : 1;

	return (double)g->new_bytes - (double)g->old_bytes * scale;
}

/* Join the groups with the same key, from @from on, into @g. Returns where the next key begins. */
static size_t join(const struct diff *d, const struct diff_sides *sides, size_t from, struct diff_group *g)
{
	const struct diff_side *first = &sides->all[from];
	bool in_old = false, in_new = false;
	size_t i = from;

	*g = (struct diff_group){ .group = first->what };
	for (; i < sides->n && !strcmp(sides->all[i].key, first->key); i++) {
		const struct summary_group *its = sides->all[i].what;
		bool is_new = sides->all[i].is_new;

		*(is_new ? &in_new : &in_old) = true;
		g->rated |= d->by_rate && growth_goes_on(&its->growth);
		g->mixed |= is_new == first->is_new && its->verdict != g->group->verdict;
		*(is_new ? &g->new_blocks : &g->old_blocks) += its->blocks;
		*(is_new ? &g->new_bytes : &g->old_bytes) += its->bytes;
	}
	g->change_bytes = change_bytes(d, g);
	g->change = change_of(g, in_old, in_new);
	return i;
}

/* The rank, which is the order of the keys, decides last, so that the same data always has the same order. */
struct ranked {
	struct diff_group group;
	size_t rank;
};

static int compare_differences(uint64_t old_a, uint64_t new_a, uint64_t old_b, uint64_t new_b)
{
	__int128 a = (__int128)new_a - old_a, b = (__int128)new_b - old_b;

	return a > b ? -1 : a < b;
}

static int compare_ranked(const void *pa, const void *pb)
{
	const struct ranked *a = pa, *b = pb;
	int order = (a->group.change_bytes < b->group.change_bytes) -
		    (a->group.change_bytes > b->group.change_bytes);

	if (!order)
		order = compare_differences(a->group.old_bytes, a->group.new_bytes, b->group.old_bytes,
					    b->group.new_bytes);
	if (!order)
		order = compare_differences(a->group.old_blocks, a->group.new_blocks, b->group.old_blocks,
					    b->group.new_blocks);
	return order ? order : a->rank < b->rank ? -1 : 1;
}

static int rank_groups(struct diff *d)
{
	cleanup_free struct ranked *ranked = calloc(d->ngroups + 1, sizeof(*ranked));

	if (!ranked)
		return -ENOMEM;
	for (size_t i = 0; i < d->ngroups; i++)
		ranked[i] = (struct ranked){ d->groups[i], i };
	qsort(ranked, d->ngroups, sizeof(*ranked), compare_ranked);
	for (size_t i = 0; i < d->ngroups; i++)
		d->groups[i] = ranked[i].group;
	return 0;
}

static int make_groups(struct diff *d, struct diff_sides *sides)
{
	diff_sides_sort(sides);
	for (size_t i = 0; i < sides->n;)
		i = join(d, sides, i, &d->groups[d->ngroups++]);
	return rank_groups(d);
}

int diff_make(const struct summary *old, const struct summary *new, struct diff *out)
{
	size_t room = old->ngroups + new->ngroups;
	struct diff_sides sides;
	int r = diff_sides_init(&sides, room);

	*out = (struct diff){ .old = old, .new = new, .by_rate = unequal(old->run.seconds, new->run.seconds),
			      .groups = calloc(room + 1, sizeof(*out->groups)) };
	if (!out->groups)
		r = -ENOMEM;
	if (r == 0)
		r = add_sides(&sides, old, false);
	if (r == 0)
		r = add_sides(&sides, new, true);
	if (r == 0)
		r = make_groups(out, &sides);
	if (r == 0)
		r = diff_refs_make(out);
	diff_sides_fini(&sides);
	if (r < 0)
		diff_fini(out);
	return r;
}

void diff_fini(struct diff *d)
{
	free(d->groups);
	free(d->refs);
	*d = (struct diff){ 0 };
}

const char *diff_change_name(enum diff_change change)
{
	static const char *const names[] = {
#define X(upper, lower) #lower,
		DIFF_CHANGES(X)
#undef X
	};

	return names[change];
}

int diff_error(const struct diff *d)
{
	return summary_error(d->old) || summary_error(d->new) ? -ENOMEM : 0;
}
