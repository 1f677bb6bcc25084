/* SPDX-License-Identifier: MIT */
/*
 * plan: from rules and bodies to sites.
 *
 *	resolve   which function a rule means; one plan per address
 *	scan      its body: exits, calls, jumps (body.c)
 *	judge     are all exits accounted for, and what does the call need (judge.c)?
 *	              arguments kept: realloc, ptr=*argN, --sizes exact
 *	              told apart:     it calls a watched function, or shares exits with one
 *	place     the traps (place.c)
 *
 * Exits come before return addresses, since they are there once for all callers;
 * and an exit alone comes before entry and exit, since a stop is what everything costs.
 *
 * The functions of a module are planned together: glibc's memalign, valloc and
 * pvalloc jump to one static body and posix_memalign calls it, so its `ret` belongs to
 * whoever came first, and the others need a trap at their entry to be told apart.
 */
#include "attach/probes/plan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "attach/probes/body.h"
#include "attach/probes/judge.h"
#include "attach/probes/place.h"
#include "attach/probes/plansite.h"

__attribute__((format(printf, 2, 3)))
static void give_reason(struct plan *p, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(p->reason, sizeof(p->reason), format, ap);
	va_end(ap);
}

/* --- resolve --- */

/* The plan of another rule of the same sort for @addr. */
static bool planned_already(const struct planning *pl, const struct rule *rule, taddr addr)
{
	for (size_t i = 0; i < pl->set->n; i++) {
		const struct plan *p = &pl->set->plans[i];

		if (p->entry == addr && addr && rule_is_scope(p->rule) == rule_is_scope(rule))
			return true;
	}
	return false;
}

static void name_plan(const struct planning *pl, struct plan *p)
{
	const char *name = p->rule->where == WHERE_NAME ? p->rule->name : elfimage_symbol_at(pl->img, p->entry);

	if (name)
		snprintf(p->function, sizeof(p->function), "%s", name);
	else
		snprintf(p->function, sizeof(p->function), PRItaddr, p->entry);
}

static void resolve(struct planning *pl, size_t i)
{
	const struct rule *rule = &pl->rules[i];
	struct plan *p = &pl->set->plans[pl->set->n];
	uint64_t size = 0;
	bool ifunc = false;
	taddr addr = rule->addr;
	uint8_t byte;
	int rc = 0;

	if (rule->where == WHERE_NAME)
		rc = elfimage_find(pl->img, rule->name, &addr, &size, &ifunc);
	if (rc == -ENOENT || (!rc && planned_already(pl, rule, addr)))
		return;
	*p = (struct plan){ .rule = rule, .rule_index = (uint16_t)i, .kind = PLAN_NONE, .entry = rc ? 0 : addr };
	name_plan(pl, p);
	if (rc == -EEXIST)
		give_reason(p, "several functions have this name: give one as MODULE+0xOFFSET");
	else if (ifunc)
		give_reason(p, "an IFUNC: which function it is, is resolved at load time");
	else if (!elfimage_code(pl->img, p->entry, &byte, 1))
		give_reason(p, "there is no code");
	else if (elfimage_textrel(pl->img))
		give_reason(p, "the code is relocated at load time (DT_TEXTREL): it cannot be compared with the file");
	pl->entries[pl->set->n++] = *p->reason ? 0 : p->entry;
}

/* --- scan --- */

static int scan_all(struct planning *pl)
{
	for (size_t i = 0; i < pl->set->n; i++) {
		struct plan *p = &pl->set->plans[i];
		struct body *b = &pl->bodies[i];
		int rc;

		if (!pl->entries[i])
			continue;
		rc = body_scan(pl->img, pl->d, p->entry, pl->entries, pl->set->n, b);
		if (rc)
			return rc;
		p->body = b->nextents ? b->extents[0] : (struct code_range){ p->entry, p->entry + 1 };
	}
	return 0;
}

/* --- place --- */

static struct place placing(const struct planning *pl, const struct body *b)
{
	return (struct place){ .img = pl->img, .d = pl->d, .shadow_stack = pl->opt->shadow_stack, .body = b,
			       .taken = pl->taken, .ntaken = pl->ntaken };
}

static bool is_taken(const struct planning *pl, taddr addr)
{
	for (size_t i = 0; i < pl->ntaken; i++) {
		if (pl->taken[i] == addr)
			return true;
	}
	return false;
}

static void add_site(struct planning *pl, struct plan *p, const struct site *s, unsigned flags)
{
	struct site *to = &p->sites[p->nsites++];

	*to = *s;
	to->flags = (uint16_t)(to->flags | flags);
	to->rule = p->rule_index;
	to->family = rule_is_scope(p->rule) ? 0 : PLAN_FAMILY;
	pl->taken[pl->ntaken++] = s->addr;
}

static void place_at_entry(struct planning *pl, struct plan *p, const struct body *b, unsigned flags)
{
	struct place where = placing(pl, b);
	struct site s;

	if (place_entry(&where, p->entry, &s)) {
		p->kind = PLAN_NONE;
		give_reason(p, "nothing at its entry can be emulated, or run elsewhere");
		return;
	}
	add_site(pl, p, &s, flags);
}

/* true if one of the exits is another plan's already. */
static bool shares_exits(const struct planning *pl, const struct plan *p, const struct body *b)
{
	for (size_t i = 0; i < b->nexits; i++) {
		enum exit_use use = use_of(pl, p, &b->exits[i]);

		if ((use == EXIT_TRAP || use == EXIT_TRAP_RDI) && is_taken(pl, b->exits[i].addr))
			return true;
	}
	return false;
}

static bool place_exit(struct planning *pl, struct plan *p, const struct body *b, const struct body_exit *e)
{
	struct place where = placing(pl, b);
	enum exit_use use = use_of(pl, p, e);
	struct site s;

	if (use == EXIT_CLOSED_THERE || is_taken(pl, e->addr))
		return true;
	if (place_emulated(&where, e->addr, &s))
		return false;
	s.result = use == EXIT_TRAP_RDI ? EMU_RDI : EMU_RAX;
	add_words(p->rule, pl->opt, &s);
	add_site(pl, p, &s, SITE_EXIT | SITE_EMIT | SITE_SLICE | SITE_INNER);
	return true;
}

static bool place_exits(struct planning *pl, struct plan *p, const struct body *b)
{
	for (size_t i = 0; i < b->nexits; i++) {
		if (!place_exit(pl, p, b, &b->exits[i]))
			return false;
	}
	return true;
}

static void forget_sites(struct planning *pl, struct plan *p)
{
	pl->ntaken -= p->nsites;
	p->nsites = 0;
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

static const char *tail_name(const struct planning *pl, const struct plan *p, const struct body *b)
{
	for (size_t i = 0; i < b->nexits; i++) {
		if (use_of(pl, p, &b->exits[i]) == EXIT_TRAP_RDI)
			return b->exits[i].name;
	}
	return "";
}

static void say_exits(const struct planning *pl, struct plan *p, const struct body *b, bool shared)
{
	size_t rets = count_exits(pl, p, b, EXIT_TRAP), jumps = count_exits(pl, p, b, EXIT_TRAP_RDI);
	size_t elsewhere = count_exits(pl, p, b, EXIT_CLOSED_THERE);
	char tail[112] = "", other[80] = "";

	if (jumps)
		snprintf(tail, sizeof(tail), ", %zu jump%s to %.32s, whose result is in rdi", jumps, plural(jumps),
			 tail_name(pl, p, b));
	if (elsewhere)
		snprintf(other, sizeof(other), ", %zu jump%s to what is watched itself", elsewhere, plural(elsewhere));
	give_reason(p, "%zu `ret`%s%s%s%s", rets, tail, other, shared ? ", shared with another function" : "",
		    p->kind == PLAN_ENTRY_EXITS ? "; the entry, for what the exits do not tell" : "");
}

static void plan_by_return(struct planning *pl, struct plan *p, const struct body *b, const char *why)
{
	p->kind = PLAN_ENTRY_RETURN;
	p->stops = 2;
	give_reason(p, "entry and return address: %s", why);
	place_at_entry(pl, p, b, SITE_ENTRY | SITE_RETURN | (p->rule->op == RULE_REALLOC ? SITE_EMIT : 0));
}

static void plan_by_exits(struct planning *pl, struct plan *p, const struct body *b)
{
	bool shared = shares_exits(pl, p, b);
	bool entry = shared || needs_arguments(pl, p) || calls_watched(pl, p, b);

	p->kind = entry ? PLAN_ENTRY_EXITS : PLAN_EXITS;
	p->stops = entry ? 2 : 1;
	say_exits(pl, p, b, shared);
	if (entry)
		place_at_entry(pl, p, b, SITE_ENTRY | (p->rule->op == RULE_REALLOC ? SITE_EMIT : 0));
	if (p->kind == PLAN_NONE || place_exits(pl, p, b))
		return;
	forget_sites(pl, p);
	plan_by_return(pl, p, b, "an exit that cannot be emulated");
}

static void plan_call(struct planning *pl, struct plan *p, const struct body *b)
{
	char why[160];

	if (is_wrapper(pl, p, b)) {
		p->kind = PLAN_WRAPPER;
		p->stops = 1;
		give_reason(p, expr_is_load(&p->rule->ptr) ?
			    "its blocks are seen where they are made, and told apart by the return address" :
			    "it only jumps to what is watched itself");
	} else if (exits_known(pl, p, b, why, sizeof(why))) {
		plan_by_exits(pl, p, b);
	} else {
		plan_by_return(pl, p, b, why);
	}
}

static void plan_at_entry(struct planning *pl, struct plan *p, const struct body *b)
{
	p->kind = PLAN_ENTRY;
	p->stops = 1;
	give_reason(p, "all there is to know is in its arguments");
	place_at_entry(pl, p, b, rule_is_scope(p->rule) ? SITE_SCOPE | SITE_EMIT : SITE_EMIT | SITE_INNER);
	if (p->nsites && p->sites[0].emu.op == EMU_NONE)
		give_reason(p, "nothing at its entry can be emulated: its first instruction is run in padding");
}

static void plan_all(struct planning *pl)
{
	for (size_t i = 0; i < pl->set->n; i++) {
		struct plan *p = &pl->set->plans[i];

		if (!pl->entries[i])
			continue;
		if (has_result(p->rule))
			plan_call(pl, p, &pl->bodies[i]);
		else
			plan_at_entry(pl, p, &pl->bodies[i]);
	}
}

static int plan_resolved(struct planning *pl)
{
	int rc;

	for (size_t i = 0; i < pl->nrules; i++)
		resolve(pl, i);
	rc = scan_all(pl);
	if (!rc)
		plan_all(pl);
	for (size_t i = 0; i < pl->nrules; i++)
		body_fini(&pl->bodies[i]);
	return rc;
}

int plan_module(struct elfimage *img, struct decoder *d, const struct rule *rules, size_t nrules,
		const struct plan_options *opt, struct plan_set *out)
{
	cleanup_free struct body *bodies = calloc(nrules + 1, sizeof(*bodies));
	cleanup_free taddr *entries = calloc(nrules + 1, sizeof(*entries));
	cleanup_free taddr *taken = calloc(nrules + 1, PLAN_SITES * sizeof(*taken));
	struct planning pl = { .img = img, .d = d, .rules = rules, .nrules = nrules, .opt = opt,
			       .set = out, .bodies = bodies, .entries = entries, .taken = taken };
	int rc = -ENOMEM;

	*out = (struct plan_set){ .plans = calloc(nrules + 1, sizeof(*out->plans)) };
	if (bodies && entries && taken && out->plans)
		rc = plan_resolved(&pl);
	if (rc)
		plan_set_fini(out);
	return rc;
}

void plan_set_fini(struct plan_set *set)
{
	free(set->plans);
	*set = (struct plan_set){ 0 };
}
