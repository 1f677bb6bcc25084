/* SPDX-License-Identifier: MIT */
/* ruleword: lines taken apart into words, for rule.c and the like. */
#ifndef MM_RULEWORD_H
#define MM_RULEWORD_H

#include <stdbool.h>
#include <stddef.h>

#include "attach/rules/rule.h"

/* The text being parsed, and how far we are. */
struct cursor {
	const char *text, *at;
	struct rule_error *err;
};

struct word {
	const char *at;
	size_t len;
};

/* -EINVAL: @where in the text is not what is wanted. */
int word_refuse(struct cursor *c, const char *where, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Blanks part words. Of length 0, at the end: there is none. */
struct word word_next(struct cursor *c);

bool word_is(struct word w, const char *text);

/* With a NUL behind it. 0; -EINVAL: it is too long, and that is said. */
must_check int word_copy(struct cursor *c, struct word w, char *to, size_t size);

#endif
