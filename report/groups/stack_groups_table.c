/* SPDX-License-Identifier: MIT */
/*
 * stack_groups_table: finds stack groups by stack or path, makes their series, and merges those that do not
 * differ after their wrappers.
 */
#include "report/groups/stack_groups_parts.h"

#include "report/ledger/series.h"

/* --- look-up --- */

size_t stack_groups_slot(const struct stack_groups *ds, uint32_t stack, enum verdict verdict)
{
	return (size_t)stack * stack_groups_columns(ds) + (ds->nverdicts > 1 ? verdict : 0);
}

uint32_t stack_groups_columns(const struct stack_groups *ds)
{
	return ds->nverdicts > 1 ? ds->nverdicts + 1 : 1;
}

size_t stack_groups_slot_withheld(const struct stack_groups *ds, uint32_t stack)
{
	return (size_t)stack * stack_groups_columns(ds) + stack_groups_columns(ds) - 1;
}

size_t stack_groups_slot_of_block(const struct stack_groups *ds, taddr addr, const struct live_block *b,
				  size_t *entry)
{
	const enum verdict verdict = ledger_verdict(ds->ledger, b);

	if (verdict == VERDICT_INDIRECT && withheld_has(ds->withheld, ds->family, addr, entry))
		return stack_groups_slot_withheld(ds, b->stack);
	*entry = SUPPRESSIONS_NONE;
	return stack_groups_slot(ds, b->stack, verdict);
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

struct summary_sum stack_groups_withheld(const struct stack_groups *ds, size_t i)
{
	const struct merged_group *g = &ds->ledger->merged.groups[i];
	const struct withheld_part *p = withheld_of(ds->withheld, i);

	if (!p)
		return (struct summary_sum){ 0, 0 };
	return (struct summary_sum){ smaller(p->sum.blocks, g->blocks), smaller(p->sum.bytes, g->bytes) };
}

uint32_t stack_groups_of(const struct stack_groups *ds, uint32_t stack, enum verdict verdict)
{
	return ds->of_stack[stack_groups_slot(ds, stack, verdict)];
}

/*
 * Has one of its processes lost blocks that the kernel's probes saw being allocated there? Functions of an interpreter
 * that are executed for one line of a script look the same: of these one may lose its blocks, and others not.
 */
static bool is_seen_losing(const struct stack_group *d)
{
	const struct sampled *its = d->sampled;

	while (its && !its->probed_lost)
		its = its->next;
	return its != NULL;
}

static bool are_twins(const struct stack_group *a, const struct stack_group *b)
{
	return a->verdict == b->verdict && is_seen_losing(a) == is_seen_losing(b);
}

struct stack_group *stack_groups_look_up(struct stack_groups *ds, const struct path *path, uint32_t skip,
					 const struct stack_group *twin, uint64_t *h)
{
	const uint32_t *known;

	for (*h = path_hash(path, skip); (known = addrmap_get(&ds->by_hash, *h)); ++*h) {
		struct stack_group *d = &ds->all[*known];

		if (path_same(&d->path, d->skip, path, skip) && (!twin || are_twins(d, twin)))
			return d;
	}
	return NULL;
}

/* --- series --- */

size_t stack_groups_series(const struct stack_groups *ds, const struct stack_group *d,
			   struct growth_point *points)
{
	double span_s = series_span(ds->ledger->now_us) / 1e6;
	uint32_t n = ds->npoints < MMT_SERIES_POINTS ? ds->npoints : MMT_SERIES_POINTS;

	for (uint32_t i = 0; i < n; i++)
		points[i] = (struct growth_point){ (i + 1) * span_s, d->points[i], d->older[i] };
	points[n] = (struct growth_point){ ds->ledger->now_us / 1e6, d->own_bytes, 0 };
	return n + 1;
}

/* --- merging --- */

void stack_groups_add_live(struct stack_live *to, const struct stack_live *k)
{
	if (!k->blocks)
		return;
	if (!to->blocks || k->oldest_us < to->oldest_us ||
	    (k->oldest_us == to->oldest_us && k->sample < to->sample)) {
		to->oldest_us = k->oldest_us;
		to->sample = k->sample;
		to->withheld_by = k->withheld_by;
	}
	if (!to->blocks || k->youngest_us > to->youngest_us)
		to->youngest_us = k->youngest_us;
	to->blocks += k->blocks;
	to->bytes += k->bytes;
	to->indirect_blocks += k->indirect_blocks;
	to->indirect_bytes += k->indirect_bytes;
	byte_sample_merge(&to->sample_of, &k->sample_of);
}

/* Is it the first stack group of its path, which owns what these stack groups share? */
static bool is_first(const struct stack_group *d)
{
	return d->first == d->twin;
}

static int merge_samples(struct stack_group *to, struct stack_group *d)
{
	/* the other stack groups of its path have the same sample */
	if (!is_first(d))
		return 0;
	if (to->sampled && d->sampled)
		return sampled_merge(&to->sampled, d->sampled);
	if (!to->sampled && is_first(to)) {
		to->sampled = d->sampled;
		d->sampled = NULL;
	}
	return 0;
}

/* @d is @to's twin: add all its counts to @to. */
static int merge(struct stack_group *to, struct stack_group *d)
{
	stack_groups_add_live(&to->live, &d->live);
	to->allocs += d->allocs;
	to->frees += d->frees;
	to->allocated_bytes += d->allocated_bytes;
	to->held_bytes += d->held_bytes;
	to->own_bytes += d->own_bytes;
	to->own_allocs += d->own_allocs;
	to->own_frees += d->own_frees;
	for (uint32_t i = 0; i < MMT_SERIES_POINTS; i++)
		to->points[i] += d->points[i];
	return merge_samples(to, d);
}

int stack_groups_merge(struct stack_groups *ds)
{
	int r = 0;

	addrmap_clear(&ds->by_hash);
	for (uint32_t i = 0; i < ds->n && r == 0; i++) {
		struct stack_group *d = &ds->all[i], *twin;
		uint64_t h;

		if (d->hidden)
			continue;
		twin = stack_groups_look_up(ds, &d->path, d->skip, d, &h);
		if (!twin) {
			r = addrmap_put(&ds->by_hash, h, &i);
			continue;
		}
		r = merge(twin, d);
		d->hidden = true;
		d->twin = twin->twin;
	}
	return r;
}
