/* SPDX-License-Identifier: MIT */
#include "attach/stacks/scripts/script_places.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/grow.h"

#define PLACES_MOST (1u << 20)
#define TEXTS_MOST (64u << 20)	/* bytes of all names */
#define TOO_MANY "(one of too many places)"

void script_places_init(struct script_places *p)
{
	*p = (struct script_places){ 0 };
	addrmap_init(&p->by_hash, sizeof(uint32_t));
	intern_init(&p->pool);
}

void script_places_fini(struct script_places *p)
{
	addrmap_fini(&p->by_hash);
	intern_fini(&p->pool);
	free(p->all);
}

const char *script_places_text(struct script_places *p, const char *text)
{
	return intern_text(&p->pool, p->pool.bytes < TEXTS_MOST ? text : TOO_MANY);
}

static uint64_t hash_place(const struct script_place *p)
{
	uint64_t h = 0x9e3779b97f4a7c15ull ^ p->line;

	/* each text is in the pool once */
	h = (h ^ (uintptr_t)p->function) * 0xff51afd7ed558ccdull;
	h = (h ^ h >> 32 ^ (uintptr_t)p->file) * 0xff51afd7ed558ccdull;
	return h ^ h >> 32;
}

static bool same_place(const struct script_place *a, const struct script_place *b)
{
	return a->function == b->function && a->file == b->file && a->line == b->line;
}

int script_places_number(struct script_places *p, const struct script_place *place, uint32_t *number)
{
	struct script_place other = { .line = 0 };
	const uint32_t *known;
	uint64_t h;

	if (p->n >= PLACES_MOST) {
		other.function = other.file = intern_text(&p->pool, TOO_MANY);
		place = &other;
	}
	h = hash_place(place);
	while ((known = addrmap_get(&p->by_hash, h)) && !same_place(&p->all[*known], place))
		h++;
	if (known) {
		*number = *known;
		return 0;
	}
	if (!place->function || !place->file || grow_for(&p->all, p->n, &p->size, sizeof(*p->all)))
		return -ENOMEM;
	*number = (uint32_t)p->n;
	p->all[p->n++] = *place;
	return addrmap_put(&p->by_hash, h, number);
}
