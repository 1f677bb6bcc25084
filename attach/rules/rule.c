/* SPDX-License-Identifier: MIT */
#include "attach/rules/rule.h"

#include <fnmatch.h>
#include <string.h>

const char *rule_op_name(enum rule_op op)
{
	static const char *const names[RULE_OPS] = {
		[RULE_ALLOC] = "alloc", [RULE_REALLOC] = "realloc", [RULE_FREE] = "free",
		[RULE_REF] = "ref",	[RULE_UNREF] = "unref",	    [RULE_FROM] = "from",
		[RULE_UNTIL] = "until", [RULE_IN] = "in",	    [RULE_PROTECT] = "protect",
		[RULE_POOL] = "pool",	[RULE_RESET] = "reset",	    [RULE_MOVE] = "move",
	};

	return names[op];
}

bool rule_is_scope(const struct rule *r)
{
	return r->op == RULE_FROM || r->op == RULE_UNTIL || r->op == RULE_IN;
}

bool rule_is_ref(const struct rule *r)
{
	return r->op == RULE_REF || r->op == RULE_UNREF;
}

bool rule_allocates(const struct rule *r)
{
	return r->op == RULE_ALLOC || r->op == RULE_REALLOC || r->op == RULE_POOL;
}

bool rule_is_of_pools(const struct rule *r)
{
	return r->op == RULE_POOL || r->op == RULE_RESET || r->op == RULE_MOVE || r->pool.n;
}

bool rule_is_of_ranges(const struct rule *r)
{
	return r->op == RULE_PROTECT || r->prot.n || r->was.n || (r->op == RULE_FREE && r->size.n);
}

bool rule_is_birth(const struct rule *r)
{
	return r->op == RULE_REF && expr_is_ret(&r->ptr);
}

/* What its expressions need, except the size: a bit for each enum expr_base. */
static unsigned sources(const struct rule *r)
{
	const struct expr *const all[] = { &r->ptr, &r->also, &r->old, &r->count, &r->by,
					   &r->tag, &r->prot, &r->was, &r->pool,  &r->children };
	unsigned found = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		found |= expr_sources(all[i], &r->loads);
	for (unsigned i = 0; i < r->nifs; i++)
		found |= expr_sources(&r->ifs[i], &r->loads);
	return found;
}

bool rule_at_exit(const struct rule *r)
{
	return rule_allocates(r) || (!rule_is_scope(r) && sources(r) & 1U << EXPR_BASE_RET);
}

bool rule_needs_args(const struct rule *r)
{
	return rule_at_exit(r) && sources(r) & EXPR_ARGUMENTS;
}

unsigned rule_arguments(const struct rule *r)
{
	return (sources(r) | expr_sources(&r->size, &r->loads)) & EXPR_ARGUMENTS;
}

bool rule_holds_in(const struct rule *r, const char *module, const char *build_id)
{
	if (*r->module && fnmatch(r->module, module, 0))
		return false;
	if (r->where != WHERE_OFFSET)
		return true;
	return !fnmatch(r->name, module, 0) && !strncmp(r->build_id, build_id, strlen(r->build_id));
}
