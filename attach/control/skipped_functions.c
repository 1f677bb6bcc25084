/* SPDX-License-Identifier: MIT */
#include "attach/control/skipped_functions.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/log.h"

void skipped_functions_init(struct skipped_functions *s, const struct rule_skip *all, size_t n)
{
	*s = (struct skipped_functions){ .all = all, .n = n };
}

void skipped_functions_fini(struct skipped_functions *s)
{
	free(s->ranges);
}

void skipped_functions_forget(struct skipped_functions *s)
{
	s->nranges = 0;
}

/* A module that is loaded again may be where it was before. */
static bool is_known(const struct skipped_functions *s, const struct module *m, const struct code_range *file)
{
	for (size_t i = 0; i < s->nranges; i++)
		if (s->ranges[i].module == m && s->ranges[i].at.lo == file->lo + m->bias)
			return true;
	return false;
}

static int add(struct skipped_functions *s, const struct module *m, const struct code_range *file)
{
	struct skipped_functions_range *slot;

	if (is_known(s, m, file))
		return 0;
	slot = grow_by_one(&s->ranges, s->nranges, sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	*slot = (struct skipped_functions_range){ m, { file->lo + m->bias, file->hi + m->bias } };
	s->nranges++;
	return 0;
}

/* The file address of @skip in @m. false: in another module, or a name, which the report compares. */
static bool find_function(const struct rule_skip *skip, const struct module *m, taddr *offset)
{
	char build_id[MODULE_BUILD_ID_TEXT];

	*offset = skip->where == WHERE_ADDRESS ? skip->addr - m->bias : skip->addr;
	switch (skip->where) {
	case WHERE_ADDRESS:
		return skip->addr >= m->lo && skip->addr < m->hi;
	case WHERE_OFFSET:
		return rule_skip_holds_in(skip, m->name, module_build_id(m, build_id));
	default:
		return false;
	}
}

static int add_skip(struct skipped_functions *s, const struct rule_skip *skip, const struct module *m)
{
	struct code_range range;
	taddr offset;

	if (!find_function(skip, m, &offset))
		return 0;
	if (elfimage_extent(m->img, offset, &range))
		return add(s, m, &range);
	log_warn("%s+" PRItaddr " is in no known function: it is not left out of stacks", m->name,
		 offset);
	return 0;
}

int skipped_functions_add_module(struct skipped_functions *s, const struct module *m)
{
	int r = 0;

	for (size_t i = 0; m->img && i < s->n && r == 0; i++)
		r = add_skip(s, &s->all[i], m);
	return r;
}

bool skipped_functions_has(void *ctx, taddr addr)
{
	const struct skipped_functions *s = ctx;

	for (size_t i = 0; i < s->nranges; i++)
		if (!s->ranges[i].module->gone && addr >= s->ranges[i].at.lo && addr < s->ranges[i].at.hi)
			return true;
	return false;
}
