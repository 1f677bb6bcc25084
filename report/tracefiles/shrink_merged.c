/* SPDX-License-Identifier: MIT */
/* shrink_merged: see shrink_parts.h: what a merged ledger has in place of live blocks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/tracefiles/shrink_parts.h"

#define PARTS_AT_ONCE 10000	/* in one record */

static struct fact info(const struct shrink *s, uint32_t what)
{
	return (struct fact){ .kind = MMT_INFO, .info = what, .time_us = s->l->now_us };
}

/* --- processes, notes --- */

void shrink_put_processes(struct shrink *s)
{
	const struct merged *m = &s->l->merged;
	struct fact f = info(s, MMT_PROCESS);

	for (size_t i = 0; i < m->nprocesses; i++) {
		struct fact_process p = m->processes[i].its;

		p.sums = m->processes[i].sums;
		p.nsums = VERDICT_COUNT;
		f.process = &p;
		shrink_put(s, &f);
	}
	f = info(s, MMT_SAID);
	for (size_t i = 0; i < m->nnotes; i++) {
		f.said.note = m->notes[i].text;
		f.said.processes = m->notes[i].processes;
		shrink_put(s, &f);
	}
}

/* --- groups --- */

static struct fact_merged fact_of(const struct merged_group *g)
{
	struct fact_merged its = {
		.verdict = g->verdict, .blocks = g->blocks, .bytes = g->bytes,
		.indirect_blocks = g->indirect_blocks, .indirect_bytes = g->indirect_bytes,
		.oldest_us = g->oldest_us, .youngest_us = g->youngest_us, .seen = g->sample_of.seen,
		.seen_bytes = g->sample_of.bytes, .span_us = series_span_us(&g->births),
		.points = g->births.points, .npoints = g->births.points ? g->births.n : 0,
	};

	memcpy(&its.blocks_variance, &g->sample_of.blocks_variance, sizeof(its.blocks_variance));
	memcpy(&its.bytes_variance, &g->sample_of.bytes_variance, sizeof(its.bytes_variance));
	return its;
}

static uint32_t number_of(const struct shrink *s, uint32_t process)
{
	return s->l->merged.processes[process].its.number;
}

/* A group of very many processes takes several records, which add up. */
static void put_group(struct shrink *s, struct merged_group *g, struct fact_part *some)
{
	struct fact f = info(s, MMT_MERGED);
	struct fact_merged its = fact_of(g);
	struct parts_place place = { 0 };
	bool more = true;

	f.merged.stack = shrink_stack(s, g->stack);
	f.merged.its = &its;
	its.parts = some;
	while (more) {
		for (its.nparts = 0; its.nparts < PARTS_AT_ONCE; its.nparts++) {
			more = parts_next(&g->parts, &place, &some[its.nparts]);
			if (!more)
				break;
			some[its.nparts].process = number_of(s, some[its.nparts].process);
		}
		shrink_put(s, &f);
		its = (struct fact_merged){ .verdict = g->verdict, .youngest_us = g->youngest_us,
					   .parts = some };
	}
}

static void put_bins(struct shrink *s, uint32_t which, const struct histogram *h)
{
	struct fact_sum all[HISTOGRAM_BINS];
	struct fact f = info(s, MMT_BINS);

	for (uint32_t i = 0; i < HISTOGRAM_BINS; i++) {
		all[i] = (struct fact_sum){ h->bins[i].blocks, h->bins[i].bytes };
		f.bins.n = all[i].blocks ? i + 1 : f.bins.n;
	}
	f.bins.which = which;
	f.bins.all = all;
	if (f.bins.n)
		shrink_put(s, &f);
}

void shrink_put_merged(struct shrink *s, uint32_t family)
{
	struct merged *m = &s->l->merged;
	struct fact_part *some = malloc(PARTS_AT_ONCE * sizeof(*some));

	if (!some && !s->err)
		s->err = -ENOMEM;
	for (size_t i = 0; i < m->ngroups && s->err == 0; i++) {
		if (m->groups[i].family != family)
			continue;
		s->err = series_advance(&m->groups[i].births, s->l->now_us, m->groups[i].bytes);
		put_group(s, &m->groups[i], some);
	}
	if (family < m->nbins) {
		put_bins(s, MMT_BINS_SIZES, &m->bins[family].sizes);
		put_bins(s, MMT_BINS_AGES, &m->bins[family].ages);
	}
	free(some);
}

void shrink_put_hangs(struct shrink *s)
{
	const struct merged *m = &s->l->merged;

	for (size_t i = 0; i < m->nhangs; i++) {
		const struct merged_group *root = &m->groups[m->hangs[i].root],
			*g = &m->groups[m->hangs[i].group];
		struct fact f = info(s, MMT_HANG);

		shrink_put_family(s, s->l->now_us, g->family);
		f.hang.family = s->l->defs.families[root->family].number;
		f.hang.verdict = root->verdict;
		f.hang.on = shrink_stack(s, root->stack);
		f.hang.stack = shrink_stack(s, g->stack);
		f.hang.blocks = m->hangs[i].blocks;
		f.hang.bytes = m->hangs[i].bytes;
		shrink_put(s, &f);
	}
}
