/* SPDX-License-Identifier: MIT */
#include "attach/watch/engine_choice.h"

#include <stdio.h>
#include <string.h>

#include "attach/control/planting.h"
#include "attach/probes/code/elfslots.h"
#include "attach/rules/rulefile.h"
#include "attach/target/modules.h"
#include "base/libcs.h"
#include "trace/probenote.h"

static bool is_unseen(const struct plan *p)
{
	return p->kind == PLAN_NONE && rule_allocates(p->rule) && !probenote_is_other_rule(p->reason);
}

static const struct plan *find_unseen(const struct plan_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		if (is_unseen(&set->plans[i]))
			return &set->plans[i];
	return NULL;
}

static bool is_seen(const struct plan_set *set, const struct plan *p)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->plans[i].rule == p->rule && set->plans[i].entry == p->entry)
			return !is_unseen(&set->plans[i]);
	return false;
}

static bool imports(const struct module *m, const char *function)
{
	size_t n;
	const struct elfslot *slots = elfimage_slots(m->img, &n);

	for (size_t i = 0; i < n; i++)
		if (slots[i].name && !strcmp(slots[i].name, function))
			return true;
	return false;
}

static bool is_imported(const struct modules *ms, const struct module *from, const char *function)
{
	for (size_t i = 0; i < modules_count(ms); i++) {
		const struct module *m = modules_at(ms, i);

		if (m != from && m->img && !m->gone && imports(m, function))
			return true;
	}
	return false;
}

/*
 * Libraries of allocators have functions that hardly any program calls, as mi_realpath: those that no other module
 * imports are no reason. Operator new and malloc are, and whatever was asked for.
 */
static bool is_reason(const struct modules *ms, const struct module *m, const struct ruleset *rules,
		      const struct plan *p)
{
	return !p->rule->builtin || strcmp(rules->families[p->rule->family].name, "libc") != 0 ||
	       libcs_allocator(p->function) || !strncmp(p->function, "_Zn", 3) || is_imported(ms, m, p->function);
}

/* What is planned for one module, by the two engines. */
struct plans {
	const struct module *m;
	struct plan_set kernel, ptrace;
};

/* Of the functions that the kernel's probes do not see, the first one that is seen by ptrace; NULL: none. */
static const struct plan *first_gained(const struct modules *ms, const struct ruleset *rules, const struct plans *p)
{
	for (size_t i = 0; i < p->kernel.n; i++)
		if (is_unseen(&p->kernel.plans[i]) && is_seen(&p->ptrace, &p->kernel.plans[i]) &&
		    is_reason(ms, p->m, rules, &p->kernel.plans[i]))
			return &p->kernel.plans[i];
	return NULL;
}

static int compare(const struct modules *ms, const struct module *m, struct decoder *d, const struct ruleset *rules,
		   const struct plan_options *options, int mem, char *why, size_t n)
{
	struct plan_options by_ptrace = *options;
	const struct plan *gained = NULL;
	struct plans p = { .m = m };
	int r = planting_plan_module(m, d, rules->rules, rules->nrules, options, mem, &p.kernel);

	if (r < 0)
		return r;
	by_ptrace.kernel = by_ptrace.kernel_returns = false;
	if (find_unseen(&p.kernel)) {
		r = planting_plan_module(m, d, rules->rules, rules->nrules, &by_ptrace, mem, &p.ptrace);
		if (r == 0) {
			gained = first_gained(ms, rules, &p);
			plan_set_fini(&p.ptrace);
		}
	}
	if (gained)
		snprintf(why, n, "%s in %s: %s", gained->function, m->name, gained->reason);
	plan_set_fini(&p.kernel);
	return r < 0 ? r : gained != NULL;
}

int engine_choice_sees_less(const struct modules *ms, const struct ruleset *rules, const struct plan_options *options,
			    int mem, char *why, size_t n)
{
	struct decoder *d;
	int r = decoder_new(&d);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < modules_count(ms); i++) {
		const struct module *m = modules_at(ms, i);

		if (m->img && !m->gone)
			r = compare(ms, m, d, rules, options, mem, why, n);
	}
	decoder_free(d);
	return r;
}
