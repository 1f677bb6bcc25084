/* SPDX-License-Identifier: MIT */
#include "attach/events/doubts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"

void doubts_init(struct doubts *d)
{
	addrmap_init(&d->threads, sizeof(struct doubtful));
}

void doubts_fini(struct doubts *d)
{
	struct doubtful t;
	uint32_t tid;

	while (doubts_any(d, &tid) && doubts_take(d, tid, &t))
		doubtful_fini(&t);
	addrmap_fini(&d->threads);
}

int doubts_add(struct doubts *d, uint32_t tid, const struct doubt *a, uint32_t probe)
{
	struct doubtful *t = addrmap_slot(&d->threads, tid, NULL);

	if (!t || grow_for(&t->all, t->n, &t->size, sizeof(*t->all)) < 0)
		return -ENOMEM;
	t->all[t->n++] = *a;
	t->probe = probe;
	return 0;
}

bool doubts_take(struct doubts *d, uint32_t tid, struct doubtful *out)
{
	return addrmap_del(&d->threads, tid, out);
}

void doubtful_fini(struct doubtful *t)
{
	free(t->all);
}

bool doubts_any(const struct doubts *d, uint32_t *tid)
{
	uint64_t key;
	size_t i = 0;

	if (!addrmap_next(&d->threads, &i, &key, NULL))
		return false;
	*tid = key;
	return true;
}
