/* SPDX-License-Identifier: MIT */
#include "attach/events/rule_values.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

uint64_t rule_values_result(const struct record_hit *hit, const struct site *s)
{
	struct user_regs_struct regs = hit->regs;

	return *emu_reg_slot(&regs, s->result);
}

void rule_values_read(const struct record_hit *hit, const struct site *s, const struct rule *rule, bool own,
		      struct rule_values *out)
{
	*out = (struct rule_values){ .rule = rule };
	out->args = hit->head.flags & (RECORD_CLOSES | RECORD_OPENS) || !(s->flags & (SITE_EXIT | SITE_AFTER));
	memcpy(out->values.args, hit->args, sizeof(out->values.args));
	out->values.ret = rule_values_result(hit, s);
	if (!own)
		return;
	out->values.read = hit->loads_read | hit->loads_null;
	for (uint32_t i = 0; i < rule->loads.n; i++) {
		if (hit->loads_read & 1u << i)
			out->values.loads[i] = hit->loads[i];
		if (rule->loads.all[i].width == 0 && hit->loads_read & 1u << i)
			out->text = hit->text;
	}
}

bool rule_values_get(const struct rule_values *v, const struct expr *e, uint64_t *out)
{
	return (v->args || !expr_uses_args(e, &v->rule->loads)) &&
	       expr_eval(e, &v->rule->loads, &v->values, out);
}

enum rule_values_holds rule_values_hold(const struct rule_values *v)
{
	uint64_t holds;

	for (uint32_t i = 0; i < v->rule->nifs; i++) {
		if (!rule_values_get(v, &v->rule->ifs[i], &holds))
			return HOLDS_UNREAD;
		if (!holds)
			return HOLDS_NOT;
	}
	return HOLDS;
}

static enum rule_values_tagged text_tag(const struct rule_values *v, const char **out)
{
	*out = v->text;
	if (v->text)
		return TAGGED;
	for (uint32_t i = 0; i < v->rule->loads.n; i++)
		if (v->rule->loads.all[i].width == 0 && v->values.read & 1u << i)
			return TAGGED_NOT;
	return TAGGED_UNREAD;
}

enum rule_values_tagged rule_values_tag(const struct rule_values *v, char buf[RULE_VALUES_TAG],
					const char **out)
{
	uint64_t number;

	*out = NULL;
	if (v->rule->tag_text)
		return text_tag(v, out);
	if (!v->rule->tag.n)
		return TAGGED_NOT;
	if (!rule_values_get(v, &v->rule->tag, &number))
		return TAGGED_UNREAD;
	snprintf(buf, RULE_VALUES_TAG, "%" PRId64, (int64_t)number);
	*out = buf;
	return TAGGED;
}
