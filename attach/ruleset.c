/* SPDX-License-Identifier: MIT */
#include "attach/ruleset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool ruleset_is_own(const struct options *opt)
{
	for (size_t i = 0; i < opt->nrules; i++)
		if (!rule_is_scope(&opt->rules[i]))
			return true;
	return false;
}

int ruleset_choose(const struct options *opt, struct rule **out, size_t *n)
{
	size_t nlibc = 0;
	const struct rule *libc = rule_libc(&nlibc);

	if (ruleset_is_own(opt))
		nlibc = 0;
	*n = nlibc + opt->nrules;
	*out = malloc((*n + 1) * sizeof(**out));
	if (!*out)
		return -ENOMEM;
	memcpy(*out, libc, nlibc * sizeof(**out));
	if (opt->nrules)
		memcpy(*out + nlibc, opt->rules, opt->nrules * sizeof(**out));
	return 0;
}
