/* SPDX-License-Identifier: MIT */
/* trace_report: the report of traces, and the interim reports of one that is still being written. */
#ifndef MM_TRACE_REPORT_H
#define MM_TRACE_REPORT_H

#include "attach/reporting/reporting.h"
#include "base/cleanup.h"
#include "report/tracefiles/follow.h"

/* What these traces, pieces of one run, add up to. @out is initialised here. 0 or -errno (logged). */
must_check int trace_report_summary(const struct options *opt, struct reporting *reporting,
				    const char *const *paths, size_t n, struct summary *out);

/* The same of a ledger that was read already. */
must_check int trace_report_of_ledger(const struct options *opt, struct reporting *reporting, struct ledger *l,
				      struct summary *out);

/* Print their report. The exit status. */
int trace_report(const struct options *opt, const char *const *paths, size_t n);

/*
 * Follow @f, and print an interim report whenever opt->interval_ns (or ten seconds) have passed and something
 * came, if the format is for people. Until the trace is written no more, or a signal asks for the end
 * (base/endsignals.h). 0 or -errno (logged).
 */
must_check int trace_report_follow(const struct options *opt, struct follow *f);

/* Print the report of what was followed, as trace_report does. The exit status. */
int trace_report_followed(const struct options *opt, const struct follow *f);

#endif
