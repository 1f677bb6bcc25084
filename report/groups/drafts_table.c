/* SPDX-License-Identifier: MIT */
/* drafts_merge: drafts that do not differ behind their wrappers are one (drafts_parts.h). */
#include "report/groups/drafts_parts.h"

/* Is it the first of its path, which owns what they have in common? */
static bool is_first(const struct draft *d)
{
	return d->first == d->twin;
}

static void merge_samples(struct draft *to, struct draft *d)
{
	/* that of the others of its path is the same one */
	if (!is_first(d))
		return;
	if (to->sampled && d->sampled) {
		sampled_merge(to->sampled, d->sampled);
	} else if (!to->sampled && is_first(to)) {
		to->sampled = d->sampled;
		d->sampled = NULL;
	}
}

/* @d is another's twin: all it has goes there. */
static void merge(struct draft *to, struct draft *d)
{
	drafts_add_kept(&to->kept, &d->kept);
	merge_samples(to, d);
	to->allocs += d->allocs;
	to->frees += d->frees;
	to->taken += d->taken;
	to->held_bytes += d->held_bytes;
	to->own_bytes += d->own_bytes;
	to->own_allocs += d->own_allocs;
	to->own_frees += d->own_frees;
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
		twin = drafts_look_up(ds, &d->path, d->skip, d->verdict, &h);
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
