/* SPDX-License-Identifier: MIT */
/* refowners: see refowners.h. */
#include "report/refs/refowners.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void refowners_init(struct refowners *o, const struct ledger *l, uint32_t family)
{
	*o = (struct refowners){ .ledger = l, .family = family };
}

void refowners_fini(struct refowners *o)
{
	free(o->all);
	o->all = NULL;
	o->n = 0;
}

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool has_watched_functions(const struct refowners *o, const char *module)
{
	const struct ledger *l = o->ledger;

	for (size_t i = 0; i < l->nprobes; i++)
		if (l->probes[i].family == o->family && l->probes[i].module && same(l->probes[i].module, module))
			return true;
	return false;
}

static const char *owner(const struct refowners *o, const struct summary_frame *frames, size_t depth, size_t wrappers)
{
	for (size_t i = wrappers; i < depth; i++)
		if (!has_watched_functions(o, frames[i].module))
			return frames[i].module;
	return wrappers < depth ? frames[wrappers].module : NULL;
}

int refowners_find(struct refowners *o, const struct summary_frame *frames, size_t depth, size_t wrappers, uint32_t *out)
{
	const char *module = owner(o, frames, depth, wrappers);
	const char **one;

	for (*out = 0; *out < o->n; ++*out)
		if (same(o->all[*out], module))
			return 0;
	one = grow_by_one(&o->all, o->n, sizeof(*o->all));
	if (!one)
		return -ENOMEM;
	*one = module;
	o->n++;
	return 0;
}
