/* SPDX-License-Identifier: MIT */
/*
 * plan: from rules and bodies to sites.
 *
 *	resolve   which function a rule means; one plan per address (resolve.c)
 *	scan      its body: exits, calls, jumps (body.c)
 *	exits     are all of them known, and what does the call need (plan_exits.c)?
 *	              arguments saved: realloc, ptr=*argN, --sizes exact
 *	              distinguished:   it calls a watched function, or shares exits with one
 *	place     the traps (trap_place.c)
 *
 * Exits are preferred to return addresses, since one set of exits serves all callers; and an exit alone is
 * preferred to entry and exit, since the cost of a trap is its stops.
 *
 * The functions of a module are planned together: glibc's memalign, valloc and pvalloc jump to one static
 * body and posix_memalign calls it. The `ret` of that body belongs to the function that is planned first, and
 * the others need a trap at their entry to be distinguished.
 */
#include "attach/probes/plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "attach/probes/code/body.h"
#include "attach/probes/plan_exits.h"
#include "attach/probes/plansite.h"
#include "attach/probes/resolve.h"
#include "attach/probes/return_probe.h"
#include "attach/probes/trap_place.h"

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

/* The registers of the arguments that a rule needs. */
static uint16_t argument_registers(const struct rule *r)
{
	static const uint8_t reg[] = { EMU_RDI, EMU_RSI, EMU_RDX, EMU_RCX, EMU_R8, EMU_R9 };
	const unsigned needed = rule_arguments(r);
	unsigned found = 0;

	for (size_t i = 0; i < sizeof(reg); i++) {
		if (needed >> (EXPR_BASE_ARG1 + i) & 1)
			found |= 1U << reg[i];
	}
	return (uint16_t)found;
}

static struct trap_place place_in(const struct planning *pl, const struct body *b)
{
	return (struct trap_place){
		.img = pl->img, .d = pl->d, .shadow_stack = pl->opt->shadow_stack, .body = b,
		.kernel = pl->opt->kernel,
		.taken = pl->taken, .ntaken = pl->ntaken,
	};
}

/* The site planned at @addr, or NULL. */
static const struct site *site_at(const struct planning *pl, taddr addr)
{
	for (size_t i = 0; i < pl->set->n; i++) {
		const struct plan *p = &pl->set->plans[i];

		for (size_t k = 0; k < p->nsites; k++) {
			if (p->sites[k].addr == addr)
				return &p->sites[k];
		}
	}
	return NULL;
}

static unsigned always(const struct rule *r)
{
	return r->op == RULE_FREE || r->op == RULE_RESET || rule_is_ref(r) ? SITE_ALWAYS : 0;
}

static void add_site(struct planning *pl, struct plan *p, const struct site *s, unsigned flags)
{
	struct site *to = &p->sites[p->nsites++];

	*to = *s;
	to->flags = (uint16_t)(to->flags | flags | always(p->rule));
	to->rule = p->rule_index;
	to->family = plan_family(p->rule);
	add_loads(p, pl->opt, to);
	pl->taken[pl->ntaken++] = s->addr;
}

static void place_at_entry(struct planning *pl, struct plan *p, const struct body *b, unsigned flags)
{
	struct trap_place where = place_in(pl, b);
	struct site s;

	where.wanted = argument_registers(p->rule);
	where.memory = p->rule->loads.n;
	if (trap_place_entry(&where, p->entry, &s)) {
		p->kind = PLAN_NONE;
		give_reason(p, "nothing at its entry can be emulated, or run elsewhere");
		return;
	}
	add_site(pl, p, &s, flags);
}

/* The exit @e already has a trap of another plan, which ends calls of @p's family. */
static bool is_shared(const struct planning *pl, const struct plan *p, const struct body_exit *e)
{
	const struct site *s = site_at(pl, e->addr);

	return s && s->flags & SITE_EXIT && s->family == plan_family(p->rule);
}

static bool shares_exits(const struct planning *pl, const struct plan *p, const struct body *b)
{
	for (size_t i = 0; i < b->nexits; i++) {
		enum exit_use use = use_of(pl, p, &b->exits[i]);

		if ((use == EXIT_TRAP || use == EXIT_TRAP_RDI) && is_shared(pl, p, &b->exits[i]))
			return true;
	}
	return false;
}

static unsigned exit_flags(const struct rule *r)
{
	if (r->op == RULE_IN)
		return SITE_EXIT;
	return SITE_EXIT | SITE_EMIT | SITE_INNER | (r->op == RULE_FREE ? 0 : SITE_SLICE);
}

static bool place_exit(struct planning *pl, struct plan *p, const struct body *b, const struct body_exit *e)
{
	struct trap_place where = place_in(pl, b);
	enum exit_use use = use_of(pl, p, e);
	struct site s;

	if (use == EXIT_CLOSED_THERE || is_shared(pl, p, e))
		return true;
	if (site_at(pl, e->addr) || trap_place_emulated(&where, e->addr, &s))
		return false;
	s.result = use == EXIT_TRAP_RDI ? EMU_RDI : EMU_RAX;
	add_site(pl, p, &s, exit_flags(p->rule));
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

static void give_exits_reason(const struct planning *pl, struct plan *p, const struct body *b, bool shared)
{
	size_t rets = count_exits(pl, p, b, EXIT_TRAP), jumps = count_exits(pl, p, b, EXIT_TRAP_RDI);
	size_t elsewhere = count_exits(pl, p, b, EXIT_CLOSED_THERE);
	char tail[112] = "", other[80] = "";

	if (jumps)
		snprintf(tail, sizeof(tail), ", %zu jump%s to %.32s, whose result is in rdi", jumps,
			 plural(jumps), tail_name(pl, p, b));
	if (elsewhere)
		snprintf(other, sizeof(other), ", %zu jump%s to what is watched itself", elsewhere,
			 plural(elsewhere));
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
	bool entry = shared || pl->opt->sampled || needs_entry(pl, p, b) || calls_watched(pl, p, b);

	p->kind = entry ? PLAN_ENTRY_EXITS : PLAN_EXITS;
	p->stops = entry ? 2 : 1;
	give_exits_reason(pl, p, b, shared);
	if (entry)
		place_at_entry(pl, p, b, SITE_ENTRY | (p->rule->op == RULE_REALLOC ? SITE_EMIT : 0));
	if (p->kind == PLAN_NONE || place_exits(pl, p, b))
		return;
	forget_sites(pl, p);
	if (pl->opt->kernel) {
		p->kind = PLAN_NONE;
		give_reason(p, "an exit can have no trap of its own (--engine ptrace sees its end)");
		return;
	}
	plan_by_return(pl, p, b, "an exit that can have no trap of its own");
}

/* It may be, with what it calls or jumps to, several calls at once (aligned_alloc is malloc for small alignments). */
static bool is_on_its_own(const struct planning *pl, const struct plan *p, const struct body *b)
{
	return (!strcmp(p->function, "malloc") || !strcmp(p->function, "calloc")) && !calls_watched(pl, p, b);
}

/*
 * The kernel probes the entry and the return. The entry is recorded only if the arguments are needed, or if hits
 * of the functions that it calls or jumps to must be distinguished from its own.
 */
static void plan_returns(struct planning *pl, struct plan *p, const struct body *b)
{
	struct trap_place where = place_in(pl, b);
	const bool entry = pl->opt->sampled || needs_entry(pl, p, b) || !is_on_its_own(pl, p, b);
	struct site s;

	p->kind = PLAN_RETURNS;
	p->stops = entry ? 2 : 1;
	give_reason(p, "its entry and its return, probed by the kernel");
	where.wanted = argument_registers(p->rule);
	if (trap_place_returns(&where, p->entry, &s)) {
		p->kind = PLAN_NONE;
		give_reason(p, "the kernel cannot probe its first instruction");
		return;
	}
	s.result = EMU_RAX;
	s.calls_none = is_on_its_own(pl, p, b);
	add_site(pl, p, &s, exit_flags(p->rule) | SITE_RETURNS | SITE_BEHIND | (entry ? SITE_ENTRY : 0) |
			    (p->rule->op == RULE_REALLOC ? SITE_OPENING : 0));
}

static const char only_jumps[] = "it only jumps to what is watched itself";

static void plan_no_trap(struct plan *p, const char *why)
{
	p->kind = PLAN_WRAPPER;
	p->stops = 1;
	give_reason(p, "%s", why);
}

static void plan_call(struct planning *pl, struct plan *p, const struct body *b)
{
	char why[160];

	/* also a wrapper: what it calls may be behind the entry of the function that is probed (posix_memalign) */
	if (may_probe_return(pl, p, b)) {
		plan_returns(pl, p, b);
	} else if (is_wrapper(pl, p, b)) {
		plan_no_trap(p, expr_is_load(&p->rule->ptr)
					? "its blocks are seen where they are made, and distinguished by the "
					  "return address"
					: only_jumps);
	} else if (exits_known(pl, p, b, why, sizeof(why))) {
		plan_by_exits(pl, p, b);
	} else if (pl->opt->kernel) {
		p->kind = PLAN_NONE;
		give_reason(p, "%s, and a return probe would break exceptions (--engine ptrace sees its end)", why);
	} else {
		plan_by_return(pl, p, b, why);
	}
}

/* It is an event also inside a call of its family. */
static bool always_counts(const struct rule *r)
{
	return r->op == RULE_FREE || r->op == RULE_UNREF || r->op == RULE_RESET || r->op == RULE_MOVE;
}

static unsigned entry_flags(const struct rule *r)
{
	if (rule_is_scope(r))
		return SITE_SCOPE | SITE_EMIT;
	return SITE_EMIT | SITE_INNER | (rule_is_ref(r) ? SITE_SLICE : 0) |
	       (always_counts(r) ? SITE_RELEASE : 0);
}

static void plan_at_entry(struct planning *pl, struct plan *p, const struct body *b)
{
	if (only_jumps_to_free(pl, p, b)) {
		plan_no_trap(p, only_jumps);
		return;
	}
	p->kind = PLAN_ENTRY;
	p->stops = 1;
	p->forwards = p->rule->op == RULE_FREE && forwards_argument(pl, p, b);
	give_reason(p, "all there is to know is in its arguments");
	place_at_entry(pl, p, b, entry_flags(p->rule));
	if (p->nsites && p->sites[0].emu.op == EMU_NONE)
		give_reason(p,
			    "nothing at its entry can be emulated: its first instruction is run in padding");
}

/*
 * Rules that make events are planned first and get the exits: the function of an `in` rule can be ended at
 * its return address instead.
 */
static void plan_each(struct planning *pl, bool scopes)
{
	for (size_t i = 0; i < pl->set->n; i++) {
		struct plan *p = &pl->set->plans[i];

		if (!pl->entries[i] || (p->rule->op == RULE_IN) != scopes)
			continue;
		if (has_end(p->rule))
			plan_call(pl, p, &pl->bodies[i]);
		else
			plan_at_entry(pl, p, &pl->bodies[i]);
	}
}

static int plan_resolved(struct planning *pl)
{
	int rc;

	for (size_t i = 0; i < pl->nrules; i++)
		resolve_rule(pl, i);
	rc = scan_all(pl);
	if (!rc) {
		find_ends(pl);
		plan_each(pl, false);
		plan_each(pl, true);
	}
	for (size_t i = 0; i < pl->nrules; i++)
		body_fini(&pl->bodies[i]);
	return rc;
}

int plan_module(struct elfimage *img, struct decoder *d, const struct rule *rules, size_t nrules,
		const struct plan_options *opt, struct plan_set *out)
{
	cleanup_free struct body *bodies = calloc(nrules + 1, sizeof(*bodies));
	cleanup_free taddr *entries = calloc(nrules + 1, sizeof(*entries));
	cleanup_free bool *ends = calloc(nrules + 1, sizeof(*ends));
	cleanup_free taddr *taken = calloc(nrules + 1, PLAN_SITES * sizeof(*taken));
	struct planning pl = { .img = img, .d = d, .rules = rules, .nrules = nrules, .opt = opt,
			       .set = out, .bodies = bodies, .entries = entries, .ends = ends,
			       .taken = taken };
	int rc = -ENOMEM;

	*out = (struct plan_set){ .plans = calloc(nrules + 1, sizeof(*out->plans)) };
	if (bodies && entries && ends && taken && out->plans)
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
