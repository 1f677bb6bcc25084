/* SPDX-License-Identifier: MIT */
/*
 * report_families: which families of a saved run are picked by --family of report and diff. A run knows its
 * families by name; the name of a pack means the families that the pack has today. A watch has only the
 * families it was asked to watch, and reports all of them.
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

/* 0 or -ENOMEM; call report_families_close in any case. */
must_check int report_families_open(const struct options *opt, struct report_families *out);
void report_families_close(struct report_families *f);

/* Warn of names for which @l has no family. */
void report_families_check(const struct report_families *f, const struct ledger *l);

#endif
