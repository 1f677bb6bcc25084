/* SPDX-License-Identifier: MIT */
#include "attach/probes/resolve.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "attach/probes/code/body.h"
#include "attach/probes/plansite.h"
#include "attach/rules/ruletext.h"
#include "trace/probenote.h"

/* Two rules for one function need the same instructions if they apply at the same moment. */
enum moment { MOMENT_SWITCH, MOMENT_INSIDE, MOMENT_ENTRY, MOMENT_END };

static enum moment moment_of(const struct rule *r)
{
	if (r->op == RULE_IN)
		return MOMENT_INSIDE;
	if (rule_is_scope(r))
		return MOMENT_SWITCH;
	return rule_at_exit(r) ? MOMENT_END : MOMENT_ENTRY;
}

/* The plan that already has the instructions that @rule would need at @addr, or NULL. */
static const struct plan *planned_already(const struct planning *pl, const struct rule *rule, taddr addr)
{
	for (size_t i = 0; i < pl->set->n; i++) {
		const struct plan *p = &pl->set->plans[i];

		if (p->entry == addr && pl->entries[i] && moment_of(p->rule) == moment_of(rule))
			return p;
	}
	return NULL;
}

#define RULE_TEXT 512

/*
 * aligned_alloc is memalign, open64 is open: a second name for the same function. In which other modules the
 * rules hold is not compared, since both hold in this one: even if one of them has "module=libjemalloc*", the
 * calls of jemalloc's malloc are those of the other rule, too.
 */
static bool same_meaning(const struct rule *a, const struct rule *b)
{
	struct rule other = *b;
	char first[RULE_TEXT], second[RULE_TEXT];

	other.where = a->where;
	other.addr = a->addr;
	memcpy(other.name, a->name, sizeof(other.name));
	memcpy(other.build_id, a->build_id, sizeof(other.build_id));
	memcpy(other.module, a->module, sizeof(other.module));
	rule_format(a, first, sizeof(first));
	rule_format(&other, second, sizeof(second));
	return plan_family(a) == plan_family(b) && !strcmp(first, second);
}

static void give_planned_reason(struct plan *p, const struct plan *first)
{
	char text[RULE_TEXT];

	rule_format(first->rule, text, sizeof(text));
	give_reason(p, MMT_NOTE_OTHER_RULE ": %.200s", text);
}

static void name_plan(const struct planning *pl, struct plan *p)
{
	const char *name = p->rule->where == WHERE_NAME ? p->rule->name
							: elfimage_symbol_at(pl->img, p->entry);

	if (name)
		snprintf(p->function, sizeof(p->function), "%s", name);
	else
		snprintf(p->function, sizeof(p->function), PRItaddr, p->entry);
}

void resolve_rule(struct planning *pl, size_t i)
{
	const struct rule *rule = &pl->rules[i];
	struct plan *p = &pl->set->plans[pl->set->n];
	const struct plan *first = NULL;
	uint64_t size = 0;
	bool ifunc = false;
	taddr addr = rule->addr;
	uint8_t byte;
	int rc = 0;

	if (rule->where == WHERE_NAME)
		rc = elfimage_find(pl->img, rule->name, &addr, &size, &ifunc);
	if (!rc)
		first = planned_already(pl, rule, addr);
	if (rc == -ENOENT || (first && same_meaning(rule, first->rule)))
		return;
	*p = (struct plan){
		.rule = rule, .rule_index = (uint16_t)i, .kind = PLAN_NONE, .entry = rc ? 0 : addr,
	};
	name_plan(pl, p);
	if (rc == -EEXIST)
		give_reason(p, "several functions have this name: give one as MODULE+0xOFFSET");
	else if (ifunc)
		give_reason(p, "an IFUNC: which function it is, is resolved at load time");
	else if (!elfimage_code(pl->img, p->entry, &byte, 1))
		give_reason(p, "there is no code");
	else if (rule->where != WHERE_NAME && !body_has_instruction(pl->img, pl->d, addr))
		give_reason(p, "no instruction is known to begin there");
	else if (elfimage_textrel(pl->img))
		give_reason(p, "the code is relocated at load time (DT_TEXTREL): it cannot be compared with "
			    "the file");
	else if (first)
		give_planned_reason(p, first);
	pl->entries[pl->set->n++] = *p->reason ? 0 : p->entry;
}
