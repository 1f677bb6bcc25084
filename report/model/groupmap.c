/* SPDX-License-Identifier: MIT */
/* groupmap: see groupmap.h. */
#include "report/model/groupmap.h"

void groupmap_init(struct groupmap *m)
{
	addrmap_init(&m->of, sizeof(size_t));
}

void groupmap_fini(struct groupmap *m)
{
	addrmap_fini(&m->of);
}

static uint64_t key_of(uint32_t family, uint32_t stack, enum verdict verdict)
{
	return (uint64_t)family << 40 | (uint64_t)verdict << 32 | stack;
}

int groupmap_note(struct groupmap *m, uint32_t family, uint32_t stack, enum verdict verdict, size_t serial)
{
	return addrmap_put(&m->of, key_of(family, stack, verdict), &serial);
}

const size_t *groupmap_find(const struct groupmap *m, uint32_t family, uint32_t stack, enum verdict verdict)
{
	return addrmap_get(&m->of, key_of(family, stack, verdict));
}

bool groupmap_is_apart(const struct groupmap *m, uint32_t family, taddr addr)
{
	return family < m->nfamilies && addrmap_get(&m->apart[family], addr);
}
