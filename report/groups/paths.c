/* SPDX-License-Identifier: MIT */
/* paths: see paths.h. */
#include "report/groups/paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/addrmap.h"
#include "report/names/madecode.h"

/* File numbers are small, offsets have 47 bits. */
static uint64_t place_key(const struct defs *d, const struct defs_frame *f)
{
	const struct defs_module *m = f->module == DEFS_NONE ? NULL : &d->modules[f->module];

	return (m ? (f->pc - m->bias) ^ ((uint64_t)m->file + 1) << 47 : f->pc) ^ (uint64_t)f->exact << 63;
}

/*
 * The slot of the frame that represents @f's code location, or where it is to be put; NULL if out of memory.
 */
static uint32_t *slot_of(const struct defs *d, struct addrmap *places, struct addrmap *names,
			 const struct defs_frame *f, bool *fresh)
{
	const struct defs_name *name = madecode_name(d, f);
	uint32_t *slot;

	if (!name)
		return addrmap_slot(places, place_key(d, f), fresh);
	for (uint64_t h = madecode_hash(name);; h++) {
		slot = addrmap_slot(names, h, fresh);
		if (!slot || *fresh || madecode_same(madecode_name(d, &d->frames[*slot]), name))
			return slot;
	}
}

int paths_find_same(const struct defs *d, uint32_t *same_as)
{
	struct addrmap places, names;
	int r = 0;

	addrmap_init(&places, sizeof(uint32_t));
	addrmap_init(&names, sizeof(uint32_t));
	for (uint32_t f = 0; f < d->nframes && r == 0; f++) {
		bool fresh;
		uint32_t *slot = slot_of(d, &places, &names, &d->frames[f], &fresh);

		if (!slot)
			r = -ENOMEM;
		else if (fresh || d->frames[f].number < d->frames[*slot].number)
			*slot = f;
	}
	for (uint32_t f = 0; f < d->nframes && r == 0; f++)
		same_as[f] = *slot_of(d, &places, &names, &d->frames[f], &(bool){ false });
	addrmap_fini(&places);
	addrmap_fini(&names);
	return r;
}

int path_read(const struct defs *d, const uint32_t *same_as, uint32_t stack, struct path *out)
{
	*out = (struct path){
		.depth = defs_path(d, stack, NULL, 0), .tag = d->stacks[stack].tag,
		.end = d->stacks[stack].end,
	};
	out->frames = calloc(out->depth + 1, sizeof(*out->frames));
	if (!out->frames)
		return -ENOMEM;
	defs_path(d, stack, out->frames, out->depth);
	for (uint32_t i = 0; i < out->depth; i++)
		out->frames[i] = same_as[out->frames[i]];
	return 0;
}

uint64_t path_hash(const struct path *p, uint32_t skip)
{
	uint64_t h = (p->depth - skip) ^ (uint64_t)p->end << 32 ^ ((uint64_t)p->tag + 1) << 20;

	for (uint32_t i = skip; i < p->depth; i++) {
		h = (h ^ p->frames[i]) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	return h;
}

bool path_same(const struct path *a, uint32_t skip_a, const struct path *b, uint32_t skip_b)
{
	return a->depth - skip_a == b->depth - skip_b && a->end == b->end && a->tag == b->tag &&
	       memcmp(a->frames + skip_a, b->frames + skip_b, (a->depth - skip_a) * sizeof(a->frames[0])) ==
		       0;
}
