/* SPDX-License-Identifier: MIT */
/* hitvalues: the values of a rule's expressions at one hit. */
#ifndef MM_HITVALUES_H
#define MM_HITVALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/keeper/shared/event.h"
#include "attach/rules/rule.h"

#define HITVALUES_TAG SITE_TEXT

struct hitvalues {
	const struct rule *rule;
	struct expr_values values;
	bool args;		/* values.args are those of the call: its entry was seen, or this is it */
	const char *text;	/* the string that was read, or NULL; owned by the hit */
};

/*
 * @s: the site that was hit. @own: what was read is what @rule loads. (A wrapper's blocks are seen in the
 * function that it calls: there, nothing that the wrapper's rule loads was read.)
 */
void hitvalues_read(const struct record_hit *hit, const struct site *s, const struct rule *rule, bool own,
		    struct hitvalues *out);

/* What the function returned. */
uint64_t hitvalues_result(const struct record_hit *hit, const struct site *s);

/* false: something that @e needs was not read. */
bool hitvalues_get(const struct hitvalues *v, const struct expr *e, uint64_t *out);

enum hitvalues_holds { HOLDS, HOLDS_NOT, HOLDS_UNREAD };

/* Do all of the rule's if= hold? */
enum hitvalues_holds hitvalues_hold(const struct hitvalues *v);

enum hitvalues_tagged { TAGGED, TAGGED_NOT, TAGGED_UNREAD };

/*
 * The rule's tag as text: @out is @buf, or a string of the hit; NULL if there is none (the rule has no tag,
 * or a null pointer), or if it was not read.
 */
enum hitvalues_tagged hitvalues_tag(const struct hitvalues *v, char buf[HITVALUES_TAG], const char **out);

#endif
