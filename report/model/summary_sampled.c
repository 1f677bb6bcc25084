/* SPDX-License-Identifier: MIT */
/*
 * summary_sampled: groups of a sampled run: their order, and which of them are to be reported. First what stays; then that of which it is not
 * known, since it may; then tables, to which nothing is added; then what goes again.
 */
#include <string.h>

#include "report/model/summary_parts.h"

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

/* One without a sample is one of which nothing is known. */
static int rank(const struct summary_group *g)
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

int summary_compare_sampled(const struct summary_group *a, const struct summary_group *b)
{
	static const struct summary_sample none;
	const struct summary_sample *of_a = a->sampled ? a->sampled : &none, *of_b = b->sampled ? b->sampled : &none;
	int order = rank(a) - rank(b);

	if (!order)
		order = compare_estimates(of_a->may_keep_bytes.value, of_b->may_keep_bytes.value);
	if (!order)
		order = compare_estimates(of_a->allocs.value * of_a->bytes_each, of_b->allocs.value * of_b->bytes_each);
	return order ? order : summary_compare_numbers(of_a->seen, of_b->seen);
}
