/* SPDX-License-Identifier: MIT */
/* tally_size: how large a block is: as glibc's chunk header says, or as it was asked for. */
#include "attach/events/tally_parts.h"

#include <string.h>

/* The word before the block, its low bits flags; a mapped chunk has one word less for the user. */
static uint64_t chunk_usable(uint64_t header)
{
	uint64_t size = header & ~7ull, overhead = header & 2 ? 16 : 8;

	return size > overhead ? size - overhead : 0;
}

bool tally_requested_size(const struct tallied *x, uint64_t *size)
{
	return x->rule->size.n && hitvalues_get(&x->values, &x->rule->size, size);
}

/* Of a family of things that have no size, only a number. */
static bool is_counted(const struct tally *t, const struct tallied *x)
{
	return strcmp(t->planting->set->families[x->family].noun, "block") != 0;
}

uint64_t tally_size(struct tally *t, const struct tallied *x)
{
	uint64_t size = 0;

	if (t->planting->options.exact_sizes && tally_requested_size(x, &size))
		return size;
	if (x->chunk && x->hit->loads_read & 1u << SITE_CHUNK)
		return chunk_usable(x->hit->loads[SITE_CHUNK]);
	/* descriptors, threads: one is one */
	if (!x->chunk && !x->rule->size.n)
		return is_counted(t, x);
	t->unread_sizes += !tally_requested_size(x, &size);
	return size;
}
