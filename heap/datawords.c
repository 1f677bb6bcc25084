/* SPDX-License-Identifier: MIT */
#include "heap/datawords.h"

static bool next_mapping(struct datawords *d)
{
	d->m = datamaps_next(&d->maps, &d->file);
	if (d->m)
		d->piece = snapshot_piece_from(d->s, d->m->lo);
	return d->m;
}

bool datawords_next(struct datawords *d)
{
	const struct snapshot *s = d->s;

	while (!d->m || d->piece == s->npieces || s->pieces[d->piece].lo >= d->m->hi)
		if (!next_mapping(d))
			return false;
	const struct snapshot_piece *p = &s->pieces[d->piece++];

	d->lo = p->lo > d->m->lo ? p->lo : d->m->lo;
	d->hi = p->lo + p->size < d->m->hi ? p->lo + p->size : d->m->hi;
	d->bytes = p->bytes + (d->lo - p->lo);
	return true;
}
