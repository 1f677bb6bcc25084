/* SPDX-License-Identifier: MIT */
#include "attach/events/suspect_frees.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"

void suspect_frees_init(struct suspect_frees *d)
{
	addrmap_init(&d->threads, sizeof(struct suspect_found));
}

void suspect_frees_fini(struct suspect_frees *d)
{
	struct suspect_found t;
	uint32_t tid;

	while (suspect_frees_any(d, &tid) && suspect_frees_take(d, tid, &t))
		suspect_found_fini(&t);
	addrmap_fini(&d->threads);
}

int suspect_frees_add(struct suspect_frees *d, uint32_t tid, const struct suspect_free *a, uint32_t probe)
{
	struct suspect_found *t = addrmap_slot(&d->threads, tid, NULL);

	if (!t || grow_for(&t->all, t->n, &t->size, sizeof(*t->all)) < 0)
		return -ENOMEM;
	t->all[t->n++] = *a;
	t->probe = probe;
	return 0;
}

static bool any_again(const struct suspect_found *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->all[i].again)
			return true;
	return false;
}

bool suspect_frees_set_done(struct suspect_frees *d, uint32_t tid)
{
	struct suspect_found *t = addrmap_get(&d->threads, tid);

	if (t)
		t->done = t->done || any_again(t);
	return t && t->done;
}

bool suspect_frees_is_done(const struct suspect_frees *d, uint32_t tid)
{
	const struct suspect_found *t = addrmap_get(&d->threads, tid);

	return t && t->done;
}

bool suspect_frees_take(struct suspect_frees *d, uint32_t tid, struct suspect_found *out)
{
	return addrmap_del(&d->threads, tid, out);
}

void suspect_found_fini(struct suspect_found *t)
{
	free(t->all);
}

bool suspect_frees_any(const struct suspect_frees *d, uint32_t *tid)
{
	uint64_t key;
	size_t i = 0;

	if (!addrmap_next(&d->threads, &i, &key, NULL))
		return false;
	*tid = key;
	return true;
}

bool suspect_frees_next_again(const struct suspect_frees *d, size_t *at, uint32_t *tid)
{
	uint64_t key;
	void *found;

	while (addrmap_next(&d->threads, at, &key, &found)) {
		*tid = key;
		if (any_again(found))
			return true;
	}
	return false;
}
