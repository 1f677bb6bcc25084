/* SPDX-License-Identifier: MIT */
/* ruleword: splits lines into words, for ruletext.c and rulefile.c. */
#ifndef MM_RULEWORD_H
#define MM_RULEWORD_H

#include <stdbool.h>
#include <stddef.h>

#include "attach/rules/rule.h"

/* The text being parsed, and the current position. */
struct cursor {
	const char *text, *at;
	struct rule_error *err;
};

struct word {
	const char *at;
	size_t len;
};

/* Report an error at @where in the text; returns -EINVAL. */
int word_refuse(struct cursor *c, const char *where, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The next word; words are separated by blanks. Length 0, at the end: there is none. */
struct word word_next(struct cursor *c);

bool word_is(struct word w, const char *text);

/* Copy it, and add a NUL. 0; -EINVAL: too long, reported by word_refuse. */
must_check int word_copy(struct cursor *c, struct word w, char *to, size_t size);

#endif
