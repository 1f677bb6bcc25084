/* SPDX-License-Identifier: MIT */
#include "attach/reporting/report_families.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/options/ruleset.h"
#include "base/grow.h"
#include "base/log.h"

static int split(const struct option_list *list, struct report_families *f)
{
	char *rest;

	for (size_t i = 0; i < list->n; i++) {
		strbuf_puts(&f->text, i ? "," : "");
		strbuf_puts(&f->text, list->all[i]);
	}
	if (strbuf_error(&f->text))
		return -ENOMEM;
	for (char *name = strtok_r(f->text.s, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
		const char **slot = grow_by_one(&f->given, f->ngiven, sizeof(*slot));

		if (!slot)
			return -ENOMEM;
		*slot = name;
		f->ngiven++;
	}
	return 0;
}

static int add_name(struct report_families *f, const char *name)
{
	const char **slot = grow_by_one(&f->names, f->n, sizeof(*slot));

	if (!slot)
		return -ENOMEM;
	*slot = name;
	f->n++;
	return 0;
}

static int add_meant(struct report_families *f, const char *given)
{
	int r = add_name(f, given);

	for (size_t i = 0; i < f->packs.nfamilies && r == 0; i++)
		if (!strcmp(f->packs.families[i].pack, given))
			r = add_name(f, f->packs.families[i].name);
	return r;
}

int report_families_open(const struct options *opt, struct report_families *out)
{
	int r;

	*out = (struct report_families){ .text = STRBUF_INIT };
	if (!opt->what.families.n || (opt->command != COMMAND_REPORT && opt->command != COMMAND_DIFF))
		return 0;
	r = ruleset_packs(&out->packs);
	if (r == 0)
		r = split(&opt->what.families, out);
	for (size_t i = 0; i < out->ngiven && r == 0; i++)
		r = add_meant(out, out->given[i]);
	return r;
}

void report_families_close(struct report_families *f)
{
	free(f->names);
	free(f->given);
	strbuf_fini(&f->text);
	ruleset_fini(&f->packs);
	*f = (struct report_families){ .text = STRBUF_INIT };
}

/* --- names that the run does not have --- */

static bool has_family(const struct ledger *l, const char *name)
{
	for (size_t i = 0; i < l->defs.nfamilies; i++)
		if (l->defs.families[i].name && !strcmp(l->defs.families[i].name, name))
			return true;
	return false;
}

static bool means_something(const struct report_families *f, const struct ledger *l, const char *given)
{
	bool found = has_family(l, given);

	for (size_t i = 0; i < f->packs.nfamilies; i++)
		found |=
			!strcmp(f->packs.families[i].pack, given) && has_family(l, f->packs.families[i].name);
	return found;
}

void report_families_check(const struct report_families *f, const struct ledger *l)
{
	cleanup_strbuf struct strbuf list = STRBUF_INIT;

	for (size_t i = 0; i < l->defs.nfamilies; i++) {
		if (!l->defs.families[i].name)
			continue;
		strbuf_puts(&list, list.len ? ", " : "");
		strbuf_text(&list, l->defs.families[i].name);
	}
	for (size_t i = 0; i < f->ngiven; i++) {
		if (means_something(f, l, f->given[i]))
			continue;
		log_warn("--family: nothing of a family %s was watched", f->given[i]);
		log_hint("the families of this run are %s", strbuf_str(&list));
	}
}
