/* SPDX-License-Identifier: MIT */
/* summary_bounds: how sure the numbers of a sample by bytes are. */
#include "report/model/summary.h"

#include <math.h>

#define CHANCE 2		/* standard deviations */

struct summary_bounds summary_bounds_of(const struct summary_group *g)
{
	const struct byte_sample *its = &g->sample_of;
	struct summary_bounds b = { 0 };

	if (!its->seen)
		return b;
	byte_sample_interval((double)g->blocks, its->blocks_variance, (double)its->seen, &b.blocks_low, &b.blocks_high);
	byte_sample_interval((double)g->bytes, its->bytes_variance, (double)its->bytes, &b.bytes_low, &b.bytes_high);
	return b;
}

/* The variance of a difference is that of all blocks that came and went meanwhile. */
bool summary_grows_by_chance(const struct summary_group *g, uint64_t calls)
{
	const double each = g->blocks ? g->sample_of.bytes_variance / (double)g->blocks : 0;
	const double variance = each * (double)calls / 2;
	double added;

	if (!g->npoints)
		return false;
	added = (double)g->series[g->npoints - 1].bytes - (double)g->series[(g->npoints - 1) / 2].bytes;
	return variance > 0 && added < CHANCE * sqrt(variance);
}
