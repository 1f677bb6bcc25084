/* SPDX-License-Identifier: MIT */
/*
 * plansite: sites one by one: those that are planned when the target already
 * runs (a return address, the dynamic linker's call), moved to where the module is
 * loaded, and described for people.
 */
#include "attach/probes/plansite.h"

#include <errno.h>
#include <stdio.h>

#include "attach/probes/body.h"
#include "attach/probes/place.h"

void add_words(const struct rule *r, const struct plan_options *opt, struct site *s)
{
	if (expr_is_load(&r->ptr))
		s->aux[0] = (struct site_aux){ SITE_AUX_ARG, (uint8_t)(r->loads.all[0].base - EXPR_BASE_ARG1), 0 };
	else if (opt->glibc_chunks)
		s->aux[0] = (struct site_aux){ SITE_AUX_REG, s->result, -8 };
}

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
