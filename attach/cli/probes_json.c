/* SPDX-License-Identifier: MIT */
#include "attach/cli/probes_json.h"

#include <errno.h>

#include "attach/rules/ruletext.h"
#include "report/json/json.h"

void probes_json_begin(struct probes_json *j, const struct target_info *t)
{
	struct strbuf *sb = &j->sb;

	json_begin(sb);
	json_key(sb, ",\n", "target");
	json_number(sb, "{", "pid", (uint64_t)t->pid);
	json_string(sb, ", ", "comm", t->comm);
	json_string(sb, ", ", "exe", t->exe);
	strbuf_puts(sb, "}");
	json_key(sb, ",\n", "plans");
	strbuf_putc(sb, '[');
}

static void put_place(struct strbuf *sb, taddr addr, taddr bias)
{
	json_address(sb, "{", "offset", addr);
	json_address(sb, ", ", "address", addr + bias);
}

static void put_site(struct strbuf *sb, const struct site *s, taddr bias, struct decoder *d)
{
	struct insn in;
	bool known = decode(d, s->bytes, s->nbytes, s->addr + bias, &in) == 0;

	put_place(sb, s->addr, bias);
	json_string(sb, ", ", "kind", plan_site_role(s));
	json_bool(sb, ", ", "return", s->flags & SITE_RETURN);
	json_string(sb, ", ", "instruction", known ? in.text : NULL);
	json_string(sb, ", ", "how", plan_site_how(s));
	strbuf_putc(sb, '}');
}

static void put_rule(struct strbuf *sb, const struct ruleset *rs, const struct rule *r)
{
	char text[1024];

	rule_format(r, text, sizeof(text));
	json_string(sb, ", ", "op", rule_op_name(r->op));
	json_string(sb, ", ", "rule", text);
	json_key(sb, ", ", "family");
	strbuf_json(sb, rule_is_scope(r) ? NULL : rs->families[r->family].name);
}

/* null for a function whose code was not found. */
static void put_entry(struct strbuf *sb, const struct plan *p, taddr bias)
{
	json_key(sb, ", ", "entry");
	if (!p->entry) {
		strbuf_puts(sb, "null");
		return;
	}
	put_place(sb, p->entry, bias);
	strbuf_putc(sb, '}');
}

static void put_plan(struct strbuf *sb, const struct ruleset *rs, const struct module *m, struct decoder *d,
		     const struct plan *p)
{
	char build_id[MODULE_BUILD_ID_TEXT];

	json_string(sb, "{", "module", m->path);
	json_string(sb, ", ", "build_id", module_build_id(m, build_id));
	json_string(sb, ", ", "function", p->function);
	put_rule(sb, rs, p->rule);
	json_string(sb, ",\n   ", "plan", plan_kind_name(p->kind));
	json_real(sb, ", ", "stops", p->stops);
	json_string(sb, ", ", "reason", p->reason);
	put_entry(sb, p, m->bias);
	json_key(sb, ",\n   ", "sites");
	strbuf_putc(sb, '[');
	for (size_t i = 0; i < p->nsites && p->kind != PLAN_NONE; i++) {
		json_next_line(sb, i, "    ");
		put_site(sb, &p->sites[i], m->bias, d);
	}
	strbuf_puts(sb, "]}");
}

void probes_json_module(struct probes_json *j, const struct ruleset *rs, const struct module *m,
			struct decoder *d, const struct plan_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		json_next_line(&j->sb, j->nplans++, "  ");
		put_plan(&j->sb, rs, m, d, &set->plans[i]);
	}
}

static void begin_families(struct probes_json *j)
{
	strbuf_putc(&j->sb, ']');
	json_key(&j->sb, ",\n", "families");
	strbuf_putc(&j->sb, '[');
	j->has_families = true;
}

void probes_json_offers(struct probes_json *j, const struct offers *offers)
{
	begin_families(j);
	for (size_t i = 0; i < offers->n; i++) {
		json_next_line(&j->sb, i, "  ");
		json_string(&j->sb, "{", "name", offers->all[i].family->name);
		json_number(&j->sb, ", ", "functions", offers->all[i].found);
		json_string(&j->sb, ", ", "module", offers->all[i].module);
		strbuf_putc(&j->sb, '}');
	}
}

int probes_json_end(struct probes_json *j, FILE *out)
{
	if (!j->has_families)
		begin_families(j);
	strbuf_puts(&j->sb, "]}\n");
	if (strbuf_error(&j->sb))
		return -ENOMEM;
	fputs(strbuf_str(&j->sb), out);
	return 0;
}
