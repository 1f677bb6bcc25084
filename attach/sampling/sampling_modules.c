/* SPDX-License-Identifier: MIT */
/*
 * sampling_modules: what of a module is watched. Allocators that it defines are probes, and have a trap where they return; behind its calls of
 * them, and of functions that pass on what they take, there are sites. A function of it that only jumps to an allocator is one, too: then
 * its callers are looked for in all modules.
 */
#include "attach/sampling/sampling_parts.h"

/* The functions themselves are told of as probes, so that the reader knows what was watched. */
static int add_probes(struct sampling *s, struct module *m)
{
	for (uint32_t i = 0; i < s->targets.n; i++) {
		const struct sampling_target *t = &s->targets.all[i];
		int r;

		if (t->level || s->probes[t->rule] != NO_PROBE || !sampling_targets_in(&s->targets, i, m))
			continue;
		r = planting_add_probe(s->planting, m, t->rule, &s->probes[t->rule]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Where malloc itself returns: by what is seen there now and then it is known how much comes from callers that nobody found. */
static int add_exits(struct sampling *s, struct module *m)
{
	const struct planting *p = s->planting;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < s->targets.n; i++) {
		const struct sampling_target *t = &s->targets.all[i];
		struct plan_set set;

		if (t->level || !sampling_targets_in(&s->targets, i, m))
			continue;
		r = planting_plan_module(m, p->decoder, &p->rules[t->rule], 1, &p->options, &set);
		for (size_t k = 0; r == 0 && k < set.n; k++)
			for (size_t n = 0; set.plans[k].kind == PLAN_EXITS && n < set.plans[k].nsites; n++)
				(void)!sampling_sites_add_exit(&s->sites, m, &set.plans[k].sites[n], i);
		if (r == 0)
			plan_set_fini(&set);
	}
	return r;
}

int sampling_modules_find_callers(struct sampling *s, uint32_t first)
{
	int r = 0;

	for (size_t i = 0; r == 0 && first < s->targets.n && i < modules_count(s->planting->modules); i++) {
		struct module *m = modules_at(s->planting->modules, i);

		link_alive(s->planting->link);
		if (m->planned && !m->gone && m->img)
			r = sampling_sites_find(&s->sites, m, first);
	}
	return r;
}

static int plan_module_of(void *ctx, struct module *m)
{
	struct sampling *s = ctx;
	uint32_t known = s->targets.n;
	int r = add_probes(s, m);

	if (r == 0)
		r = add_exits(s, m);
	if (r == 0)
		r = sampling_targets_tails(&s->targets, m, 0);
	if (r == 0)
		r = sampling_sites_find(&s->sites, m, 0);
	return r < 0 ? r : sampling_modules_find_callers(s, known);
}

static void module_gone(void *ctx, uint32_t number)
{
	struct sampling *s = ctx;

	sampling_sites_gone(&s->sites, number);
}

struct planting_own sampling_modules_own(struct sampling *s)
{
	return (struct planting_own){ .plan = plan_module_of, .gone = module_gone, .ctx = s };
}
