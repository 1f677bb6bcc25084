/* SPDX-License-Identifier: MIT */
/*
 * diff_process: are both sides watches of one process? A trace has its number and name, but not when it
 * began; numbers come again, in containers with every start. So modules tell: each process has its own
 * addresses, as a rule, and those of a module that both sides name must be the same.
 */
#include <stddef.h>
#include <string.h>

#include "report/diff/diff_parts.h"

#define GROUPS_MAX 100	/* of each side that are looked at */
#define MODULES_MAX 32

struct bias {
	const char *module;
	taddr bias;
};

struct biases {
	struct bias all[MODULES_MAX];
	size_t n;
};

static const struct bias *find(const struct biases *b, const char *module)
{
	for (size_t i = 0; i < b->n; i++)
		if (!strcmp(b->all[i].module, module))
			return &b->all[i];
	return NULL;
}

static void add_stack(struct biases *b, const struct stack_view *stack)
{
	for (size_t i = 0; i < stack->depth && b->n < MODULES_MAX; i++) {
		const struct summary_frame *f = &stack->frames[i];

		if (f->module && f->pc && !find(b, f->module))
			b->all[b->n++] = (struct bias){ f->module, f->pc - f->offset };
	}
}

static void collect(const struct summary *s, struct biases *out)
{
	out->n = 0;
	for (size_t i = 0; i < s->ngroups && i < GROUPS_MAX; i++)
		add_stack(out, &s->groups[i].stack);
}

/* A module may be unloaded and loaded again elsewhere: one that has stayed is enough. */
static bool same_addresses(const struct biases *a, const struct biases *b)
{
	size_t compared = 0;

	for (size_t i = 0; i < a->n; i++) {
		const struct bias *other = find(b, a->all[i].module);

		compared += other != NULL;
		if (other && other->bias && other->bias == a->all[i].bias)
			return true;
	}
	return !compared;
}

bool diff_is_of_one_process(const struct summary *old, const struct summary *new)
{
	struct biases a, b;

	if (!old->target.pid || old->target.pid != new->target.pid || old->run.start_ns == new->run.start_ns)
		return false;
	if (!old->target.comm || !new->target.comm || strcmp(old->target.comm, new->target.comm) != 0)
		return false;
	collect(old, &a);
	collect(new, &b);
	return same_addresses(&a, &b);
}
