/* SPDX-License-Identifier: MIT */
#include "attach/options/option_arg.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"

int usage_refuse(struct usage_error *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	err->hint[0] = '\0';
	return -EINVAL;
}

int usage_advise(struct usage_error *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

int usage_suggest(struct usage_error *err, const char *before, const struct nearest *near)
{
	return near->name ? usage_advise(err, "did you mean %s%.*s?", before, (int)near->len, near->name)
			  : -EINVAL;
}

/* "auto, yes or no" */
static void list_values(const char *values, struct strbuf *out)
{
	for (size_t n; *values; values += n + (values[n] == '|')) {
		n = strcspn(values, "|");
		strbuf_puts(out, !out->len ? "" : values[n] ? ", " : " or ");
		strbuf_append(out, values, n);
	}
}

static int refuse_value(const char *option, const char *values, const char *arg, const struct nearest *near,
			struct usage_error *err)
{
	cleanup_strbuf struct strbuf list = STRBUF_INIT;

	list_values(values, &list);
	usage_refuse(err, "%s %s: must be %s", option, arg, strbuf_str(&list));
	return usage_suggest(err, "", near);
}

int option_choose(const char *option, const char *values, const char *arg, unsigned *which,
		  struct usage_error *err)
{
	const size_t len = strlen(arg);
	struct nearest near = nearest_to(arg, len);
	const char *at = values;
	unsigned i = 0;

	for (size_t n; *at; at += n + (at[n] == '|'), i++) {
		n = strcspn(at, "|");
		if (n == len && !memcmp(at, arg, n)) {
			*which = i;
			return 0;
		}
		nearest_try(&near, at, n);
	}
	return refuse_value(option, values, arg, &near, err);
}

bool option_number(const char *s, unsigned long max, unsigned long *out)
{
	char *end;

	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	*out = strtoul(s, &end, 10);
	return !errno && !*end && *out <= max;
}

int option_size(const char *option, const char *arg, uint64_t *bytes, struct usage_error *err)
{
	if (!size_parse(arg, bytes))
		return 0;
	usage_refuse(err, "%s %s: not a size", option, arg);
	return usage_advise(err, "write it as 4096, 64K, 100M or 2G");
}

int option_add(struct option_list *list, const char *arg)
{
	const char **grown = reallocarray(list->all, list->n + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	list->all = grown;
	list->all[list->n++] = arg;
	return 0;
}
