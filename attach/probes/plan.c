/* SPDX-License-Identifier: MIT */
/*
 * plan: from rules and bodies to sites.
 *
 *	resolve   which function a rule means; one plan per address
 *	scan      its body: exits, calls, jumps (body.c)
 *	judge     are all exits accounted for, and what does the call need?
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
#include "attach/probes/place.h"

/* All that is known while one module is planned. bodies[i] and entries[i] go with set->plans[i]. */
struct planning {
	struct elfimage *img;
	struct decoder *d;
	const struct rule *rules;
	size_t nrules;
	const struct plan_options *opt;
	struct plan_set *set;
	struct body *bodies;
	taddr *entries;		/* 0: not to be planned, for the reason given */
	taddr *taken;		/* where traps stand */
	size_t ntaken;
};

__attribute__((format(printf, 2, 3)))
static void give_reason(struct plan *p, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(p->reason, sizeof(p->reason), format, ap);
	va_end(ap);
}

static bool is_scope(const struct rule *r)
{
	return r->op == RULE_FROM || r->op == RULE_UNTIL;
}

static bool has_result(const struct rule *r)
{
	return r->op == RULE_ALLOC || r->op == RULE_REALLOC;
}

/* --- resolve --- */

/* The plan of another rule of the same sort for @addr. */
static bool planned_already(const struct planning *pl, const struct rule *rule, taddr addr)
{
	for (size_t i = 0; i < pl->set->n; i++) {
		const struct plan *p = &pl->set->plans[i];

		if (p->entry == addr && addr && is_scope(p->rule) == is_scope(rule))
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

/* --- judge --- */

/* A function that is watched, not for scope, begins at @addr. */
static bool is_watched(const struct planning *pl, taddr addr)
{
	for (size_t i = 0; addr && i < pl->set->n; i++) {
		if (pl->entries[i] == addr && !is_scope(pl->set->plans[i].rule))
			return true;
	}
	return false;
}

static bool is_watched_name(const struct planning *pl, const char *name)
{
	for (size_t i = 0; name && i < pl->nrules; i++) {
		if (!is_scope(&pl->rules[i]) && pl->rules[i].where == WHERE_NAME && !strcmp(pl->rules[i].name, name))
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

enum exit_use { EXIT_TRAP, EXIT_TRAP_RDI, EXIT_CLOSED_THERE, EXIT_UNKNOWN };

static enum exit_use use_of(const struct planning *pl, const struct plan *p, const struct body_exit *e)
{
	if (!e->tail)
		return EXIT_TRAP;
	if (is_watched(pl, e->target) || is_watched_name(pl, e->name))
		return EXIT_CLOSED_THERE;
	if (returns_first_argument(e->name) && !e->conditional && p->rule->ptr.kind == VALUE_RET)
		return EXIT_TRAP_RDI;
	return EXIT_UNKNOWN;
}

static size_t count_exits(const struct planning *pl, const struct plan *p, const struct body *b, enum exit_use use)
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

/* Every exit is known and can be trapped; else says why not. One place is kept for a trap at the entry. */
static bool exits_known(const struct planning *pl, const struct plan *p, const struct body *b, char *why, size_t n)
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

		if (p == but || is_scope(p->rule) || !pl->entries[i])
			continue;
		if (p->entry == addr || (has_result(p->rule) && has_part(pl, i, addr)))
			return (int)i;
	}
	return -1;
}

/* Does the function itself call one that is watched? Then that one's exits must be told to be silent. */
static bool calls_watched(const struct planning *pl, const struct plan *p, const struct body *b)
{
	for (size_t i = 0; i < b->ncalls; i++) {
		if (watched_code(pl, p, b->calls[i].target) >= 0 || is_watched_name(pl, b->calls[i].name))
			return true;
	}
	return false;
}

static bool needs_arguments(const struct planning *pl, const struct plan *p)
{
	const struct rule *r = p->rule;

	return r->op == RULE_REALLOC || r->ptr.kind == VALUE_LOAD ||
	       (pl->opt->exact_sizes && r->size.kind != VALUE_NONE);
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
static bool is_wrapper(const struct planning *pl, const struct plan *p, const struct body *b)
{
	char why[160];

	if (p->rule->op != RULE_ALLOC || pl->opt->exact_sizes)
		return false;
	if (p->rule->ptr.kind == VALUE_LOAD)
		return pl->opt->glibc_chunks && calls_maker(pl, p, b);
	return exits_known(pl, p, b, why, sizeof(why)) && !exit_traps(pl, p, b);
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
	to->family = is_scope(p->rule) ? 0 : PLAN_FAMILY;
	pl->taken[pl->ntaken++] = s->addr;
}

/* What is read from the target when the function returns. */
static void add_words(const struct rule *r, const struct plan_options *opt, struct site *s)
{
	if (r->ptr.kind == VALUE_LOAD)
		s->aux[0] = (struct site_aux){ SITE_AUX_ARG, (uint8_t)(r->ptr.a - 1), 0 };
	else if (opt->glibc_chunks)
		s->aux[0] = (struct site_aux){ SITE_AUX_REG, s->result, -8 };
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
		give_reason(p, p->rule->ptr.kind == VALUE_LOAD ?
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
	place_at_entry(pl, p, b, is_scope(p->rule) ? SITE_SCOPE | SITE_EMIT : SITE_EMIT | SITE_INNER);
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

/* --- single sites --- */

int plan_return(struct elfimage *img, struct decoder *d, taddr ret, const struct rule *rule, uint16_t rule_index,
		const struct plan_options *opt, struct site *out)
{
	struct place where = { .img = img, .d = d, .shadow_stack = opt->shadow_stack };

	if (place_anyhow(&where, ret, out))
		return -EILSEQ;
	out->flags |= SITE_AFTER | SITE_EMIT | SITE_SLICE;
	out->rule = rule_index;
	out->family = PLAN_FAMILY;
	out->result = EMU_RAX;
	add_words(rule, opt, out);
	return 0;
}

int plan_entry(struct elfimage *img, struct decoder *d, taddr addr, uint16_t flags, struct site *out)
{
	struct place where = { .img = img, .d = d };
	struct body body;
	int rc = body_scan(img, d, addr, NULL, 0, &body);

	if (rc)
		return rc;
	where.body = &body;
	rc = place_entry(&where, addr, out);
	if (!rc)
		out->flags |= flags;
	body_fini(&body);
	return rc;
}

static void rebase_operand(struct emu_operand *op, taddr bias)
{
	if (op->moves)
		op->imm = (int64_t)((taddr)op->imm + bias);
}

void site_rebase(struct site *s, taddr bias)
{
	s->addr += bias;
	if (s->scratch)
		s->scratch += bias;
	rebase_operand(&s->emu.dst, bias);
	rebase_operand(&s->emu.src, bias);
}

/* --- for people --- */

static const char *role_of(const struct site *s)
{
	if (s->flags & SITE_SCOPE)
		return "scope";
	if (s->flags & SITE_ENTRY)
		return s->flags & SITE_RETURN ? "entry, then its return address" : "entry";
	if (s->flags & SITE_EXIT)
		return "exit";
	return "entry";
}

static int describe_site(const struct site *s, struct decoder *d, taddr bias, char *buf, size_t n)
{
	struct insn in;
	bool known = decode(d, s->bytes, s->nbytes, s->addr + bias, &in) == 0;
	const char *how = s->emu.op != EMU_NONE ? "emulated" : s->scratch ? "stepped in padding" : "stepped in place";

	return snprintf(buf, n, "    " PRItaddr "  %-36s %s, %s\n", s->addr + bias, known ? in.text : "?", role_of(s), how);
}

int plan_describe(const struct plan *p, struct decoder *d, taddr bias, char *buf, size_t n)
{
	int len;

	if (p->kind == PLAN_NONE)
		return snprintf(buf, n, "%s %s: not watched: %s\n", rule_op_name(p->rule->op), p->function, p->reason);
	len = snprintf(buf, n, "%s %s: %g stop%s a call: %s\n", rule_op_name(p->rule->op), p->function, p->stops,
		       p->stops == 1 ? "" : "s", p->reason);
	for (size_t i = 0; i < p->nsites; i++) {
		size_t at = (size_t)len < n ? (size_t)len : n;

		len += describe_site(&p->sites[i], d, bias, buf + at, n - at);
	}
	return len;
}
