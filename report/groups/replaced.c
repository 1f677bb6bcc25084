/* SPDX-License-Identifier: MIT */
/* replaced: see replaced.h. */
#include "report/groups/replaced.h"

#include <errno.h>
#include <stdlib.h>

#include "base/addrmap.h"
#include "report/groups/stack_groups_parts.h"

#define SPANS (MMT_SERIES_POINTS + 1)	/* the last one is the rest of the run */
#define NEAR 1				/* spans from growth to a free that cancels it, at most */
#define DISTANCES (2 * NEAR + 1)
#define OLDER_MOST 0x1p62		/* bytes: a damaged trace may have more */

/* A size class, over the spans. */
struct class {
	double freed[SPANS];
	double grown[SPANS];
	/*
	 * of what has grown in a span: the part that what was freed in the span NEAR before to NEAR after
	 * cancels
	 */
	double part[SPANS][DISTANCES];
};

struct finder {
	struct stack_groups *ds;
	struct older_sizes *sizes;
	struct class *classes;		/* one for each of @sizes */
	struct addrmap live;		/* index of a stack group << 32 | of a class -> live bytes */
	size_t spans;
};

/* --- sizes --- */

static int look_at_block(struct finder *f, taddr addr, const struct live_block *b)
{
	const struct stack_groups *ds = f->ds;
	const size_t class = older_sizes_find(f->sizes, b->size);
	uint64_t *bytes;
	size_t entry;
	uint32_t of;

	if (class == SIZE_MAX)
		return 0;
	of = ds->of_stack[stack_groups_slot_of_block(ds, addr, b, &entry)];
	if (of == DEFS_NONE || summary_is_lost(ds->all[of].verdict))
		return 0;
	bytes = addrmap_slot(&f->live, (uint64_t)ds->all[of].twin << 32 | class, NULL);
	if (!bytes)
		return -ENOMEM;
	*bytes += b->size * ledger_weight(ds->ledger, addr, b);
	return 0;
}

static int look_at_blocks(struct finder *f)
{
	const struct live *live = f->ds->ledger->books[f->ds->family].live;
	struct live_block b;
	taddr addr;
	int r = 0;

	for (size_t at = 0; r == 0 && live_next(live, &at, &addr, &b);)
		r = look_at_block(f, addr, &b);
	return r;
}

/* --- growth --- */

static uint64_t bytes_at(const struct finder *f, const struct stack_group *d, size_t span)
{
	return span + 1 < f->spans ? d->points[span] : d->own_bytes;
}

/* What came in each span, and stayed. */
static void rises_of(const struct finder *f, const struct stack_group *d, double *rises)
{
	uint64_t floor[SPANS];

	for (size_t i = f->spans; i-- > 0;) {
		floor[i] = bytes_at(f, d, i);
		if (i + 1 < f->spans && floor[i + 1] < floor[i])
			floor[i] = floor[i + 1];
	}
	for (size_t i = 0; i < f->spans; i++)
		rises[i] = (double)(floor[i] - (i ? floor[i - 1] : 0));
}

/*
 * Which part of the group's live bytes are of the class; with --older-than some of its blocks are not listed.
 */
static double share_of(const struct stack_group *d, uint64_t bytes)
{
	return d->own_bytes > bytes ? (double)bytes / (double)d->own_bytes : 1;
}

static void add_growth(struct finder *f)
{
	uint64_t key;
	void *bytes;

	for (size_t at = 0; addrmap_next(&f->live, &at, &key, &bytes);) {
		const struct stack_group *d = &f->ds->all[key >> 32];
		struct class *c = &f->classes[(uint32_t)key];
		double rises[SPANS];

		rises_of(f, d, rises);
		for (size_t i = 0; i < f->spans; i++)
			c->grown[i] += rises[i] * share_of(d, *(uint64_t *)bytes);
	}
}

/* --- match --- */

static void add_freed(struct finder *f)
{
	for (size_t k = 0; k < f->sizes->n; k++) {
		const struct older_size *its = &f->sizes->all[k];
		uint64_t before = 0;

		for (size_t i = 0; i < f->spans; i++) {
			const bool known = i + 1 < f->spans && i < its->series.n;
			const uint64_t until = known ? series_point(&its->series, (uint32_t)i) : its->bytes;

			f->classes[k].freed[i] = until > before ? (double)(until - before) : 0;
			before = until;
		}
	}
}

/* @distance: of the free, from the growth. */
static void match_span(struct class *c, size_t grown_in, size_t freed_in, int distance, double *left)
{
	const double bytes = left[grown_in] < c->freed[freed_in] ? left[grown_in] : c->freed[freed_in];

	if (!(bytes > 0))
		return;
	left[grown_in] -= bytes;
	c->freed[freed_in] -= bytes;
	c->part[grown_in][distance + NEAR] = bytes / c->grown[grown_in];
}

/* The nearest first. */
static void match(struct class *c, size_t spans)
{
	double left[SPANS];

	for (size_t i = 0; i < spans; i++)
		left[i] = c->grown[i];
	for (int far = 0; far <= NEAR; far++)
		for (int sign = -1; sign <= 1; sign += 2)
			for (size_t i = 0; i < spans; i++) {
				const size_t freed_in = i + (size_t)(far * sign);

				if (freed_in < spans)
					match_span(c, i, freed_in, far * sign, left);
			}
}

/* --- share --- */

/*
 * A block has replaced an older one when it has come and the other one is freed: so what is freed first makes
 * no dip, which a burst of frees would be, and what is freed late counts as live until then.
 */
static void cancel(const struct finder *f, const struct class *c, const double *rises, double share,
		   double *freed)
{
	for (size_t i = 0; i < f->spans; i++)
		for (int d = -NEAR; d <= NEAR; d++)
			if (c->part[i][d + NEAR] > 0)
				freed[d > 0 ? i + (size_t)d : i] += rises[i] * share * c->part[i][d + NEAR];
}

static void set_older(const struct finder *f, struct stack_group *d, const double *freed)
{
	double later = 0;

	for (size_t i = f->spans; i-- > 0;) {
		if (i + 1 < f->spans)
			d->older[i] = later < OLDER_MOST ? (uint64_t)(later + 0.5) : (uint64_t)OLDER_MOST;
		later += freed[i];
	}
}

static void share(struct finder *f, uint32_t index)
{
	struct stack_group *d = &f->ds->all[index];
	double rises[SPANS], freed[SPANS] = { 0 };
	bool any = false;

	rises_of(f, d, rises);
	for (size_t k = 0; k < f->sizes->n; k++) {
		const uint64_t *bytes = addrmap_get(&f->live, (uint64_t)index << 32 | k);

		if (!bytes)
			continue;
		cancel(f, &f->classes[k], rises, share_of(d, *bytes), freed);
		any = true;
	}
	if (any)
		set_older(f, d, freed);
}

static int find(struct finder *f)
{
	int r = look_at_blocks(f);

	if (r < 0)
		return r;
	add_growth(f);
	add_freed(f);
	for (size_t k = 0; k < f->sizes->n; k++)
		match(&f->classes[k], f->spans);
	for (uint32_t i = 0; i < f->ds->n; i++)
		if (f->ds->all[i].twin == i && addrmap_count(&f->live))
			share(f, i);
	return 0;
}

int replaced_find(struct stack_groups *ds)
{
	struct finder f = {
		.ds = ds, .sizes = &ds->ledger->books[ds->family].older,
		.spans = (ds->npoints < MMT_SERIES_POINTS ? ds->npoints : MMT_SERIES_POINTS) + 1,
	};
	int r = older_sizes_pass(f.sizes, ds->ledger->now_us);

	if (r < 0 || !f.sizes->n)
		return r;
	addrmap_init(&f.live, sizeof(uint64_t));
	f.classes = calloc(f.sizes->n, sizeof(*f.classes));
	r = f.classes ? find(&f) : -ENOMEM;
	free(f.classes);
	addrmap_fini(&f.live);
	return r;
}
