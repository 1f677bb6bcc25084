/* SPDX-License-Identifier: MIT */
#include "attach/sampling/sampling_check.h"

#include <errno.h>
#include <string.h>

#include "attach/rules/rulefile.h"
#include "attach/rules/ruletext.h"
#include "base/log.h"

bool sampling_check_can_sample(const struct rule *rule)
{
	return (rule->op == RULE_ALLOC || rule->op == RULE_REALLOC) && expr_is_ret(&rule->ptr) &&
	       !rule->also.n && !rule->nifs;
}

/* Allocators whose memory is in no heap that can answer what became of a block (sampling_heaps.h). */
static bool has_own_heap(const char *pack)
{
	static const char *const packs[] = { "dpdk", "mmap", "python" };

	for (size_t i = 0; pack && i < sizeof(packs) / sizeof(*packs); i++)
		if (!strcmp(pack, packs[i]))
			return true;
	return false;
}

static const char *why_not_family(const struct rule_family *f)
{
	if (f->ranges)
		return "where memory grows is seldom, and seen each time";
	if (f->refs)
		return "references are counted one by one";
	if (*f->noun && strcmp(f->noun, "block") != 0)
		return "these are no blocks of memory";
	if (f->pools)
		return "its blocks are freed with their pools";
	if (has_own_heap(f->pack))
		return "its blocks are none of malloc's";
	return NULL;
}

static int refuse_rule(const struct rule *rule)
{
	char text[640];

	rule_format(rule, text, sizeof(text));
	if (rule_is_scope(rule))
		log_error("--budget: the moment when this is reached is not seen: %s", text);
	else
		log_error("--budget: of this rule's calls more is needed than their result: %s", text);
	log_hint("without --budget every call is seen");
	return -EINVAL;
}

int sampling_check_rules(const struct ruleset *set)
{
	bool any = false;

	for (size_t i = 0; i < set->nfamilies; i++) {
		const char *why = why_not_family(&set->families[i]);

		if (!why)
			continue;
		log_error("--budget cannot watch family %s: %s", set->families[i].name, why);
		log_hint("without --budget every call is seen");
		return -EINVAL;
	}
	for (size_t i = 0; i < set->nrules; i++) {
		const struct rule *rule = &set->rules[i];

		any |= sampling_check_can_sample(rule);
		if (rule_is_scope(rule) ||
		    (!rule->builtin && rule->op != RULE_FREE && !sampling_check_can_sample(rule)))
			return refuse_rule(rule);
	}
	if (any)
		return 0;
	log_error("--budget: no function is to be watched whose result is a block");
	return -EINVAL;
}
