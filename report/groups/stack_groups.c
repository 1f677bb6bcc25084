/* SPDX-License-Identifier: MIT */
#include "report/groups/stack_groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "report/groups/stack_groups_parts.h"

#define NO_COLUMN UINT32_MAX

/*
 * For each stack and verdict, and for what is withheld of the stack: its live blocks, and whether they are
 * wanted; and the stacks in the order of their numbers.
 */
struct stock {
	struct stack_live *kept;
	bool *wanted;
	uint32_t *order;
};

static struct ledger_book *book_of(const struct stack_groups *ds)
{
	return &ds->ledger->books[ds->family];
}

void stack_groups_fini(struct stack_groups *ds)
{
	for (size_t i = 0; i < ds->n; i++)
		if (ds->all[i].first == i) {
			free(ds->all[i].path.frames);
			sampled_free(ds->all[i].sampled);
		}
	free(ds->all);
	free(ds->first_of);
	free(ds->of_stack);
	addrmap_fini(&ds->by_hash);
}

static int compare_numbers(const void *a, const void *b, void *ctx)
{
	const struct defs *d = ctx;
	uint32_t na = d->stacks[*(const uint32_t *)a].number, nb = d->stacks[*(const uint32_t *)b].number;

	return na < nb ? -1 : na > nb;
}

/* In a complete run they are in order already; parts of a run may have been read in another order. */
static int order_stacks(struct stack_groups *ds, struct stock *st)
{
	size_t n = book_of(ds)->nplaces;

	st->order = calloc(n + 1, sizeof(*st->order));
	if (!st->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		st->order[i] = i;
	qsort_r(st->order, n, sizeof(*st->order), compare_numbers, &ds->ledger->defs);
	return 0;
}

/* --- live blocks and objects --- */

bool stack_groups_wants(const struct stack_groups *ds, uint64_t birth_us)
{
	return ledger_old_enough(ds->ledger, birth_us, ds->older_than_us);
}

static void add_block(struct stack_live *k, taddr addr, const struct live_block *b, uint64_t weight)
{
	if (!k->blocks || b->birth_us < k->oldest_us || (b->birth_us == k->oldest_us && addr < k->sample)) {
		k->oldest_us = b->birth_us;
		k->sample = addr;
	}
	if (!k->blocks || b->birth_us > k->youngest_us)
		k->youngest_us = b->birth_us;
	k->blocks += weight;
	k->bytes += weight * b->size;
}

/* What the block stands for. */
static struct summary_sum sum_of(const struct ledger *l, taddr addr, const struct live_block *b)
{
	const uint64_t weight = ledger_weight(l, addr, b);

	return (struct summary_sum){ weight, weight * b->size };
}

/* @k has a part that is withheld. */
static void count_withheld(const struct stack_groups *ds, struct stack_live *k, size_t entry,
			   uint64_t blocks, uint64_t bytes)
{
	k->withheld_by = entry;
	suppressions_count(ds->withheld->suppressions, entry, 0, blocks, bytes);
}

static void look_at_blocks(struct stack_groups *ds, struct stock *st)
{
	const struct live *live = book_of(ds)->live;
	const uint64_t interval = ds->ledger->run.sample_bytes;
	struct live_block b;
	taddr addr;

	for (size_t at = 0; live_next(live, &at, &addr, &b);) {
		enum verdict verdict = ledger_verdict(ds->ledger, &b);
		const struct summary_sum sum = sum_of(ds->ledger, addr, &b);
		size_t entry;
		const size_t slot = stack_groups_slot_of_block(ds, addr, &b, &entry);

		ds->sums[verdict].blocks += sum.blocks;
		ds->sums[verdict].bytes += sum.bytes;
		histogram_add(&ds->sizes, b.size, sum.blocks, sum.bytes);
		histogram_add(&ds->ages, ledger_age_us(ds->ledger, b.birth_us), sum.blocks, sum.bytes);
		if (!stack_groups_wants(ds, b.birth_us))
			continue;
		add_block(&st->kept[slot], addr, &b, sum.blocks);
		if (interval)
			byte_sample_add(&st->kept[slot].sample_of, interval, b.size);
		if (entry != SUPPRESSIONS_NONE)
			count_withheld(ds, &st->kept[slot], entry, sum.blocks, sum.bytes);
		st->wanted[slot] = true;
	}
}

static uint64_t birth_of(const struct ledger *l, uint64_t age_us)
{
	return age_us < l->now_us ? l->now_us - age_us : 0;
}

/* Take from @live what is withheld of group @i of the merged ledger. */
static void withhold(const struct stack_groups *ds, struct stock *st, size_t i, struct stack_live *live)
{
	const struct withheld_part *p = withheld_of(ds->withheld, i);
	const size_t slot = stack_groups_slot_withheld(ds, ds->ledger->merged.groups[i].stack);
	struct stack_live its = *live;

	if (!p)
		return;
	its.blocks = stack_groups_withheld(ds, i).blocks;
	its.bytes = stack_groups_withheld(ds, i).bytes;
	live->blocks -= its.blocks;
	live->bytes -= its.bytes;
	count_withheld(ds, &its, p->entry, its.blocks, its.bytes);
	stack_groups_add_live(&st->kept[slot], &its);
	st->wanted[slot] = true;
}

static void look_at_merged_group(struct stack_groups *ds, struct stock *st, size_t i)
{
	const struct merged_group *g = &ds->ledger->merged.groups[i];
	const enum verdict verdict = ds->nverdicts > 1 ? g->verdict : VERDICT_UNKNOWN;
	const size_t slot = stack_groups_slot(ds, g->stack, verdict);
	struct stack_live live = {
		.blocks = g->blocks, .bytes = g->bytes, .oldest_us = birth_of(ds->ledger, g->oldest_us),
		.youngest_us = birth_of(ds->ledger, g->youngest_us),
		.indirect_blocks = g->indirect_blocks, .indirect_bytes = g->indirect_bytes,
		.sample_of = g->sample_of,
	};

	if (g->family != ds->family || !g->blocks)
		return;
	ds->sums[verdict].blocks += g->blocks;
	ds->sums[verdict].bytes += g->bytes;
	withhold(ds, st, i, &live);
	if (!live.blocks)
		return;
	stack_groups_add_live(&st->kept[slot], &live);
	st->wanted[slot] = true;
}

/* Of several processes there are no single blocks, so that no age can be asked for. */
static void look_at_merged(struct stack_groups *ds, struct stock *st)
{
	const struct merged *m = &ds->ledger->merged;

	for (size_t i = 0; i < m->ngroups; i++)
		look_at_merged_group(ds, st, i);
	if (ds->family < m->nbins) {
		histogram_merge(&ds->sizes, &m->bins[ds->family].sizes);
		histogram_merge(&ds->ages, &m->bins[ds->family].ages);
	}
}

/* In a sample by bytes what is lost with a block is counted where it was allocated, as far as it is in the sample. */
static void look_at_leaders(const struct stack_groups *ds, struct stock *st)
{
	struct verdict_place place = { 0 };
	struct verdict_block j;
	struct live_block b;

	while (!ds->ledger->run.sample_bytes && ledger_next_leader(ds->ledger, &place, &j, &b)) {
		struct stack_live *k;

		if (j.family != ds->family || !stack_groups_wants(ds, b.birth_us))
			continue;
		k = &st->kept[stack_groups_slot(ds, b.stack, j.verdict)];
		k->indirect_blocks += j.with_blocks;
		k->indirect_bytes += j.with_bytes;
	}
}

static void look_at_objects(const struct stack_groups *ds, struct stock *st)
{
	const struct object *o;
	taddr addr;

	for (size_t at = 0; objects_next(book_of(ds)->objects, &at, &addr, &o);) {
		if (!stack_groups_wants(ds, o->birth_us))
			continue;
		for (uint32_t i = 0; i < o->nuses; i++)
			st->wanted[o->uses[i].stack] = true;
	}
}

/* A stack of which the run records only numbers has no age. */
static void look_at_samples(const struct stack_groups *ds, struct stock *st)
{
	const struct ledger_samples *s = &ds->ledger->samples;

	for (size_t i = 0; i < s->n && !ds->older_than_us; i++)
		if (s->all[i].family == ds->family && (s->all[i].its.seen || s->all[i].its.losing.lost))
			st->wanted[stack_groups_slot(ds, s->all[i].stack, VERDICT_UNKNOWN)] = true;
}

/* They have no live blocks, and so no verdicts. */
static void look_at_freed(const struct stack_groups *ds, struct stock *st)
{
	for (uint32_t i = 0; ds->freed && i < book_of(ds)->nplaces; i++)
		if (!book_of(ds)->places[i].blocks && book_of(ds)->places[i].allocs)
			st->wanted[stack_groups_slot(ds, i, VERDICT_UNKNOWN)] = true;
}

/* --- stacks to stack groups --- */

/* Returns its index; DEFS_NONE if out of memory. */
static uint32_t new_group(struct stack_groups *ds, struct path path, uint32_t column)
{
	const bool withheld = column == VERDICT_COUNT;
	uint32_t index = ds->n;

	if (grow_for(&ds->all, ds->n, &ds->size, sizeof(*ds->all)) < 0)
		return DEFS_NONE;
	ds->all[ds->n++] = (struct stack_group){
		.path = path, .verdict = withheld ? VERDICT_INDIRECT : column, .withheld = withheld,
		.twin = index, .first = index, .next = DEFS_NONE
	};
	return index;
}

static uint32_t column_of(const struct stack_group *d)
{
	return d->withheld ? VERDICT_COUNT : d->verdict;
}

/* The stack group of @column among those of the path whose first one is @first; made, if there is none. */
static uint32_t of_column(struct stack_groups *ds, uint32_t first, uint32_t column)
{
	uint32_t last = first, made;

	for (uint32_t i = first; i != DEFS_NONE; i = ds->all[i].next) {
		if (column_of(&ds->all[i]) == column)
			return i;
		last = i;
	}
	made = new_group(ds, ds->all[first].path, column);
	if (made == DEFS_NONE)
		return made;
	ds->all[made].first = first;
	ds->all[last].next = made;
	return made;
}

static int add_sample(const struct stack_groups *ds, struct stack_group *d, uint32_t stack)
{
	int r = 0;

	for (const struct ledger_sample *s = ledger_sample(ds->ledger, ds->family, stack); s && r == 0;
	     s = ledger_sample_next(ds->ledger, s))
		r = sampled_add(&d->sampled, s->process, &s->its);
	return r;
}

static bool is_empty(const struct stack_groups *ds, uint32_t stack)
{
	const struct place *p = &book_of(ds)->places[stack];

	return stack >= book_of(ds)->nplaces || !(p->allocs || p->frees || p->blocks);
}

/* Add what was counted for the stack, whether its blocks are live or freed. */
static int add_place(struct stack_groups *ds, struct stack_group *d, uint32_t stack)
{
	const struct place *p = ledger_place(ds->ledger, ds->family, stack);
	int r = add_sample(ds, d, stack);

	if (r < 0)
		return r;
	if (!p)
		return is_empty(ds, stack) ? 0 : -ENOMEM;
	d->allocs += p->allocs;
	d->frees += p->frees;
	d->allocated_bytes += p->allocated_bytes;
	d->held_bytes += p->bytes;
	for (uint32_t i = 0; i < p->series.n && i < MMT_SERIES_POINTS; i++)
		d->points[i] += series_point(&p->series, i);
	if (p->series.n > ds->npoints)
		ds->npoints = p->series.n;
	return 0;
}

/*
 * The first stack group of @path. If there is none, it is made for @column and takes over the path's frames.
 * DEFS_NONE: out of memory.
 */
static uint32_t first_of(struct stack_groups *ds, struct path *path, uint32_t column)
{
	struct stack_group *d;
	uint32_t index;
	uint64_t h;

	d = stack_groups_look_up(ds, path, 0, NULL, &h);
	if (d)
		return (uint32_t)(d - ds->all);
	index = new_group(ds, *path, column);
	if (index == DEFS_NONE)
		return index;
	path->frames = NULL;
	return addrmap_put(&ds->by_hash, h, &index) < 0 ? DEFS_NONE : index;
}

static int add_live_groups(struct stack_groups *ds, uint32_t first, uint32_t stack, const struct stock *st)
{
	for (uint32_t c = 0; c < stack_groups_columns(ds); c++) {
		const size_t slot = stack_groups_slot(ds, stack, 0) + c;
		uint32_t index;

		if (!st->wanted[slot])
			continue;
		index = of_column(ds, first, c);
		if (index == DEFS_NONE)
			return -ENOMEM;
		ds->of_stack[slot] = index;
		stack_groups_add_live(&ds->all[index].live, &st->kept[slot]);
	}
	return 0;
}

/* The first column of which the stack is wanted; NO_COLUMN: there is none. */
static uint32_t first_wanted(const struct stack_groups *ds, const struct stock *st, uint32_t stack)
{
	for (uint32_t c = 0; c < stack_groups_columns(ds); c++)
		if (st->wanted[stack_groups_slot(ds, stack, 0) + c])
			return c;
	return NO_COLUMN;
}

static int add_stack(struct stack_groups *ds, uint32_t stack, uint32_t column, const struct stock *st)
{
	struct path path = { 0 };
	uint32_t first;
	int r = path_read(&ds->ledger->defs, ds->same_as, stack, &path);

	if (r < 0)
		return r;
	first = first_of(ds, &path, column);
	free(path.frames);
	if (first == DEFS_NONE)
		return -ENOMEM;
	ds->first_of[stack] = first;
	r = add_live_groups(ds, first, stack, st);
	return r < 0 ? r : add_place(ds, &ds->all[first], stack);
}

static int add_stacks(struct stack_groups *ds, const struct stock *st)
{
	size_t n = book_of(ds)->nplaces;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		const uint32_t column = first_wanted(ds, st, st->order[i]);

		if (column != NO_COLUMN)
			r = add_stack(ds, st->order[i], column, st);
	}
	return r;
}

/* All stack groups of a path get what was counted for the path. */
static void share_counts(struct stack_groups *ds)
{
	for (size_t i = 0; i < ds->n; i++) {
		struct stack_group *d = &ds->all[i];
		const struct stack_group *first = &ds->all[d->first];

		d->own_bytes = first->held_bytes;
		d->own_allocs = first->allocs;
		d->own_frees = first->frees;
		if (d == first)
			continue;
		d->allocs = first->allocs;
		d->frees = first->frees;
		d->allocated_bytes = first->allocated_bytes;
		d->sampled = first->sampled;
		d->held_bytes = first->held_bytes;
		memcpy(d->points, first->points, sizeof(d->points));
	}
}

/*
 * The counts of a stack without live blocks are included if another stack of the same path still has some.
 * The frames of a path without live blocks need no names.
 */
static int count_empty_places(struct stack_groups *ds, const struct stock *st)
{
	size_t n = book_of(ds)->nplaces;
	int r = 0;

	for (uint32_t i = 0; i < n && r == 0; i++) {
		struct path path;
		struct stack_group *d;
		uint64_t h;

		if (first_wanted(ds, st, i) != NO_COLUMN ||
		    !(book_of(ds)->places[i].allocs || book_of(ds)->places[i].frees))
			continue;
		r = path_read(&ds->ledger->defs, ds->same_as, i, &path);
		if (r < 0)
			break;
		d = stack_groups_look_up(ds, &path, 0, NULL, &h);
		free(path.frames);
		if (!d)
			continue;
		ds->first_of[i] = (uint32_t)(d - ds->all);
		r = add_place(ds, d, i);
	}
	return r;
}

/* --- all --- */

static int init_stock(struct stack_groups *ds, struct stock *st)
{
	size_t n = (book_of(ds)->nplaces + 1) * stack_groups_columns(ds);

	st->kept = calloc(n, sizeof(*st->kept));
	st->wanted = calloc(n, sizeof(*st->wanted));
	ds->of_stack = calloc(n, sizeof(*ds->of_stack));
	ds->first_of = calloc(book_of(ds)->nplaces + 1, sizeof(*ds->first_of));
	if (!st->kept || !st->wanted || !ds->of_stack || !ds->first_of)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		ds->of_stack[i] = DEFS_NONE;
	for (size_t i = 0; i < book_of(ds)->nplaces; i++)
		ds->first_of[i] = DEFS_NONE;
	return order_stacks(ds, st);
}

static int group_stock(struct stack_groups *ds, struct stock *st)
{
	int r = init_stock(ds, st);

	if (r < 0)
		return r;
	look_at_blocks(ds, st);
	if (!ds->ledger->defs.families[ds->family].refs)
		look_at_merged(ds, st);
	look_at_leaders(ds, st);
	look_at_objects(ds, st);
	look_at_samples(ds, st);
	look_at_freed(ds, st);
	r = add_stacks(ds, st);
	if (r == 0)
		r = count_empty_places(ds, st);
	share_counts(ds);
	return r < 0 ? r : stack_groups_split(ds);
}

int stack_groups_make(struct ledger *l, uint32_t family, const struct stack_groups_choice *choice,
		      struct stack_groups *out)
{
	struct stock st = { 0 };
	int r;

	*out = (struct stack_groups){
		.ledger = l, .family = family, .older_than_us = choice->older_than_us, .freed = choice->freed,
		.same_as = choice->same_as, .withheld = choice->withheld,
		.nverdicts = ledger_has_verdicts(l) && !l->defs.families[family].refs ? VERDICT_COUNT : 1,
	};
	addrmap_init(&out->by_hash, sizeof(uint32_t));
	r = group_stock(out, &st);
	free(st.kept);
	free(st.wanted);
	free(st.order);
	return r;
}
