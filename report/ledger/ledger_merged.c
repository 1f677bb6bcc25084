/* SPDX-License-Identifier: MIT */
/*
 * ledger_merged: the facts of a merged trace (report/ledger/merged/merged.h): processes, and what they have
 * together. A process is known by its number; what names one that is not defined contradicts the rest.
 */
#include <errno.h>
#include <string.h>

#include "report/ledger/ledger_parts.h"

bool ledger_is_merged(const struct ledger *l)
{
	return l->merged.nprocesses > 0;
}

/* --- processes --- */

/* The strings of @its into the pool. */
static int keep_texts(struct ledger *l, struct fact_process *its)
{
	const char **texts[] = { &its->comm, &its->exe, &its->host, &its->labels, &its->frontend, &its->mode,
				 &its->how };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *kept = defs_string(&l->defs, *texts[i]);

		if (*texts[i] && !kept)
			return -ENOMEM;
		*texts[i] = kept;
	}
	return 0;
}

int ledger_add_process(struct ledger *l, const struct fact_process *process)
{
	struct merged_process *p;
	struct fact_process its = *process;
	uint32_t index;
	int r = keep_texts(l, &its);

	if (r < 0)
		return r;
	if (l->merged.nprocesses >= MERGED_PROCESSES_MAX)
		return -ENOSPC;
	p = merged_add_process(&l->merged);
	if (!p)
		return -ENOMEM;
	index = p->its.number;
	p->its = its;
	p->its.number = index;
	p->its.sums = NULL;
	p->its.nsums = 0;
	for (uint32_t i = 0; i < process->nsums && i < VERDICT_COUNT; i++)
		p->sums[i] = process->sums[i];
	return 0;
}

int ledger_take_process(struct ledger *l, const struct fact_process *process)
{
	const uint32_t index = (uint32_t)l->merged.nprocesses;
	int r;

	if (addrmap_get(&l->merged.process_index, process->number))
		return -EINVAL;
	r = ledger_add_process(l, process);
	return r < 0 ? r : addrmap_put(&l->merged.process_index, process->number, &index);
}

/* --- groups --- */

static struct merged_group group_of(const struct fact_merged *its)
{
	struct merged_group g = {
		.blocks = its->blocks, .bytes = its->bytes, .indirect_blocks = its->indirect_blocks,
		.indirect_bytes = its->indirect_bytes, .oldest_us = its->oldest_us,
		.youngest_us = its->youngest_us, .sample_of = { its->seen, its->seen_bytes, 0, 0 },
	};

	memcpy(&g.sample_of.blocks_variance, &its->blocks_variance, sizeof(its->blocks_variance));
	memcpy(&g.sample_of.bytes_variance, &its->bytes_variance, sizeof(its->bytes_variance));
	return g;
}

static int add_parts(struct ledger *l, const struct fact_merged *its, struct merged_group *g)
{
	int r = 0;

	for (uint32_t i = 0; i < its->nparts && r == 0; i++) {
		const uint32_t *process = addrmap_get(&l->merged.process_index, its->parts[i].process);

		r = process ? parts_add(&g->parts, *process, its->parts[i].bytes) : -EINVAL;
	}
	return r;
}

int ledger_add_live(struct ledger *l, uint32_t family, uint32_t stack, uint64_t blocks, uint64_t bytes)
{
	struct place *p = ledger_place_now(l, family, stack);

	if (!p)
		return -ENOMEM;
	p->blocks += blocks;
	p->bytes += bytes;
	if (l->defs.families[family].refs)
		return 0;
	l->held_blocks += blocks;
	l->held_bytes += bytes;
	return 0;
}

int ledger_take_merged(struct ledger *l, const struct fact *f)
{
	const struct fact_merged *its = f->merged.its;
	const struct merged_group more = group_of(its);
	struct merged_group *g;
	uint32_t stack;
	int r = ledger_stack(l, f->merged.stack, &stack);

	if (r < 0)
		return r;
	g = merged_group(&l->merged, l->family, stack,
			 its->verdict < VERDICT_COUNT ? its->verdict : VERDICT_UNKNOWN, l->now_us);
	if (!g)
		return -ENOMEM;
	if (its->npoints)
		r = series_add(&g->births, its->span_us, its->points, its->npoints);
	if (r == 0)
		r = add_parts(l, its, g);
	if (r < 0)
		return r;
	merged_group_add(g, &more);
	return ledger_add_live(l, l->family, stack, its->blocks, its->bytes);
}

/* The index of the group; 0 or -ENOMEM. */
static int find_group(struct ledger *l, uint32_t family, uint32_t stack, uint32_t verdict, uint32_t *out)
{
	uint32_t index;
	struct merged_group *g;
	int r = ledger_stack(l, stack, &index);

	if (r < 0)
		return r;
	g = merged_group(&l->merged, family, index, verdict, l->now_us);
	*out = g ? (uint32_t)(g - l->merged.groups) : 0;
	return g ? 0 : -ENOMEM;
}

int ledger_take_hang(struct ledger *l, const struct fact *f)
{
	const uint32_t family = defs_family(&l->defs, f->hang.family);
	struct merged_hang hang = { .blocks = f->hang.blocks, .bytes = f->hang.bytes };
	int r;

	if (family == DEFS_NONE || (f->hang.verdict != VERDICT_DEFINITE &&
				    f->hang.verdict != VERDICT_POSSIBLE))
		return -EINVAL;
	r = find_group(l, family, f->hang.on, f->hang.verdict, &hang.root);
	if (r == 0)
		r = find_group(l, l->family, f->hang.stack, VERDICT_INDIRECT, &hang.group);
	return r < 0 ? r : merged_add_hang(&l->merged, &hang);
}

/* --- bins, notes --- */

int ledger_take_bins(struct ledger *l, const struct fact *f)
{
	struct merged_bins *bins = merged_bins(&l->merged, l->family);
	struct histogram *h;

	if (!bins)
		return -ENOMEM;
	if (f->bins.which != MMT_BINS_SIZES && f->bins.which != MMT_BINS_AGES)
		return -EINVAL;
	h = f->bins.which == MMT_BINS_SIZES ? &bins->sizes : &bins->ages;
	for (uint32_t i = 0; i < f->bins.n && i < HISTOGRAM_BINS; i++) {
		h->bins[i].blocks += f->bins.all[i].blocks;
		h->bins[i].bytes += f->bins.all[i].bytes;
	}
	return 0;
}

int ledger_take_said(struct ledger *l, const struct fact *f)
{
	const char *text = defs_string(&l->defs, f->said.note ? f->said.note : "");

	return text ? merged_say(&l->merged, text, f->said.processes) : -ENOMEM;
}
