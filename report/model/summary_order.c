/* SPDX-License-Identifier: MIT */
/*
 * summary_order: the order of a report, and what is to be reported. In a sampled run groups that leak come
 * first; then unknown ones, since they may leak; then bounded ones, to which nothing is added; then freed
 * ones.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/summary_parts.h"

/* --- what a group is --- */

int summary_rank(enum verdict v)
{
	static const int ranks[VERDICT_COUNT] = {
		[VERDICT_DEFINITE] = 0,	 [VERDICT_POSSIBLE] = 1, [VERDICT_INDIRECT] = 2,
		[VERDICT_REACHABLE] = 3, [VERDICT_UNKNOWN] = 4,
	};

	return ranks[v];
}

enum verdict summary_verdict_at(int rank)
{
	enum verdict v = 0;

	while (summary_rank(v) != rank && v + 1 < VERDICT_COUNT)
		v++;
	return v;
}

bool summary_is_lost(enum verdict v)
{
	return v == VERDICT_DEFINITE || v == VERDICT_POSSIBLE || v == VERDICT_INDIRECT;
}

uint64_t summary_older_unknown(const struct summary_totals *t)
{
	return t->unmatched_frees > t->older_blocks ? t->unmatched_frees - t->older_blocks : 0;
}

uint64_t summary_weight(const struct summary_group *g)
{
	return g->bytes + g->kind.indirect_bytes;
}

enum summary_section summary_section(const struct summary *s, const struct summary_group *g)
{
	bool timed = s->run.seconds > 0;

	if (g->verdict == VERDICT_INDIRECT)
		return g->held ? SUMMARY_HELD : SUMMARY_LOST;
	if (g->verdict == VERDICT_DEFINITE || g->parts[VERDICT_DEFINITE].blocks ||
	    (g->verdict == VERDICT_POSSIBLE && (!timed || growth_rises(&g->growth))))
		return SUMMARY_LOST;
	if (timed && (growth_goes_on(&g->growth) || summary_may_leak(s, &g->growth)))
		return SUMMARY_GROWING;
	return SUMMARY_KEPT;
}

bool summary_may_leak(const struct summary *s, const struct growth *g)
{
	return growth_only_replaces(g) && !s->run.verdicts.known;
}

const char *summary_section_name(enum summary_section section)
{
	static const char *const names[] = {
#define X(upper, lower) [SUMMARY_##upper] = #lower,
		SUMMARY_SECTIONS(X)
#undef X
	};

	return names[section];
}

/* --- groups of a sampled run --- */

bool summary_is_sampled(const struct summary_run *run)
{
	return strcmp(run->mode ? run->mode : "", "sampled") == 0;
}

bool summary_group_suspect(const struct summary_group *g)
{
	if (g->sampled)
		return g->sampled->survival.kind == SURVIVAL_STAYS;
	return g->verdict != VERDICT_REACHABLE;
}

/* A group without a sample counts as unknown. */
static int sampled_rank(const struct summary_group *g)
{
	static const int ranks[SURVIVAL_KIND_COUNT] = {
		[SURVIVAL_STAYS] = 0, [SURVIVAL_UNKNOWN] = 1, [SURVIVAL_TABLE] = 2, [SURVIVAL_GOES] = 3,
	};

	return ranks[g->sampled ? g->sampled->survival.kind : SURVIVAL_UNKNOWN];
}

/* The larger first. */
static int compare_estimates(double a, double b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

static int compare_sampled(const struct summary_group *a, const struct summary_group *b)
{
	static const struct summary_sample none;
	const struct summary_sample *of_a = a->sampled ? a->sampled : &none,
				    *of_b = b->sampled ? b->sampled : &none;
	int order = sampled_rank(a) - sampled_rank(b);

	if (!order)
		order = compare_estimates(of_a->may_keep_bytes.value, of_b->may_keep_bytes.value);
	if (!order)
		order = compare_estimates(of_a->allocs.value * of_a->bytes_each,
					  of_b->allocs.value * of_b->bytes_each);
	return order ? order : summary_compare_numbers(of_a->seen, of_b->seen);
}

/* --- groups --- */

/* In the order of the summary; families that it does not list have no defined order. */
static int compare_families(const struct summary *s, const char *a, const char *b)
{
	const struct summary_family *of_a = summary_family(s, a), *of_b = summary_family(s, b);

	return of_a < of_b ? -1 : of_a > of_b;
}

/* Names only decide between groups that are the same otherwise: two families may share a stack. */
static int compare_kinds(const struct summary_group *a, const struct summary_group *b)
{
	int order = summary_compare_texts(a->family, b->family);

	if (!order)
		order = summary_compare_texts(a->tag, b->tag);
	if (!order)
		order = (int)a->verdict - (int)b->verdict;
	return order ? order : (int)a->stack.end - (int)b->stack.end;
}

/* Groups that are known to grow come before those that may; the fastest first. */
static int compare_rates(const struct growth *a, const struct growth *b)
{
	bool known_a = a->shape != GROWTH_UNKNOWN, known_b = b->shape != GROWTH_UNKNOWN;

	if (known_a != known_b)
		return known_a ? -1 : 1;
	if (!known_a)
		return 0;
	return (a->bytes_per_minute < b->bytes_per_minute) - (a->bytes_per_minute > b->bytes_per_minute);
}

static int compare_sections(const struct summary *s, const struct summary_group *a,
			    const struct summary_group *b)
{
	enum summary_section of_a = summary_section(s, a), of_b = summary_section(s, b);

	if (of_a != of_b)
		return (int)of_a - (int)of_b;
	return of_a == SUMMARY_GROWING ? compare_rates(&a->growth, &b->growth) : 0;
}

static bool is_gone(const struct summary_group *g)
{
	return !g->blocks && !g->kind.indirect_blocks;
}

static int compare_groups(const void *pa, const void *pb, void *ctx)
{
	const struct summary_group *a = pa, *b = pb;
	int order = compare_families(ctx, a->family, b->family);

	/* those of which nothing is live are in no table: what is has the same number with and without them */
	if (!order && !a->sampled && !b->sampled)
		order = (int)is_gone(a) - (int)is_gone(b);
	if (!order && (a->sampled || b->sampled))
		order = compare_sampled(a, b);
	else if (!order)
		order = compare_sections(ctx, a, b);
	if (!order)
		order = summary_rank(a->verdict) - summary_rank(b->verdict);
	if (!order)
		order = summary_compare_numbers(summary_weight(a), summary_weight(b));
	if (!order)
		order = summary_compare_numbers(a->blocks, b->blocks);
	if (!order)
		order = summary_compare_numbers(a->allocs, b->allocs);
	if (!order)
		order = stack_compare(&a->stack, &b->stack);
	return order ? order : compare_kinds(a, b);
}

/* --- objects with references --- */

enum summary_section summary_refs_section(const struct summary *s, const struct summary_refs *r)
{
	return s->run.seconds > 0 && !r->older && growth_goes_on(&r->growth) ? SUMMARY_GROWING : SUMMARY_KEPT;
}

int summary_refs_order(const struct summary *s, const struct summary_refs *a, const struct summary_refs *b)
{
	enum summary_section of_a = summary_refs_section(s, a), of_b = summary_refs_section(s, b);
	int order = (int)of_a - (int)of_b;

	if (!order && of_a == SUMMARY_GROWING)
		order = compare_rates(&a->growth, &b->growth);
	if (!order)
		order = summary_refs_rank(a) - summary_refs_rank(b);
	return order ? order : summary_compare_numbers(a->objects, b->objects);
}

static int compare_lists(const struct summary_use *a, size_t na, const struct summary_use *b, size_t nb)
{
	int order = 0;

	for (size_t i = 0; !order && i < na && i < nb; i++)
		order = stack_compare(&a[i].stack, &b[i].stack);
	for (size_t i = 0; !order && i < na && i < nb; i++)
		order = (int)a[i].stack.end - (int)b[i].stack.end;
	return order ? order : summary_compare_numbers(nb, na);
}

static int compare_refs(const void *pa, const void *pb, void *ctx)
{
	const struct summary_refs *a = pa, *b = pb;
	int order = compare_families(ctx, a->family, b->family);

	if (!order)
		order = summary_refs_order(ctx, a, b);
	if (!order)
		order = a->net < b->net ? 1 : a->net > b->net ? -1 : 0;
	if (!order)
		order = compare_lists(a->acquired, a->nacquired, b->acquired, b->nacquired);
	if (!order)
		order = compare_lists(a->released, a->nreleased, b->released, b->nreleased);
	if (!order)
		order = summary_compare_texts(a->family, b->family);
	return order ? order : (int)a->counted - (int)b->counted;
}

static void sort_refs(struct summary *s)
{
	if (s->nrefs)
		qsort_r(s->refs, s->nrefs, sizeof(*s->refs), compare_refs, s);
}

/* --- all --- */

int summary_sort_groups(struct summary *s)
{
	if (s->ngroups)
		qsort_r(s->groups, s->ngroups, sizeof(*s->groups), compare_groups, s);
	free(s->index_of);
	s->index_of = calloc(s->ngroups + 1, sizeof(*s->index_of));
	for (size_t i = 0; s->index_of && i < s->ngroups; i++)
		s->index_of[s->groups[i].serial] = i;
	return s->index_of ? 0 : -ENOMEM;
}

void summary_sort(struct summary *s)
{
	if (summary_sort_groups(s) < 0)
		s->err = -ENOMEM;
	sort_refs(s);
}

size_t summary_index(const struct summary *s, size_t serial)
{
	return s->index_of[serial];
}

const struct summary_group *summary_grows_instead(const struct summary *s, const struct summary_group *g)
{
	const struct summary_group *at = g;

	if (summary_section(s, g) != SUMMARY_LOST || g->growth.shape == GROWTH_GROWS)
		return NULL;
	while (at->split && (at = &s->groups[summary_index(s, at->split_from)]) != g)
		if (growth_rises(&at->growth) && summary_section(s, at) == SUMMARY_GROWING)
			return at;
	return NULL;
}
