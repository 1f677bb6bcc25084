/* SPDX-License-Identifier: MIT */
#include "attach/rules/ruleword.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BLANKS " \t\r\n"

int word_refuse(struct cursor *c, const char *where, const char *format, ...)
{
	va_list ap;

	c->err->column = (size_t)(where - c->text) + 1;
	va_start(ap, format);
	vsnprintf(c->err->message, sizeof(c->err->message), format, ap);
	va_end(ap);
	return -EINVAL;
}

struct word word_next(struct cursor *c)
{
	struct word w;

	c->at += strspn(c->at, BLANKS);
	w.at = c->at;
	w.len = strcspn(c->at, BLANKS);
	c->at += w.len;
	return w;
}

bool word_is(struct word w, const char *text)
{
	return w.len == strlen(text) && !memcmp(w.at, text, w.len);
}

int word_copy(struct cursor *c, struct word w, char *to, size_t size)
{
	if (w.len >= size)
		return word_refuse(c, w.at, "longer than %zu characters", size - 1);
	memcpy(to, w.at, w.len);
	to[w.len] = '\0';
	return 0;
}
