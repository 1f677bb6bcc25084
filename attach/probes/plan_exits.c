/* SPDX-License-Identifier: MIT */
/* plan_exits: the exits and calls of one body, compared with all watched functions of the module. */
#include "attach/probes/plan_exits.h"

#include <stdio.h>
#include <string.h>

#include "attach/probes/plansite.h"
#include "attach/probes/return_probe.h"

/* Calls of the two nest in each other. */
static bool same_family(const struct rule *a, const struct rule *b)
{
	return plan_family(a) == plan_family(b) && plan_family(a) != SITE_FAMILY_NONE;
}

/* The number of the plan of @p's family whose end is to be watched, and which begins at @addr; -1: none. */
static int ending_plan(const struct planning *pl, const struct plan *p, taddr addr)
{
	for (size_t i = 0; addr && i < pl->set->n; i++) {
		const struct rule *r = pl->set->plans[i].rule;

		if (pl->entries[i] == addr && same_family(r, p->rule) && has_end(r))
			return (int)i;
	}
	return -1;
}

/* There is a rule for the end of the function @name that holds in every module. */
static bool ends_at_name(const struct planning *pl, const struct plan *p, const char *name)
{
	for (size_t i = 0; name && i < pl->nrules; i++) {
		const struct rule *r = &pl->rules[i];

		if (r->where == WHERE_NAME && !*r->module && !strcmp(r->name, name) &&
		    same_family(r, p->rule) && has_end(r))
			return true;
	}
	return false;
}

/* A function of this name, of @p's family, may be watched in some module. */
static bool may_be_watched(const struct planning *pl, const struct plan *p, const char *name)
{
	const struct rule *all = pl->opt->all ? pl->opt->all : pl->rules;
	size_t n = pl->opt->all ? pl->opt->nall : pl->nrules;

	for (size_t i = 0; name && i < n; i++) {
		if (all[i].where == WHERE_NAME && !strcmp(all[i].name, name) && same_family(&all[i], p->rule))
			return true;
	}
	return false;
}

/* The C standard says that these return their first argument, which is in rdi at a tail call. */
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

/* The end of the function that @e jumps to will be seen. */
static bool closed_there(const struct planning *pl, const struct plan *p, const struct body_exit *e)
{
	int at = ending_plan(pl, p, e->target);

	return at >= 0 ? pl->ends[at] : ends_at_name(pl, p, e->name);
}

enum exit_use use_of(const struct planning *pl, const struct plan *p, const struct body_exit *e)
{
	if (!e->tail)
		return EXIT_TRAP;
	/* the kernel's programs read there what that other function's rule loads, and not what this one's does */
	if (closed_there(pl, p, e) && !(pl->opt->kernel && p->rule->loads.n))
		return EXIT_CLOSED_THERE;
	/* a rule with loads needs memory as it is after the return, which is not there yet */
	if (returns_first_argument(e->name) && !e->conditional && !p->rule->loads.n)
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

/* How many traps the exits need; an exit that is closed elsewhere needs none. */
static size_t exit_traps(const struct planning *pl, const struct plan *p, const struct body *b)
{
	return count_exits(pl, p, b, EXIT_TRAP) + count_exits(pl, p, b, EXIT_TRAP_RDI);
}

static const struct body_exit *unknown_exit(const struct planning *pl, const struct plan *p,
					    const struct body *b)
{
	for (size_t i = 0; i < b->nexits; i++) {
		if (use_of(pl, p, &b->exits[i]) == EXIT_UNKNOWN)
			return &b->exits[i];
	}
	return NULL;
}

/* One of a plan's sites is reserved for a trap at the entry. */
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

/* The body of plan @i has a part of its own that begins at @addr. */
static bool has_part(const struct planning *pl, size_t i, taddr addr)
{
	const struct body *b = &pl->bodies[i];

	for (size_t k = 1; k < b->nextents; k++) {
		if (b->extents[k].lo == addr)
			return true;
	}
	return false;
}

/*
 * The number of the plan of @of's family whose code begins at @addr: its entry, or a part that another one
 * jumps to. -1: none.
 */
static int watched_code(const struct planning *pl, const struct plan *of, taddr addr)
{
	for (size_t i = 0; addr && i < pl->set->n; i++) {
		const struct plan *p = &pl->set->plans[i];

		if (!pl->entries[i] || !same_family(p->rule, of->rule))
			continue;
		if (p->entry == addr || (p != of && has_end(p->rule) && has_part(pl, i, addr)))
			return (int)i;
	}
	return -1;
}

bool calls_watched(const struct planning *pl, const struct plan *p, const struct body *b)
{
	for (size_t i = 0; i < b->ncalls; i++) {
		if (watched_code(pl, p, b->calls[i].target) >= 0 || may_be_watched(pl, p, b->calls[i].name))
			return true;
	}
	return false;
}

/*
 * The rule records only that a block is allocated: whichever such rule is evaluated at the end of the call,
 * the result is the same.
 */
static bool is_plain(const struct rule *r)
{
	return r->op == RULE_ALLOC && expr_is_ret(&r->ptr) && !r->own_condition && !r->tag.n && !r->pool.n;
}

bool needs_entry(const struct planning *pl, const struct plan *p, const struct body *b)
{
	const struct rule *r = p->rule;
	bool size = expr_uses_args(&r->size, &r->loads) && (pl->opt->exact_sizes || !reads_chunk(p, pl->opt));

	return r->op == RULE_IN || r->op == RULE_REALLOC || rule_needs_args(r) || size ||
	       (!is_plain(r) && count_exits(pl, p, b, EXIT_CLOSED_THERE));
}

/*
 * The keeper sees any end at the return address, if not otherwise. The kernel's probes see it by a return probe or
 * at the exits, if these are known; and one that is a jump to another watched function only if the end of that one
 * is seen.
 */
void find_ends(struct planning *pl)
{
	char why[160];
	bool fewer;

	for (size_t i = 0; i < pl->set->n; i++)
		pl->ends[i] = pl->entries[i] && has_end(pl->set->plans[i].rule);
	do {
		fewer = false;
		for (size_t i = 0; pl->opt->kernel && i < pl->set->n; i++) {
			const struct plan *p = &pl->set->plans[i];
			const struct body *b = &pl->bodies[i];

			if (!pl->ends[i] || may_probe_return(pl, p, b) || exits_known(pl, p, b, why, sizeof(why)))
				continue;
			pl->ends[i] = false;
			fewer = true;
		}
	} while (fewer);
}

/* The function calls another one whose exits are trapped, which makes the block. */
static bool calls_maker(const struct planning *pl, const struct plan *p, const struct body *b)
{
	char why[160];

	for (size_t i = 0; i < b->ncalls; i++) {
		int made = watched_code(pl, p, b->calls[i].target);

		if (made >= 0 && &pl->set->plans[made] != p && has_end(pl->set->plans[made].rule) &&
		    exits_known(pl, &pl->set->plans[made], &pl->bodies[made], why, sizeof(why)))
			return true;
	}
	return false;
}

/*
 * If a block is recorded at the function that allocates it, this rule is not evaluated. Is that all right? If
 * the rule only requires success, it is; a condition on arguments or a tag would be lost.
 */
static bool may_be_skipped(const struct rule *r)
{
	for (unsigned i = 0; i < r->nifs; i++) {
		if (expr_uses_args(&r->ifs[i], &r->loads))
			return false;
	}
	return !r->tag.n && !r->pool.n;
}

/*
 * As glibc's posix_memalign: the block is recorded at the function that allocates it. Likewise a function
 * that only jumps to others that are watched.
 */
bool is_wrapper(const struct planning *pl, const struct plan *p, const struct body *b)
{
	char why[160];

	if (p->rule->op != RULE_ALLOC)
		return false;
	if (expr_is_load(&p->rule->ptr))
		return reads_chunk(p, pl->opt) && !pl->opt->exact_sizes && may_be_skipped(p->rule) &&
		       calls_maker(pl, p, b);
	return !needs_entry(pl, p, b) && exits_known(pl, p, b, why, sizeof(why)) && !exit_traps(pl, p, b);
}

/* It frees its first argument, without a condition. */
static bool is_plain_free(const struct rule *r)
{
	return r->op == RULE_FREE && expr_is_arg(&r->ptr, 1) && !r->own_condition;
}

static bool frees_at(const struct planning *pl, const struct plan *p, const struct body_exit *e)
{
	for (size_t i = 0; e->target && i < pl->set->n; i++) {
		const struct rule *r = pl->set->plans[i].rule;

		if (pl->entries[i] == e->target && same_family(r, p->rule) && is_plain_free(r))
			return true;
	}
	for (size_t i = 0; e->name && i < pl->nrules; i++) {
		const struct rule *r = &pl->rules[i];

		if (r->where == WHERE_NAME && !*r->module && !strcmp(r->name, e->name) &&
		    same_family(r, p->rule) && is_plain_free(r))
			return true;
	}
	return false;
}

/* Neither the first argument nor rsp changes between @from and @to. */
static bool argument_kept(const struct planning *pl, taddr from, taddr to)
{
	uint8_t code[16];
	struct insn insn;

	while (from < to) {
		size_t n = elfimage_code(pl->img, from, code, sizeof(code));

		if (decode(pl->d, code, n, from, &insn) || insn.flow != FLOW_NEXT || insn.syscall ||
		    !insn.sp_known || insn.sp_change || insn.writes & 1u << EMU_RDI)
			return false;
		from += insn.len;
	}
	return from == to;
}

bool forwards_argument(const struct planning *pl, const struct plan *p, const struct body *b)
{
	for (size_t i = 0; i < b->nexits; i++) {
		const struct body_exit *e = &b->exits[i];

		if (e->tail && (watched_code(pl, p, e->target) >= 0 || may_be_watched(pl, p, e->name)))
			return true;
	}
	return calls_watched(pl, p, b);
}

bool only_jumps_to_free(const struct planning *pl, const struct plan *p, const struct body *b)
{
	const struct body_exit *e = b->exits;

	return is_plain_free(p->rule) && b->complete && b->nexits == 1 && e->tail && !e->conditional &&
	       argument_kept(pl, p->entry, e->addr) && frees_at(pl, p, e);
}
