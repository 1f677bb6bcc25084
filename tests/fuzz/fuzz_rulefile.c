/* SPDX-License-Identifier: MIT */
/* rulefile: a refusal names a position in the file; what is accepted is consistent, and can be selected. */
#include "attach/rules/rulefile.h"

#include <errno.h>

#include "tests/fuzz/fuzz.h"

static size_t lines_of(const char *text, size_t n)
{
	size_t lines = 0;

	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	return lines + 1;
}

static void check_error(const struct rulefile_error *err, const char *text, size_t n)
{
	promised(err->line >= 1 && err->line <= lines_of(text, n));
	promised(err->column >= 1 && err->column <= n + 1);
	promised(*err->message && !strncmp(err->text, "f:", 2));
}

static void check_set(const struct ruleset *rs)
{
	for (size_t i = 0; i < rs->nrules; i++) {
		const struct rule *r = &rs->rules[i];

		if (!rule_is_scope(r))
			promised(r->family < rs->nfamilies && rs->families[r->family].refs == rule_is_ref(r));
		promised(strlen(r->name) < sizeof(r->name) && strlen(r->module) < sizeof(r->module));
	}
	for (size_t i = 0; i < rs->nfamilies; i++) {
		promised(*rs->families[i].name && *rs->families[i].noun);
		for (size_t k = 0; k < i; k++)
			promised(strcmp(rs->families[i].name, rs->families[k].name) != 0);
	}
}

/* Select by the name of each family: this gives all its rules, and no others. */
static void select_each(const struct ruleset *rs)
{
	size_t rules = 0, scopes = 0;

	for (size_t i = 0; i < rs->nrules; i++)
		scopes += rule_is_scope(&rs->rules[i]);
	for (size_t i = 0; i < rs->nfamilies; i++) {
		const char *name = rs->families[i].name, *unknown;
		struct ruleset out;
		int r = ruleset_select(rs, &name, 1, &out, &unknown);

		promised(r == 0 || (r == -ENOENT && !strcmp(unknown, name)) || r == -ENOMEM);
		if (r)
			continue;
		check_set(&out);
		promised(out.nfamilies == 1 && out.nskips == rs->nskips);
		rules += out.nrules;
		ruleset_fini(&out);
	}
	promised(rules == rs->nrules - scopes);
}

static void try(const char *pack, const char *text, size_t n)
{
	struct rulefile_error err;
	struct ruleset rs = { 0 };
	int r = ruleset_add_text(&rs, "f", pack, text, n, &err);

	promised(r == 0 || r == -EINVAL || r == -ENOMEM);
	if (r == -EINVAL)
		check_error(&err, text, n);
	check_set(&rs);
	if (r == 0 && pack)
		select_each(&rs);
	ruleset_fini(&rs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *text = fuzz_text(data, size);

	if (!text)
		return 0;
	try(NULL, text, size);
	try("pa", text, size);
	return 0;
}
