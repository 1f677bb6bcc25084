/* SPDX-License-Identifier: MIT */
#include "attach/cli/probes_json.h"

#include <errno.h>

#include "attach/rules/ruletext.h"
#include "report/fields/fields.h"
#include "report/fields/table.h"
#include "report/json/json.h"
#include "report/json/json_object.h"

/* --- tables --- */

#define TARGET(F)											\
	F(uint, pid, J, (uint64_t)t->pid, "Number of the process.")					\
	F(string, comm, J, t->comm, "Its name, as the kernel has it.")					\
	F(string, exe, J, t->exe, "Path of its program.")

FIELDS(probed_process, const struct target_info *t, TARGET, "The process.");

/* A plan, and what its values depend on. */
struct planned {
	const struct ruleset *rules;
	const struct module *module;
	struct decoder *decoder;
	const struct plan *plan;
};

static const struct planned *plan_of(const struct field_source *c)
{
	return c->owner;
}

static taddr address_of(const struct field_source *c, const struct site *s)
{
	return s->addr + plan_of(c)->module->bias;
}

static void put_instruction(const struct field_source *c, const struct site *s, struct field_value *v)
{
	struct insn in;

	if (decode(plan_of(c)->decoder, s->bytes, s->nbytes, address_of(c, s), &in) == 0)
		strbuf_puts(&v->made, in.text);
}

#define SITE(F)												\
	F(address, offset, J, s->addr, "As in the module's ELF file.")					\
	F(address, address, J, address_of(c, s), "In the process.")					\
	F(string, kind, J, plan_site_role(s), "entry, exit, or scope.")					\
	F(bool, return, J, s->flags & SITE_RETURN,							\
	  "The return address gets a trap, too, when it is first seen.")				\
	F(made, instruction, J, put_instruction(c, s, v), "What is there; empty if it is not known.")	\
	F(string, how, J, plan_site_how(s), "How a thread goes past the trap.")

FIELDS(site, const struct site *s, SITE, "An address that gets a trap.");

#define PLACE(F)											\
	F(address, offset, J, p->plan->entry, "As in the module's ELF file.")				\
	F(address, address, J, p->plan->entry + p->module->bias, "In the process.")

FIELDS(place, const struct planned *p, PLACE, "Where a function begins.");

static void put_rule(const struct planned *p, struct field_value *v)
{
	char text[1024];

	rule_format(p->plan->rule, text, sizeof(text));
	strbuf_puts(&v->made, text);
}

static void put_build_id(const struct planned *p, struct field_value *v)
{
	char build_id[MODULE_BUILD_ID_TEXT];

	strbuf_puts(&v->made, module_build_id(p->module, build_id));
}

static const char *family_of(const struct planned *p)
{
	return rule_is_scope(p->plan->rule) ? NULL : p->rules->families[p->plan->rule->family].name;
}

static size_t count_sites(const struct planned *p)
{
	return p->plan->kind == PLAN_NONE ? 0 : p->plan->nsites;
}

#define PLAN(F)												\
	F(string, module, J, p->module->path, "Path of the file that has the function.")		\
	F(made, build_id, J, put_build_id(p, v), "Hexadecimal; empty if the module has none.")		\
	F(string, function, J, p->plan->function, "Its name.")						\
	F(string, op, J, rule_op_name(p->plan->rule->op),						\
	  "What the rule says of it: alloc, free, ref ...")						\
	F(made, rule, J, put_rule(p, v), "The rule.")							\
	F(string_or_null, family, J, family_of(p),							\
	  "Of the rule; null for scopes (--in, --from, --until).")					\
	F(string, plan, J, plan_kind_name(p->plan->kind),						\
	  "exits, entry, entry-exits, entry-return, wrapper; none: it is not watched.")			\
	F(real, stops, J, p->plan->stops, "How often a call stops its thread, the usual way.")		\
	F(string, reason, J, p->plan->reason, "Why it is not watched.")					\
	F(object_or_null(place), entry, J, p->plan->entry ? p : NULL, "null: its code was not found.")	\
	F(list(site), sites, J, ARRAY(p->plan->sites, count_sites(p)), "Where it gets traps.")

FIELDS(plan, const struct planned *p, PLAN, "A function, and how it is watched.");

#define OFFER(F)											\
	F(string, name, J, o->family->name, "For --family.")						\
	F(uint, functions, J, o->found, "How many of its functions are there.")				\
	F(string, module, J, o->module, "Name of the first file that has one.")

FIELDS(offer, const struct offer *o, OFFER, "A family that could be watched in the process.");

/*
 * Of the whole, for the schema; it is printed piece by piece, as the plans of a module live no longer than
 * that.
 */
static const struct field all_members[] = {
	{ "mmattach", FIELD_OBJECT, .of = &fields_mmattach, .in = J, .what = "What printed this." },
	{ "target", FIELD_OBJECT, .of = &fields_probed_process, .in = J, .what = "The process." },
	{ "plans", FIELD_LIST, .of = &fields_plan, .in = J, .what = "Functions, and how they are watched." },
	{ "families", FIELD_LIST, .of = &fields_offer, .in = J, .what = "Families that could be watched." },
};

const struct fields fields_probes = {
	"probes", "Of mmattach probes --json.", all_members, sizeof(all_members) / sizeof(*all_members), NULL,
};

/* --- printing --- */

static const struct field_source no_report;

void probes_json_begin(struct probes_json *j, const struct target_info *t)
{
	struct strbuf *sb = &j->sb;

	json_key(sb, "{", "mmattach");
	json_object_line(sb, &fields_mmattach, &no_report, j);
	json_key(sb, ",\n", "target");
	json_object_line(sb, &fields_probed_process, &no_report, t);
	json_list(sb, ",\n", "plans");
}

void probes_json_module(struct probes_json *j, const struct ruleset *rs, const struct module *m,
			struct decoder *d, const struct plan_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		const struct planned its = { rs, m, d, &set->plans[i] };

		json_next_line(&j->sb, j->nplans++, "  ");
		json_object_line(&j->sb, &fields_plan, &no_report, &its);
	}
}

static void begin_families(struct probes_json *j)
{
	strbuf_putc(&j->sb, ']');
	json_list(&j->sb, ",\n", "families");
	j->has_families = true;
}

void probes_json_offers(struct probes_json *j, const struct offers *offers)
{
	begin_families(j);
	for (size_t i = 0; i < offers->n; i++) {
		json_next_line(&j->sb, i, "  ");
		json_object_line(&j->sb, &fields_offer, &no_report, &offers->all[i]);
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
