/* SPDX-License-Identifier: MIT */
/*
 * plansite: single sites: what they read, those that are planned when the target already runs (a return
 * address, the dynamic linker's notification), moving them to where the module is loaded, and describing them
 * for the user.
 */
#include "attach/probes/plansite.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "attach/probes/code/body.h"
#include "attach/probes/trap_place.h"
#include "base/libcs.h"

void give_reason(struct plan *p, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(p->reason, sizeof(p->reason), format, ap);
	va_end(ap);
}

/* A rule's loads become a site's: both use one numbering, and the last load is left for glibc's size word. */
_Static_assert((int)EXPR_BASE_ARG6 == (int)SITE_BASE_ARG6 && (int)EXPR_BASE_RET == (int)SITE_BASE_RESULT &&
	       (int)EXPR_BASE_LOAD0 == (int)SITE_BASE_LOAD0, "what rules load is what sites load");
_Static_assert(EXPR_LOADS <= SITE_CHUNK, "a rule leaves the last load to the chunk's header");

uint16_t plan_family(const struct rule *r)
{
	if (r->op == RULE_IN)
		return SITE_FAMILY_IN;
	return rule_is_scope(r) ? SITE_FAMILY_NONE : (uint16_t)(r->family + 1);
}

static bool is_heap_function(const char *name)
{
	static const char *const prefixes[] = { "", "__libc_", "__" };

	for (size_t k = 0; k < sizeof(prefixes) / sizeof(*prefixes); k++) {
		size_t len = strlen(prefixes[k]);

		if (!strncmp(name, prefixes[k], len) && libcs_allocator(name + len))
			return true;
	}
	return false;
}

bool reads_chunk(const struct plan *p, const struct plan_options *opt)
{
	const struct rule *r = p->rule;

	return opt->glibc_chunks && (r->op == RULE_ALLOC || r->op == RULE_REALLOC) &&
	       is_heap_function(p->function) && (expr_is_ret(&r->ptr) || expr_is_load(&r->ptr));
}

/* Of a function of glibc's heap that frees: how large the block was is known only until then. */
static bool frees_chunk(const struct plan *p, const struct plan_options *opt)
{
	return opt->glibc_chunks && !opt->sampled && p->rule->op == RULE_FREE &&
	       (!strcmp(p->function, "free") || !strcmp(p->function, "__libc_free"));
}

/* The header of the block that is the first argument of @p, which is freed or may be: read before that. */
static void add_old_chunk(const struct plan *p, const struct plan_options *opt, struct site *s)
{
	const struct site_load header = { .base = SITE_BASE_ARG1, .width = 8, .disp = -8 };
	const struct rule *r = p->rule;

	if (s->flags & SITE_EXIT && !(s->flags & SITE_ENTRY))
		return;
	if (frees_chunk(p, opt) && expr_is_arg(&r->ptr, 1))
		s->loads[SITE_CHUNK] = header;
	if (r->op == RULE_REALLOC && reads_chunk(p, opt) && !opt->sampled && expr_is_arg(&r->old, 1) &&
	    r->loads.n <= SITE_OLD_CHUNK)
		s->loads[SITE_OLD_CHUNK] = header;
}

void add_loads(const struct plan *p, const struct plan_options *opt, struct site *s)
{
	const struct rule *r = p->rule;

	for (unsigned i = 0; i < r->loads.n; i++) {
		const struct expr_load *l = &r->loads.all[i];

		s->loads[i] = (struct site_load){ .base = l->base, .index = l->index, .scale = l->scale,
						  .width = l->width, .disp = l->disp };
	}
	add_old_chunk(p, opt, s);
	if (!reads_chunk(p, opt))
		return;
	s->loads[SITE_CHUNK] = (struct site_load){ .base = SITE_BASE_RESULT, .width = 8, .disp = -8 };
	if (expr_is_load(&r->ptr))
		s->loads[SITE_CHUNK].base = (uint8_t)(SITE_BASE_LOAD0 + r->ptr.nodes[0].n);
}

int plan_return(struct elfimage *img, struct decoder *d, taddr ret, const struct plan_options *opt,
		struct site *out)
{
	struct trap_place where = { .img = img, .d = d, .shadow_stack = opt->shadow_stack };

	/*
	 * the word at rsp is a return address only if the function was entered by a call, which nothing else
	 * has checked
	 */
	if (!body_has_return(img, d, ret) || trap_place_anyhow(&where, ret, out))
		return -EILSEQ;
	out->flags |= SITE_AFTER | SITE_EMIT | SITE_SLICE;
	out->result = EMU_RAX;
	return 0;
}

int plan_behind(struct elfimage *img, struct decoder *d, taddr ret, const struct plan_options *opt,
		uint32_t delta, struct site *out)
{
	struct trap_place where = { .img = img, .d = d, .shadow_stack = opt->shadow_stack };

	if (trap_place_anyhow(&where, ret, out))
		return -EILSEQ;
	out->flags |= SITE_BEHIND | SITE_EMIT | SITE_SLICE;
	out->result = EMU_RAX;
	plan_block_loads(out, delta);
	return 0;
}

void plan_block_loads(struct site *s, uint32_t delta)
{
	const int32_t begin = -(int32_t)delta;

	s->loads[SITE_CHUNK] = (struct site_load){ .base = SITE_BASE_RESULT, .width = 8, .disp = begin - 8 };
	s->loads[0] = (struct site_load){ .base = SITE_BASE_RESULT, .width = 8, .disp = begin };
	s->loads[1] = (struct site_load){ .base = SITE_BASE_RESULT, .width = 8, .disp = begin + 8 };
}

int plan_entry(struct elfimage *img, struct decoder *d, taddr addr, bool kernel, uint16_t flags,
	       struct site *out)
{
	struct trap_place where = { .img = img, .d = d, .kernel = kernel };
	struct body body;
	int rc = body_scan(img, d, addr, NULL, 0, &body);

	if (rc)
		return rc;
	where.body = &body;
	rc = trap_place_entry(&where, addr, out);
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

/* --- texts for the user --- */

const char *plan_site_role(const struct site *s)
{
	if (s->flags & SITE_SCOPE)
		return "scope";
	return (s->flags & SITE_EXIT) && !(s->flags & SITE_ENTRY) ? "exit" : "entry";
}

const char *plan_site_how(const struct site *s)
{
	return s->emu.op != EMU_NONE ? "emulated" : s->scratch ? "stepped in padding" : "stepped in place";
}

const char *plan_kind_name(enum plan_kind kind)
{
	static const char *const names[] = {
		[PLAN_EXITS] = "exits",
		[PLAN_ENTRY] = "entry",
		[PLAN_ENTRY_EXITS] = "entry-exits",
		[PLAN_ENTRY_RETURN] = "entry-return", [PLAN_RETURNS] = "returns",
		[PLAN_WRAPPER] = "wrapper",
		[PLAN_CALLS] = "calls",
		[PLAN_NONE] = "none",
	};

	return names[kind];
}

/* Scopes open no calls. */
static const char *and_then(const struct site *s)
{
	return !(s->flags & SITE_SCOPE) && (s->flags & SITE_ENTRY) && (s->flags & SITE_RETURN)
		       ? ", then its return address"
		       : "";
}

static int describe_site(const struct site *s, struct decoder *d, taddr bias, char *buf, size_t n)
{
	struct insn in;
	bool known = decode(d, s->bytes, s->nbytes, s->addr + bias, &in) == 0;

	return snprintf(buf, n, "    " PRItaddr "  %-36s %s%s, %s\n", s->addr + bias, known ? in.text : "?",
			plan_site_role(s), and_then(s), plan_site_how(s));
}

int plan_describe(const struct plan *p, struct decoder *d, taddr bias, char *buf, size_t n)
{
	int len;

	if (p->kind == PLAN_NONE)
		return snprintf(buf, n, "%s %s: not watched: %s\n", rule_op_name(p->rule->op), p->function,
				p->reason);
	len = snprintf(buf, n, "%s %s: %g stop%s a call: %s\n", rule_op_name(p->rule->op), p->function,
		       p->stops, p->stops == 1 ? "" : "s", p->reason);
	for (size_t i = 0; i < p->nsites; i++) {
		size_t at = (size_t)len < n ? (size_t)len : n;

		len += describe_site(&p->sites[i], d, bias, buf + at, n - at);
	}
	return len;
}
