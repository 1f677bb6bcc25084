/* SPDX-License-Identifier: MIT */
/*
 * reporting: from a ledger to the report that the options ask for, on stdout or in a file.
 *
 * It is opened before anything else is done, so that a file that cannot be written, or a bad regular
 * expression or suppression, is found then, and not after eight hours.
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
	/*
	 * Nothing is watched any more, and nothing else uses the terminal: a pager may show the text, for as
	 * long as its user reads. Not set when opened.
	 */
	bool is_last;
	uint32_t round;			/* of the interim reports: for summary.round */
	/*
	 * Groups, references and double frees of the last report that count for --error-exitcode: not what is
	 * still reachable, nor older objects that lost references. And 1 if functions that allocate could not be
	 * watched.
	 */
	uint64_t reported;
};

/* @path: NULL for stdout. 0 or -errno (logged). Call reporting_close in any case. */
must_check int reporting_open(struct reporting *r, const struct options *opt, const char *path);
void reporting_close(struct reporting *r);

/*
 * Does the report have colors? Not in a file; else as --color says; with auto, on a terminal that has colors.
 */
bool reporting_color(const struct reporting *r);

/* The width of the terminal that the report goes to; 0: none, or the terminal is as wide as a report gets. */
unsigned reporting_columns(const struct reporting *r);

/*
 * Look up in which groups these @addrs are, too: after reporting_summary, r->lookup has the answers. The
 * report is printed all the same. @addrs must outlive @r.
 */
void reporting_look_up(struct reporting *r, const taddr *addrs, size_t n);

/*
 * What @l adds up to, as the options want it. @out is initialised here; summary_fini in any case. 0 or -errno
 * (logged).
 */
must_check int reporting_summary(struct reporting *r, struct ledger *l, struct summary *out);

/* Set s->filters, for a summary that was made otherwise. */
void reporting_name_filters(const struct reporting *r, struct summary *s);

/* Write the file of --metrics, if it is wanted. 0 or -errno (logged). */
must_check int reporting_metrics(const struct reporting *r, const struct summary *s);
/* Can it be written, as far as can be seen before the watch? 0 or -errno (logged). */
must_check int reporting_check_metrics(const char *path);

/* Print it, followed by the text @behind; then the file appears under its name. 0 or -errno (logged). */
must_check int reporting_print(struct reporting *r, const struct summary *s, const char *behind);

/* The same with finished text. */
must_check int reporting_print_text(struct reporting *r, const char *text, size_t n);

/*
 * The exit status if all went well: that of --error-exitcode if a leak or double free was reported, or not all that
 * allocates was watched.
 */
int reporting_status(const struct reporting *r);

#endif
