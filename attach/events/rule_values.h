/* SPDX-License-Identifier: MIT */
/* rule_values: the values of a rule's expressions at one hit. */
#ifndef MM_RULE_VALUES_H
#define MM_RULE_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/keeper/shared/event.h"
#include "attach/rules/rule.h"

#define RULE_VALUES_TAG SITE_TEXT

struct rule_values {
	const struct rule *rule;
	struct expr_values values;
	bool args;		/* values.args are those of the call: its entry was seen, or is this hit */
	const char *text;	/* the string that was read, or NULL; owned by the hit */
};

/*
 * @s: the site that was hit. @own: the loads of @hit are those of @rule. (Not for a wrapper: the hit is in
 * the function that it calls, where the loads of the wrapper's rule are not read.)
 */
void rule_values_read(const struct record_hit *hit, const struct site *s, const struct rule *rule, bool own,
		      struct rule_values *out);

/* What the function returned. */
uint64_t rule_values_result(const struct record_hit *hit, const struct site *s);

/* false: something that @e needs was not read. */
bool rule_values_get(const struct rule_values *v, const struct expr *e, uint64_t *out);

enum rule_values_holds { HOLDS, HOLDS_NOT, HOLDS_UNREAD };

/* Do all of the rule's if= hold? */
enum rule_values_holds rule_values_hold(const struct rule_values *v);

enum rule_values_tagged { TAGGED, TAGGED_NOT, TAGGED_UNREAD };

/*
 * The rule's tag as text: @out is @buf, or a string of the hit; NULL if there is none (the rule has no tag,
 * or a null pointer), or if it was not read.
 */
enum rule_values_tagged rule_values_tag(const struct rule_values *v, char buf[RULE_VALUES_TAG],
					const char **out);

#endif
