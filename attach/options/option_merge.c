/* SPDX-License-Identifier: MIT */
#include "attach/options/option_merge.h"

#include <string.h>

#include "attach/options/option_arg.h"
#include "attach/options/option_format.h"

/* "host=a1,pod=x": a key is not empty, and has no blanks. */
static bool is_labels(const char *arg)
{
	for (const char *at = arg;; at++) {
		const size_t key = strcspn(at, "=, \t\n");

		if (!key || at[key] != '=')
			return false;
		at += key + 1;
		at += strcspn(at, ",");
		if (!*at)
			return true;
	}
}

/* Has one of the labels from @at up to @end the key that @label begins with? */
static bool has_key(const char *at, const char *end, const char *label)
{
	const size_t n = strcspn(label, "=") + 1;

	for (; at < end; at += strcspn(at, ","), at += *at == ',')
		if (!strncmp(at, label, n))
			return true;
	return false;
}

/* A key of @arg that it has twice, or that an earlier option has; NULL: none. */
static const char *key_again(const struct options *o, const char *arg)
{
	for (const char *at = arg; *at; at += strcspn(at, ","), at += *at == ',') {
		if (has_key(arg, at, at))
			return at;
		for (size_t i = 0; i < o->labels.n; i++)
			if (has_key(o->labels.all[i], o->labels.all[i] + strlen(o->labels.all[i]), at))
				return at;
	}
	return NULL;
}

int option_label(struct options *o, const char *arg, struct usage_error *err)
{
	const char *again;

	if (!is_labels(arg)) {
		usage_refuse(err, "--label %s: not KEY=VALUE", arg);
		return usage_advise(err, "for example --label host=a1,pod=web-7");
	}
	again = key_again(o, arg);
	if (again)
		return usage_refuse(err, "--label %s: %.*s has a value already", arg, (int)strcspn(again, "="), again);
	return option_add(&o->labels, arg);
}

int option_by(struct options *o, const char *arg, struct usage_error *err)
{
	unsigned which;
	int ret = option_choose("--by", BY_VALUES, arg, &which, err);

	if (ret == 0)
		o->shown.by_process = which;
	return ret;
}

int option_merge_check(const struct options *o, struct usage_error *err)
{
	if (!o->shown.by_process || report_format_for_people(o->format))
		return 0;
	usage_refuse(err, "--by process: --format %s has no table of processes", o->format->name);
	return usage_advise(err, "--format json and html have the processes without it");
}
