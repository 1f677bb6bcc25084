/* SPDX-License-Identifier: MIT */
#include "attach/uprobe/uprobe_sample.h"

#include <errno.h>
#include <math.h>

#include "attach/rules/ruletext.h"
#include "base/log.h"

/* The number of the argument that @e is; 0: it is something else. */
static uint8_t argument(const struct expr *e)
{
	return e->n == 1 && e->nodes[0].op == EXPR_ARG ? e->nodes[0].n : 0;
}

/* Without a size all blocks of the function count with the same few bytes. */
static int size_of(const struct expr *e, struct uprobe_choice *out)
{
	if (!e->n)
		return 0;
	if (argument(e)) {
		out->size = argument(e);
		return 0;
	}
	if (e->n != 3 || e->nodes[0].op != EXPR_ARG || e->nodes[1].op != EXPR_ARG || e->nodes[2].op != EXPR_MUL)
		return -ENOTSUP;
	out->size = e->nodes[0].n;
	out->times = e->nodes[1].n;
	return 0;
}

static int address_of(const struct expr *e, struct uprobe_choice *out)
{
	if (expr_is_ret(e))
		out->address = UPROBE_RESULT;
	else if (expr_is_load(e))
		out->address = (uint8_t)(UPROBE_LOAD0 + e->nodes[0].n);
	else
		return -ENOTSUP;
	return 0;
}

static int allocates(const struct rule *r, struct uprobe_choice *out)
{
	out->kind = r->op == RULE_REALLOC ? UPROBE_REALLOC : UPROBE_ALLOC;
	out->old = argument(&r->old);
	if (r->also.n || size_of(&r->size, out) < 0 || (r->op == RULE_REALLOC && !(out->old && out->size)))
		return -ENOTSUP;
	return address_of(&r->ptr, out);
}

int uprobe_sample_choice(const struct rule *r, struct uprobe_choice *out)
{
	*out = (struct uprobe_choice){ .kind = UPROBE_ALL_CALLS };
	/* a pool is freed with blocks that are not in the sample, and may itself not be in it */
	if (rule_is_of_pools(r))
		return -ENOTSUP;
	switch (r->op) {
	case RULE_ALLOC:
	case RULE_REALLOC:
		return allocates(r, out);
	case RULE_FREE:
		/* its block is in the sample no more, so it must be known at the entry that it is freed */
		if (r->nifs || rule_at_exit(r))
			return -ENOTSUP;
		*out = (struct uprobe_choice){ .kind = UPROBE_FREE, .address = argument(&r->ptr) };
		return out->address ? 0 : -ENOTSUP;
	default:
		return rule_is_scope(r) ? 0 : -ENOTSUP;
	}
}

int uprobe_sample_check(const struct ruleset *set)
{
	struct uprobe_choice choice;
	char text[256];

	for (size_t i = 0; i < set->nrules; i++) {
		const struct rule *r = &set->rules[i];

		if (uprobe_sample_choice(r, &choice) == 0)
			continue;
		rule_format(r, text, sizeof(text));
		log_error("--sample: calls of `%s` cannot be sampled", text);
		log_hint("the size must be an argument, or a product of two, and the block the result, or *argN; "
			 "what frees it has no condition");
		return -EINVAL;
	}
	return 0;
}

/* The quantiles in the middle of each step; the last one represents all that is longer. */
static double quantile(unsigned i)
{
	return -log1p(-(i + 0.5) / UPROBE_STEPS);
}

void uprobe_sample_distances(uint32_t out[UPROBE_STEPS])
{
	double sum = 0;

	for (unsigned i = 0; i < UPROBE_STEPS; i++)
		sum += quantile(i);
	for (unsigned i = 0; i < UPROBE_STEPS; i++)
		out[i] = (uint32_t)lround(quantile(i) * UPROBE_STEPS / sum * UPROBE_STEP_ONE);
}
