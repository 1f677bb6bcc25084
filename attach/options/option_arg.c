/* SPDX-License-Identifier: MIT */
#include "attach/options/option_arg.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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

bool option_number(const char *s, unsigned long max, unsigned long *out)
{
	char *end;

	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	*out = strtoul(s, &end, 10);
	return !errno && !*end && *out <= max;
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
