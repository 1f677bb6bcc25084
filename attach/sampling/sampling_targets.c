/* SPDX-License-Identifier: MIT */
#include "attach/sampling/sampling_targets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/options/ruleset.h"
#include "attach/sampling/sampling_check.h"
#include "attach/target/linker.h"
#include "base/libcs.h"

#define CXX_PACK "cxx"

/*
 * The name by which other files call the function; NULL: they do not, as it is not global or as the linker
 * binds that name to another file.
 */
static char *imported_name(const struct modules *ms, const struct module *m, taddr addr)
{
	const char *name = elfimage_symbol_at(m->img, addr);

	if (!name || !elfimage_is_global(m->img, addr) || linker_binds(ms, name) != m)
		return NULL;
	return strdup(name);
}

/* As a compiler names it: operator new, and new[], with whatever arguments. */
static bool is_operator_new(const char *name)
{
	return !strncmp(name, "_Znw", 4) || !strncmp(name, "_Zna", 4);
}

static struct sampling_target *add(struct sampling_targets *t)
{
	return t->n < SAMPLING_TARGETS ? &t->all[t->n] : NULL;
}

/* The malloc, or operator new, of a pack whose allocator is not the one that is used? */
static bool is_others(const struct sampling_targets *t, const struct rule *rule)
{
	const bool is_new = rule->where == WHERE_NAME && rule->pack && is_operator_new(rule->name);
	const struct module *m = is_new ? t->cxx : t->libc;
	char build_id[MODULE_BUILD_ID_TEXT];

	if (rule->where != WHERE_NAME || (!is_new && !libcs_allocator(rule->name)))
		return false;
	return m ? !rule_holds_in(rule, m->name, module_build_id(m, build_id)) :
		   !is_new || strcmp(rule->pack, CXX_PACK) != 0;
}

static int add_rule(struct sampling_targets *t, uint16_t i)
{
	const struct rule *rule = &t->planting->rules[i];
	struct sampling_target *to = add(t);

	if (!sampling_check_can_sample(rule) || is_others(t, rule))
		return 0;
	if (!to)
		return -ENOSPC;
	*to = (struct sampling_target){ .rule = i };
	if (rule->where == WHERE_NAME && !(to->name = strdup(rule->name)))
		return -ENOMEM;
	t->n++;
	return 0;
}

/* --- known wrappers: C++ --- */

/* Not if the program has an operator new of its own: that may not use malloc. */
static bool is_cxx_library(const struct module *m)
{
	return m && (!strncmp(m->name, "libstdc++", 9) || !strncmp(m->name, "libc++", 6));
}

static bool has_name(const struct sampling_targets *t, const char *name)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->all[i].name && !strcmp(t->all[i].name, name))
			return true;
	return false;
}

static int find_rule(const struct sampling_targets *t, const char *name, uint16_t *rule)
{
	for (size_t i = 0; i < t->n; i++) {
		if (t->all[i].name && !strcmp(t->all[i].name, name)) {
			*rule = t->all[i].rule;
			return 0;
		}
	}
	return -ENOENT;
}

/* Of the wrapper number @i, which is known by its name. To ask the dynamic linker takes dozens of system calls. */
static taddr find_begin(const struct sampling_targets *t, uint32_t i)
{
	const struct module *m = linker_binds(t->planting->modules, t->all[i].name);
	const taddr addr = m && m->img ? sampling_targets_in(t, i, m) : 0;

	return addr ? m->bias + addr : 0;
}

static int add_cxx(struct sampling_targets *t)
{
	struct ruleset packs;
	uint16_t malloc_rule;
	int r = find_rule(t, "malloc", &malloc_rule) < 0 ? -ENOENT : ruleset_packs(&packs);

	if (r == -ENOENT)
		return 0;
	for (size_t i = 0; r == 0 && i < packs.nrules; i++) {
		const struct rule *rule = &packs.rules[i];
		struct sampling_target *to = add(t);

		if (!to || !rule->pack || strcmp(rule->pack, CXX_PACK) != 0 ||
		    !sampling_check_can_sample(rule) || has_name(t, rule->name))
			continue;
		*to = (struct sampling_target){ .rule = malloc_rule, .level = 1, .name = strdup(rule->name) };
		if (to->name)
			to->begin = find_begin(t, t->n++);
		else
			r = -ENOMEM;
	}
	ruleset_fini(&packs);
	return r;
}

int sampling_targets_init(struct sampling_targets *t, const struct planting *planting)
{
	int r = 0;

	t->planting = planting;
	t->cxx = linker_binds(planting->modules, "_Znwm");
	t->libc = linker_binds(planting->modules, "malloc");
	t->n = 0;
	for (size_t i = 0; r == 0 && i < planting->nrules; i++)
		r = add_rule(t, i);
	if (r == 0 && is_cxx_library(t->cxx))
		r = add_cxx(t);
	return r;
}

void sampling_targets_fini(struct sampling_targets *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->all[i].name);
	t->n = 0;
}

int sampling_targets_add_wrapper(struct sampling_targets *t, uint32_t of, struct module *home, taddr addr,
			  uint32_t delta, uint32_t *i)
{
	struct sampling_target *to = add(t);

	if (sampling_targets_at(t, home, addr) != SAMPLING_NONE)
		return -EEXIST;
	if (!to || t->all[of].level >= SAMPLING_LEVELS)
		return -ENOSPC;
	*to = (struct sampling_target){
		.home = home, .addr = addr, .rule = t->all[of].rule, .level = t->all[of].level + 1,
		.begin = home->bias + addr,
		.delta = delta, .name = imported_name(t->planting->modules, home, addr),
	};
	*i = t->n++;
	return 0;
}

uint32_t sampling_targets_at(const struct sampling_targets *t, const struct module *m, taddr addr)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (sampling_targets_in(t, i, m) == addr)
			return i;
	return SAMPLING_NONE;
}

/* --- where they are, and how they are called --- */

/* A file may define a private function called `malloc`: what that returns is not known. */
static bool may_have(const struct sampling_targets *t, const struct module *m, const struct rule *rule,
		     const char *name)
{
	char build_id[MODULE_BUILD_ID_TEXT];

	if (libcs_allocator(name))
		return m == t->libc;
	return rule_holds_in(rule, m->name, module_build_id(m, build_id));
}

static taddr rule_in(const struct rule *rule, const struct module *m)
{
	char build_id[MODULE_BUILD_ID_TEXT];

	if (rule->where == WHERE_ADDRESS)
		return rule->addr >= m->lo && rule->addr < m->hi ? rule->addr - m->bias : 0;
	return rule_holds_in(rule, m->name, module_build_id(m, build_id)) ? rule->addr : 0;
}

taddr sampling_targets_in(const struct sampling_targets *t, uint32_t i, const struct module *m)
{
	const struct sampling_target *target = &t->all[i];
	const struct rule *rule = &t->planting->rules[target->rule];
	uint64_t size;
	bool ifunc;
	taddr addr;

	if (target->home)
		return target->home == m ? target->addr : 0;
	if (!target->name)
		return rule_in(rule, m);
	if (target->level ? !is_cxx_library(m) : !may_have(t, m, rule, target->name))
		return 0;
	return elfimage_find(m->img, target->name, &addr, &size, &ifunc) == 0 && !ifunc ? addr : 0;
}

taddr sampling_targets_wrapper(const struct sampling_targets *t, uint32_t i)
{
	return t->all[i].begin;
}

int sampling_targets_for(const struct sampling_targets *t, const struct module *m,
			 struct callsite_target **out)
{
	*out = calloc(t->n + 1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n; i++)
		(*out)[i] = (struct callsite_target){ .name = t->all[i].name,
						      .addr = sampling_targets_in(t, i, m) };
	return 0;
}

/* How many of the @n jumps at @found are of the same function as the first one. */
static size_t of_one_function(const struct callsite *found, size_t n)
{
	size_t k = 1;

	while (k < n && found[k].function == found->function)
		k++;
	return k;
}

static bool is_one(const struct callsite_target *targets, uint32_t n, taddr function)
{
	for (uint32_t i = 0; i < n; i++)
		if (targets[i].addr == function)
			return true;
	return false;
}

static uint16_t family(const struct sampling_targets *t, const struct sampling_target *target)
{
	return t->planting->rules[target->rule].family;
}

/*
 * A function of @m makes the @n jumps at @found. It is a target if it has no other exits: else it may return
 * what it got long ago. If it jumps to several targets, what these return must lie at the same offset in
 * blocks of one family.
 */
static void add_jumping(struct sampling_targets *t, struct module *m, const struct callsite *found, size_t n)
{
	uint32_t of = found->target, i;

	for (size_t k = 1; k < n; k++) {
		const struct sampling_target *one = &t->all[of], *other = &t->all[found[k].target];

		if (family(t, other) != family(t, one) || other->delta != one->delta)
			return;
		if (other->level > one->level)
			of = found[k].target;
	}
	if (!found->joined)
		(void)!sampling_targets_add_wrapper(t, of, m, found->function, t->all[of].delta, &i);
}

int sampling_targets_tails(struct sampling_targets *t, struct module *m, uint32_t first)
{
	int r = 0;

	while (r == 0 && first < t->n) {
		cleanup_free struct callsite_target *targets = NULL;
		cleanup_free struct callsite *found = NULL;
		uint32_t before = t->n;
		size_t n = 0, of_one;

		r = sampling_targets_for(t, m, &targets);
		if (r == 0)
			r = callsites_tails(m->img, targets, before, first, &found, &n);
		for (size_t k = 0; r == 0 && k < n; k += of_one) {
			of_one = of_one_function(&found[k], n - k);
			if (!is_one(targets, before, found[k].function))
				add_jumping(t, m, &found[k], of_one);
		}
		first = before;
	}
	return r;
}
