/* SPDX-License-Identifier: MIT */
/*
 * reporting: from a ledger to the report that the options ask for, on stdout or in a file.
 *
 * Opened before anything else is done: a file that cannot be written, a regular expression or a suppression that is
 * none, are known then, and not after eight hours.
 */
#ifndef MM_REPORTING_H
#define MM_REPORTING_H

#include <stdbool.h>

#include "attach/options/options.h"
#include "attach/reporting/report_families.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "report/ledger/ledger.h"
#include "report/model/summary.h"
#include "report/query/lookup.h"
#include "report/query/select.h"
#include "report/suppress/suppress.h"

struct reporting {
	const struct options *opt;
	const char *path;		/* NULL: stdout */
	struct outfile file;
	struct select *select;
	struct suppressions *suppressions;
	struct report_families families;
	struct lookup lookup;		/* --block-list, --block-at */
	uint32_t round;			/* of the interim reports: for summary.round */
	uint64_t reported;		/* groups and double frees of the last report; not what is still reachable, nor objects that are older and lost references */
};

/* @path: NULL for stdout. 0 or -errno (said). reporting_close in any case. */
must_check int reporting_open(struct reporting *r, const struct options *opt, const char *path);
void reporting_close(struct reporting *r);

/* What @l adds up to, as the options want it. @out is initialised here; summary_fini in any case. 0 or -errno (said). */
must_check int reporting_summary(struct reporting *r, struct ledger *l, struct summary *out);

/* Print it, and the text @behind; the file appears under its name. 0 or -errno (said). */
must_check int reporting_print(struct reporting *r, const struct summary *s, const char *behind);

/* The same with text that is made already. */
must_check int reporting_print_text(struct reporting *r, const char *text, size_t n);

/* What the program ends with if all went well: that of --error-exitcode if something was reported. */
int reporting_status(const struct reporting *r);

#endif
