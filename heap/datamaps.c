/* SPDX-License-Identifier: MIT */
#include "heap/datamaps.h"

const struct mapping *datamaps_next(struct datamaps *d, const struct mapping **file)
{
	while (d->next < d->maps->n) {
		const struct mapping *m = &d->maps->maps[d->next++];

		if (m->ino)
			d->file = m;
		else if (m->lo != d->end)
			d->file = NULL;
		d->end = m->hi;
		if (d->file && m->perms & MAPPING_WRITE && !(m->perms & MAPPING_SHARED)) {
			*file = d->file;
			return m;
		}
	}
	return NULL;
}

taddr datamaps_end(const struct procmaps *maps, const struct mapping *m)
{
	taddr end = m->hi;

	while ((m = procmaps_find(maps, end)) && !m->ino)
		end = m->hi;
	return end;
}

bool datamaps_cover(const struct procmaps *maps, taddr lo, taddr hi)
{
	if (hi < lo)
		return false;
	while (lo < hi) {
		const struct mapping *m = procmaps_find(maps, lo);

		if (!m)
			return false;
		lo = m->hi;
	}
	return true;
}
