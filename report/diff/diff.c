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
#include "report/names/apart.h"

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

/* What both sides had when each had lasted as long as the shorter watch. */
struct at_equal_times {
	double old, new;
	bool known;
};

static bool is_chance(const struct diff_group *g, double change, double expected)
{
	return fabs(change) <= by_chance(g, expected);
}

static enum diff_change change_of_rate(const struct diff *d, const struct diff_group *g,
				       const struct at_equal_times *at)
{
	bool shorter_has_more = (g->change_bytes > 0) == (d->new->run.seconds < d->old->run.seconds);

	if (is_chance(g, g->change_bytes, (double)g->new_bytes - g->change_bytes))
		return DIFF_SAME;
	if (shorter_has_more && at->known &&
	    (is_chance(g, at->new - at->old, at->old) || (at->new > at->old) != (g->change_bytes > 0)))
		return DIFF_SAME;
	return g->change_bytes > 0 ? DIFF_GREW : DIFF_SHRANK;
}

static enum diff_change change_of(const struct diff *d, const struct diff_group *g, bool in_old,
				  bool in_new, const struct at_equal_times *at)
{
	if (!in_old)
		return DIFF_APPEARED;
	if (!in_new)
		return DIFF_WENT;
	if (g->rated)
		return change_of_rate(d, g, at);
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

static bool same_addresses(const struct stack_view *a, const struct stack_view *b)
{
	for (size_t i = 0; i < a->depth && i < b->depth; i++)
		if (a->frames[i].pc != b->frames[i].pc)
			return false;
	return a->depth == b->depth;
}

/* The live bytes of the group @seconds after the start, which is not before its first point. */
static double bytes_at(const struct summary_group *g, double seconds)
{
	const struct growth_point *last = &g->series[g->npoints - 1];
	double bytes = 0, since = 0;

	if (seconds >= last->seconds)
		return (double)g->bytes;
	for (size_t i = 0; i < g->npoints; i++) {
		const struct growth_point *p = &g->series[i];

		if (p->seconds >= seconds)
			return bytes + ((double)p->bytes - bytes) * (seconds - since) / (p->seconds - since);
		bytes = (double)p->bytes;
		since = p->seconds;
	}
	return bytes;
}

double diff_equal_seconds(const struct diff *d)
{
	return fmin(d->old->run.seconds, d->new->run.seconds);
}

static void add_at(struct at_equal_times *at, const struct diff *d, const struct summary_group *g,
		   bool is_new)
{
	double shorter = diff_equal_seconds(d);

	/* within the first span nothing is known */
	if (!d->by_rate || !g->npoints || shorter < g->series[0].seconds)
		at->known = false;
	else
		*(is_new ? &at->new : &at->old) += bytes_at(g, shorter);
}

static void add_growth(struct diff_group *g, const struct summary_group *its, bool is_new)
{
	if (growth_rises(&its->growth))
		*(is_new ? &g->new_growth : &g->old_growth) += its->growth.bytes_per_minute;
}

/* Join the groups with the same key, from @from on, into @g. Returns where the next key begins. */
static size_t join(const struct diff *d, const struct diff_sides *sides, size_t from, struct diff_group *g)
{
	const struct diff_side *first = &sides->all[from];
	struct at_equal_times at = { .known = true };
	bool in_old = false, in_new = false;
	size_t i = from;

	*g = (struct diff_group){ .group = first->what };
	for (; i < sides->n && !strcmp(sides->all[i].key, first->key); i++) {
		const struct summary_group *its = sides->all[i].what;
		bool is_new = sides->all[i].is_new;

		*(is_new ? &in_new : &in_old) = true;
		g->rated |= d->by_rate && growth_goes_on(&its->growth);
		g->mixed |= is_new == first->is_new && its->verdict != g->group->verdict;
		g->several |= is_new == first->is_new && !same_addresses(&its->stack, &g->group->stack);
		*(is_new ? &g->new_blocks : &g->old_blocks) += its->blocks;
		*(is_new ? &g->new_bytes : &g->old_bytes) += its->bytes;
		add_at(&at, d, its, is_new);
		add_growth(g, its, is_new);
	}
	g->change_bytes = change_bytes(d, g);
	g->change = change_of(d, g, in_old, in_new, &at);
	g->goes_on = g->rated && g->change == DIFF_SAME && g->old_growth > 0 && g->new_growth > 0;
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

static void number_refs(struct diff *d)
{
	for (size_t i = 0, number = 0; i < d->nrefs; i++)
		if (diff_is_more(d->refs[i].change))
			d->refs[i].number = ++number;
}

/* The faster one first. */
static int compare_going_on(const void *pa, const void *pb)
{
	const struct diff_group *a = *(struct diff_group *const *)pa, *b = *(struct diff_group *const *)pb;

	if (a->new_growth != b->new_growth)
		return a->new_growth > b->new_growth ? -1 : 1;
	return a < b ? -1 : a > b;
}

static int number_groups(struct diff *d)
{
	cleanup_free struct diff_group **on = calloc(d->ngroups + 1, sizeof(*on));
	size_t number = 0, n = 0;

	if (!on)
		return -ENOMEM;
	for (size_t i = 0; i < d->ngroups; i++) {
		if (diff_is_more(d->groups[i].change))
			d->groups[i].number = ++number;
		else if (d->groups[i].goes_on)
			on[n++] = &d->groups[i];
	}
	if (n)
		qsort(on, n, sizeof(*on), compare_going_on);
	for (size_t i = 0; i < n; i++)
		on[i]->number = ++number;
	return 0;
}

static int tell_apart(struct diff *d)
{
	cleanup_free const struct summary_group **groups = calloc(d->ngroups + 1, sizeof(*groups));
	cleanup_free struct apart *apart = calloc(d->ngroups + 1, sizeof(*apart));
	int r;

	if (!groups || !apart)
		return -ENOMEM;
	for (size_t i = 0; i < d->ngroups; i++)
		groups[i] = d->groups[i].group;
	r = apart_find(groups, d->ngroups, apart);
	for (size_t i = 0; i < d->ngroups; i++)
		d->groups[i].apart = apart[i];
	return r;
}

static int make_groups(struct diff *d, struct diff_sides *sides)
{
	int r;

	diff_sides_sort(sides);
	for (size_t i = 0; i < sides->n;)
		i = join(d, sides, i, &d->groups[d->ngroups++]);
	r = rank_groups(d);
	if (r == 0)
		r = number_groups(d);
	return r < 0 ? r : tell_apart(d);
}

int diff_make(const struct summary *old, const struct summary *new, struct diff *out)
{
	size_t room = old->ngroups + new->ngroups;
	struct diff_sides sides;
	int r = diff_sides_init(&sides, room);

	*out = (struct diff){ .old = old, .new = new, .by_rate = unequal(old->run.seconds, new->run.seconds),
			      .same_process = diff_is_of_one_process(old, new),
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
	if (r == 0)
		number_refs(out);
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

bool diff_is_more(enum diff_change change)
{
	return change == DIFF_GREW || change == DIFF_APPEARED;
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
