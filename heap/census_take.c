/* SPDX-License-Identifier: MIT */
#include "heap/census_take.h"

#include <errno.h>

#include "base/statusline.h"
#include "heap/allocators.h"
#include "heap/census_join.h"
#include "heap/census_nested.h"

static void label(struct census *c, const char *name)
{
	c->listed[c->nlisted++] = name;
	for (size_t i = 0; i < c->narenas; i++)
		c->arenas[i].allocator = name;
}

static int add(const struct snapshot *s, const struct allocator *a, struct census *all)
{
	struct census one;
	int err;

	census_init(&one);
	err = a->take(s, &one);
	if (err == 0)
		label(&one, a->name);
	if (err == 0 || err == -ENOENT)
		err = census_join(all, &one);
	census_fini(&one);
	return err;
}

int census_take(const struct snapshot *s, struct census *out)
{
	int err = 0;

	statusline_step("listing the blocks", s->bytes);
	census_init(out);
	for (const struct allocator *a = allocators; a->name && !err; a++)
		err = add(s, a, out);
	if (!err)
		err = census_nested_drop(s, out);
	if (err)
		census_fini(out);
	return err;
}
