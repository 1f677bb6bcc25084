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
		if (l->probes[i].family == o->family && l->probes[i].module &&
		    same(l->probes[i].module, module))
			return true;
	return false;
}

static const char *owner(const struct refowners *o, const struct stack_view *stack)
{
	for (size_t i = stack->wrappers; i < stack->depth; i++)
		if (!has_watched_functions(o, stack->frames[i].module))
			return stack->frames[i].module;
	return stack->wrappers < stack->depth ? stack->frames[stack->wrappers].module : NULL;
}

int refowners_find(struct refowners *o, const struct stack_view *stack, uint32_t *out)
{
	const char *module = owner(o, stack);
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
