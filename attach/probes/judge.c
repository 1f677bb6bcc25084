/* SPDX-License-Identifier: MIT */
/* judge: exits and calls of one body, seen with all watched functions of the module in view. */
#include "attach/probes/judge.h"

#include <stdio.h>
#include <string.h>

/* A function that is watched, not for scope, begins at @addr. */
static bool is_watched(const struct planning *pl, taddr addr)
{
	for (size_t i = 0; addr && i < pl->set->n; i++) {
		if (pl->entries[i] == addr && !rule_is_scope(pl->set->plans[i].rule))
			return true;
	}
	return false;
}

static bool is_watched_name(const struct planning *pl, const char *name)
{
	for (size_t i = 0; name && i < pl->nrules; i++) {
		if (!rule_is_scope(&pl->rules[i]) && pl->rules[i].where == WHERE_NAME && !strcmp(pl->rules[i].name, name))
			return true;
	}
	return false;
}

/* The C library's word: these return their first argument, which a tail call finds in rdi. */
static bool returns_first_argument(const char *name)
{
	static const char *const names[] = { "memset", "memcpy", "memmove" };

	for (size_t i = 0; name && i < sizeof(names) / sizeof(*names); i++) {
		size_t len = strlen(names[i]);

		if (!strncmp(name, names[i], len) && (!name[len] || name[len] == '@'))
			return true;
	}
	return false;
}

enum exit_use use_of(const struct planning *pl, const struct plan *p, const struct body_exit *e)
{
	if (!e->tail)
		return EXIT_TRAP;
	if (is_watched(pl, e->target) || is_watched_name(pl, e->name))
		return EXIT_CLOSED_THERE;
	if (returns_first_argument(e->name) && !e->conditional && expr_is_ret(&p->rule->ptr))
		return EXIT_TRAP_RDI;
	return EXIT_UNKNOWN;
}

size_t count_exits(const struct planning *pl, const struct plan *p, const struct body *b, enum exit_use use)
{
	size_t n = 0;

	for (size_t i = 0; i < b->nexits; i++)
		n += use_of(pl, p, &b->exits[i]) == use;
	return n;
}

/* The traps that the exits take; what is closed elsewhere takes none. */
static size_t exit_traps(const struct planning *pl, const struct plan *p, const struct body *b)
{
	return count_exits(pl, p, b, EXIT_TRAP) + count_exits(pl, p, b, EXIT_TRAP_RDI);
}

static const struct body_exit *unknown_exit(const struct planning *pl, const struct plan *p, const struct body *b)
{
	for (size_t i = 0; i < b->nexits; i++) {
		if (use_of(pl, p, &b->exits[i]) == EXIT_UNKNOWN)
			return &b->exits[i];
	}
	return NULL;
}

/* One of a plan's sites is kept for a trap at the entry. */
bool exits_known(const struct planning *pl, const struct plan *p, const struct body *b, char *why, size_t n)
{
	const struct body_exit *unknown = unknown_exit(pl, p, b);
	size_t traps = exit_traps(pl, p, b);

	if (!b->complete)
		snprintf(why, n, "%s", b->why);
	else if (!b->nexits)
		snprintf(why, n, "no way out of it is seen");
	else if (unknown)
		snprintf(why, n, "a jump at " PRItaddr " to %s", unknown->addr,
			 unknown->name ? unknown->name : "another function");
	else if (traps && pl->opt->shadow_stack)
		snprintf(why, n, "the thread has a shadow stack, which an emulated `ret` would desert");
	else if (traps >= PLAN_SITES)
		snprintf(why, n, "%zu exits", traps);
	else
		return true;
	return false;
}

/* The body of plan @i jumps to @addr, as a part of its own. */
static bool has_part(const struct planning *pl, size_t i, taddr addr)
{
	const struct body *b = &pl->bodies[i];

	for (size_t k = 1; k < b->nextents; k++) {
		if (b->extents[k].lo == addr)
			return true;
	}
	return false;
}

/* The number of the plan, not @but, whose code begins at @addr: its entry, or a part that it jumps to. -1: none. */
static int watched_code(const struct planning *pl, const struct plan *but, taddr addr)
{
	for (size_t i = 0; addr && i < pl->set->n; i++) {
		const struct plan *p = &pl->set->plans[i];

		if (p == but || rule_is_scope(p->rule) || !pl->entries[i])
			continue;
		if (p->entry == addr || (has_result(p->rule) && has_part(pl, i, addr)))
			return (int)i;
	}
	return -1;
}

bool calls_watched(const struct planning *pl, const struct plan *p, const struct body *b)
{
	for (size_t i = 0; i < b->ncalls; i++) {
		if (watched_code(pl, p, b->calls[i].target) >= 0 || is_watched_name(pl, b->calls[i].name))
			return true;
	}
	return false;
}

bool needs_arguments(const struct planning *pl, const struct plan *p)
{
	const struct rule *r = p->rule;

	return rule_needs_args(r) || (pl->opt->exact_sizes && r->size.n);
}

/* The function calls code whose exits are trapped, which makes the block. */
static bool calls_maker(const struct planning *pl, const struct plan *p, const struct body *b)
{
	char why[160];

	for (size_t i = 0; i < b->ncalls; i++) {
		int made = watched_code(pl, p, b->calls[i].target);

		if (made >= 0 && has_result(pl->set->plans[made].rule) &&
		    exits_known(pl, &pl->set->plans[made], &pl->bodies[made], why, sizeof(why)))
			return true;
	}
	return false;
}

/*
 * glibc's posix_memalign: the block is seen where it is made. Likewise a function
 * that only jumps to others that are watched.
 */
bool is_wrapper(const struct planning *pl, const struct plan *p, const struct body *b)
{
	char why[160];

	if (p->rule->op != RULE_ALLOC)
		return false;
	if (expr_is_load(&p->rule->ptr))
		return pl->opt->glibc_chunks && !pl->opt->exact_sizes && calls_maker(pl, p, b);
	return !needs_arguments(pl, p) && exits_known(pl, p, b, why, sizeof(why)) && !exit_traps(pl, p, b);
}
