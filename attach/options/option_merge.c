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

int option_label(struct options *o, const char *arg, struct usage_error *err)
{
	if (!is_labels(arg)) {
		usage_refuse(err, "--label %s: not KEY=VALUE", arg);
		return usage_advise(err, "for example --label host=a1,pod=web-7");
	}
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
