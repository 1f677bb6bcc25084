/* SPDX-License-Identifier: MIT */
/* rulekey: the KEY=VALUE of rules. For rule.c only. */
#ifndef MM_RULEKEY_H
#define MM_RULEKEY_H

#include "attach/rules/ruleword.h"

/* The rule's op is set: fill in what holds if nothing is said. 0 or -EINVAL. */
must_check int rulekey_defaults(struct cursor *c, struct rule *r);

/* @w is KEY=VALUE. @seen: a bit for each key so far. 0 or -EINVAL. */
must_check int rulekey_take(struct cursor *c, struct word w, struct rule *r, unsigned *seen);

/* All that is not as by default, as text, each with a blank before it; the length as snprintf. */
int rulekey_format(const struct rule *r, char *buf, size_t n);

#endif
