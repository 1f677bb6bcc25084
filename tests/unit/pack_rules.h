/* SPDX-License-Identifier: MIT */
/* pack_rules: the rules of one family, out of the packs. */
#ifndef MM_TESTS_PACK_RULES_H
#define MM_TESTS_PACK_RULES_H

#include "attach/rules/rulefile.h"
#include "packs/packs.h"

/* Returns 0 or -errno; to be released with ruleset_fini. */
static inline int pack_rules(const char *family, struct ruleset *out)
{
	struct rulefile_error err;
	struct ruleset all = { 0 };
	const char *unknown;
	size_t n;
	const struct pack *packs = packs_all(&n);
	int r = 0;

	*out = (struct ruleset){ 0 };
	for (size_t i = 0; r == 0 && i < n; i++)
		r = ruleset_add_text(&all, packs[i].name, packs[i].name, packs[i].text, packs[i].len, &err);
	if (r == 0)
		r = ruleset_select(&all, &family, 1, out, &unknown);
	ruleset_fini(&all);
	return r;
}

#endif
