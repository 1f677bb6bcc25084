/* SPDX-License-Identifier: MIT */
/*
 * report_families: which families of a saved run --family of report and diff picks. A run knows its families by
 * name; a pack's name means those that the pack has today. A watch has only what it was told to watch, and reports
 * all of it.
 */
#ifndef MM_REPORT_FAMILIES_H
#define MM_REPORT_FAMILIES_H

#include <stddef.h>

#include "attach/options/options.h"
#include "attach/rules/rulefile.h"
#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/ledger/ledger.h"

struct report_families {
	const char **names;	/* of families; point into the others */
	size_t n;		/* 0: all */
	const char **given;	/* as the user wrote them */
	size_t ngiven;
	struct strbuf text;
	struct ruleset packs;
};

/* 0 or -ENOMEM; report_families_close in any case. */
must_check int report_families_open(const struct options *opt, struct report_families *out);
void report_families_close(struct report_families *f);

/* Say which names mean nothing that is in @l. */
void report_families_check(const struct report_families *f, const struct ledger *l);

#endif
