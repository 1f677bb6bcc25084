/* SPDX-License-Identifier: MIT */
#include "report/drafts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"

/* What each stack keeps, whether it matters, and the stacks in the order of their numbers. */
struct stock {
	struct kept *kept;
	bool *wanted;
	uint32_t *order;
};

static struct ledger_book *book_of(const struct drafts *ds)
{
	return &ds->ledger->books[ds->family];
}

void drafts_fini(struct drafts *ds)
{
	for (size_t i = 0; i < ds->n; i++)
		free(ds->all[i].path.frames);
	free(ds->all);
	free(ds->of_stack);
	addrmap_fini(&ds->by_hash);
}

static int compare_numbers(const void *a, const void *b, void *ctx)
{
	const struct defs *d = ctx;
	uint32_t na = d->stacks[*(const uint32_t *)a].number, nb = d->stacks[*(const uint32_t *)b].number;

	return na < nb ? -1 : na > nb;
}

/* In a whole run they are in order already; a part of one may have come in another order. */
static int order_stacks(struct drafts *ds, struct stock *st)
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

/* --- what blocks and objects say --- */

bool drafts_wants(const struct drafts *ds, uint64_t birth_us)
{
	return ledger_old_enough(ds->ledger, birth_us, ds->older_than_us);
}

static void add_block(struct kept *k, taddr addr, const struct live_block *b)
{
	if (!k->blocks || b->birth_us < k->oldest_us || (b->birth_us == k->oldest_us && addr < k->sample)) {
		k->oldest_us = b->birth_us;
		k->sample = addr;
	}
	if (!k->blocks || b->birth_us > k->youngest_us)
		k->youngest_us = b->birth_us;
	k->blocks++;
	k->bytes += b->size;
}

static void look_at_blocks(const struct drafts *ds, struct stock *st)
{
	const struct live *live = book_of(ds)->live;
	struct live_block b;
	taddr addr;

	for (size_t at = 0; live_next(live, &at, &addr, &b);) {
		if (!drafts_wants(ds, b.birth_us))
			continue;
		add_block(&st->kept[b.stack], addr, &b);
		st->wanted[b.stack] = true;
	}
}

static void look_at_objects(const struct drafts *ds, struct stock *st)
{
	const struct object *o;
	taddr addr;

	for (size_t at = 0; objects_next(book_of(ds)->objects, &at, &addr, &o);) {
		if (!drafts_wants(ds, o->birth_us))
			continue;
		for (uint32_t i = 0; i < o->nuses; i++)
			st->wanted[o->uses[i].stack] = true;
	}
}

static void add_kept(struct kept *to, const struct kept *k)
{
	if (!k->blocks)
		return;
	if (!to->blocks || k->oldest_us < to->oldest_us || (k->oldest_us == to->oldest_us && k->sample < to->sample)) {
		to->oldest_us = k->oldest_us;
		to->sample = k->sample;
	}
	if (!to->blocks || k->youngest_us > to->youngest_us)
		to->youngest_us = k->youngest_us;
	to->blocks += k->blocks;
	to->bytes += k->bytes;
}

/* --- stacks to drafts --- */

/*
 * The draft of @path, or NULL; then @h is where it would be found. Who shares a hash without being the same goes to
 * the next free one.
 */
static struct draft *look_up(struct drafts *ds, const struct path *path, uint32_t skip, uint64_t *h)
{
	const uint32_t *known;

	for (*h = path_hash(path, skip); (known = addrmap_get(&ds->by_hash, *h)); ++*h) {
		struct draft *d = &ds->all[*known];

		if (path_same(&d->path, d->skip, path, skip))
			return d;
	}
	return NULL;
}

/* Takes the path over. NULL on want of memory. */
static struct draft *new_draft(struct drafts *ds, struct path *path, uint64_t h)
{
	uint32_t index = ds->n;

	if (grow_for(&ds->all, ds->n, &ds->size, sizeof(*ds->all)) < 0 || addrmap_put(&ds->by_hash, h, &index) < 0)
		return NULL;
	ds->all[ds->n] = (struct draft){ .path = *path, .twin = index };
	path->frames = NULL;
	return &ds->all[ds->n++];
}

/* What the place has counted, kept or not. */
static int add_place(struct drafts *ds, struct draft *d, uint32_t stack)
{
	const struct place *p = ledger_place(ds->ledger, ds->family, stack);

	if (!p)
		return stack < book_of(ds)->nplaces ? -ENOMEM : 0;
	d->allocs += p->allocs;
	d->frees += p->frees;
	d->held_bytes += p->bytes;
	for (uint32_t i = 0; i < p->series.n && i < MMT_SERIES_POINTS; i++)
		d->points[i] += series_point(&p->series, i);
	if (p->series.n > ds->npoints)
		ds->npoints = p->series.n;
	return 0;
}

static int draft_stack(struct drafts *ds, uint32_t stack, const struct kept *kept)
{
	struct path path = { 0 };
	struct draft *d = NULL;
	uint64_t h;
	int r = path_read(&ds->ledger->defs, ds->same_as, stack, &path);

	if (r == 0) {
		d = look_up(ds, &path, 0, &h);
		if (!d)
			d = new_draft(ds, &path, h);
	}
	free(path.frames);
	if (!d)
		return -ENOMEM;
	ds->of_stack[stack] = (uint32_t)(d - ds->all);
	add_kept(&d->kept, kept);
	return add_place(ds, d, stack);
}

static int draft_all(struct drafts *ds, const struct stock *st)
{
	size_t n = book_of(ds)->nplaces;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		if (st->wanted[st->order[i]])
			r = draft_stack(ds, st->order[i], &st->kept[st->order[i]]);
	return r;
}

/*
 * What a stack has given back counts as well, where another stack of the same path still keeps something. Frames of
 * a path that keeps nothing need no names.
 */
static int count_empty_places(struct drafts *ds, const struct stock *st)
{
	size_t n = book_of(ds)->nplaces;
	int r = 0;

	for (uint32_t i = 0; i < n && r == 0; i++) {
		struct path path;
		struct draft *d;
		uint64_t h;

		if (st->wanted[i] || !(book_of(ds)->places[i].allocs || book_of(ds)->places[i].frees))
			continue;
		r = path_read(&ds->ledger->defs, ds->same_as, i, &path);
		if (r < 0)
			break;
		d = look_up(ds, &path, 0, &h);
		free(path.frames);
		if (d)
			r = add_place(ds, d, i);
	}
	return r;
}

/* --- those that look the same --- */

/* @d is another's twin: all it has goes there. */
static void merge(struct draft *to, const struct draft *d)
{
	add_kept(&to->kept, &d->kept);
	to->allocs += d->allocs;
	to->frees += d->frees;
	to->held_bytes += d->held_bytes;
	for (uint32_t i = 0; i < MMT_SERIES_POINTS; i++)
		to->points[i] += d->points[i];
}

int drafts_merge(struct drafts *ds)
{
	int r = 0;

	addrmap_clear(&ds->by_hash);
	for (uint32_t i = 0; i < ds->n && r == 0; i++) {
		struct draft *d = &ds->all[i], *twin;
		uint64_t h;

		if (d->hidden)
			continue;
		twin = look_up(ds, &d->path, d->skip, &h);
		if (!twin) {
			r = addrmap_put(&ds->by_hash, h, &i);
			continue;
		}
		merge(twin, d);
		d->hidden = true;
		d->twin = twin->twin;
	}
	return r;
}

size_t drafts_series(const struct drafts *ds, const struct draft *d, struct growth_point *points)
{
	double span_s = series_span(ds->ledger->now_us) / 1e6;
	uint32_t n = ds->npoints < MMT_SERIES_POINTS ? ds->npoints : MMT_SERIES_POINTS;

	for (uint32_t i = 0; i < n; i++)
		points[i] = (struct growth_point){ (i + 1) * span_s, d->points[i] };
	points[n] = (struct growth_point){ ds->ledger->now_us / 1e6, d->held_bytes };
	return n + 1;
}

/* --- all --- */

static int init_stock(struct drafts *ds, struct stock *st)
{
	size_t n = book_of(ds)->nplaces + 1;

	st->kept = calloc(n, sizeof(*st->kept));
	st->wanted = calloc(n, sizeof(*st->wanted));
	ds->of_stack = calloc(n, sizeof(*ds->of_stack));
	if (!st->kept || !st->wanted || !ds->of_stack)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		ds->of_stack[i] = DEFS_NONE;
	return order_stacks(ds, st);
}

static int draft_stock(struct drafts *ds, struct stock *st)
{
	int r = init_stock(ds, st);

	if (r < 0)
		return r;
	look_at_blocks(ds, st);
	look_at_objects(ds, st);
	r = draft_all(ds, st);
	return r < 0 ? r : count_empty_places(ds, st);
}

int drafts_make(struct ledger *l, uint32_t family, uint64_t older_than_us, const uint32_t *same_as, struct drafts *out)
{
	struct stock st = { 0 };
	int r;

	*out = (struct drafts){
		.ledger = l, .family = family, .older_than_us = older_than_us, .same_as = same_as,
	};
	addrmap_init(&out->by_hash, sizeof(uint32_t));
	r = draft_stock(out, &st);
	free(st.kept);
	free(st.wanted);
	free(st.order);
	return r;
}
