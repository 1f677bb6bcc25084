/* SPDX-License-Identifier: MIT */
/*
 * many_report: the report of several watches, made of their traces when all have ended.
 */
#ifndef MM_MANY_REPORT_H
#define MM_MANY_REPORT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/reporting/reporting.h"
#include "base/cleanup.h"

struct folder;
struct members;

/* A process that was chosen, and could not be watched. */
struct many_refused {
	pid_t pid;
	char *comm, *why;
};

struct many_report {
	const struct options *opt;
	struct reporting reporting;
	struct many_refused *refused;
	size_t nrefused, room;
};

/*
 * Before the watch, so that a file that cannot be written is found then. 0 or -errno (logged).
 * many_report_close in any case.
 */
must_check int many_report_open(struct many_report *r, const struct options *opt);
void many_report_close(struct many_report *r);

/* Can the trace of all be written to @path, as far as can be seen before the watch? 0 or -errno (logged). */
must_check int many_report_check_output(const char *path);

/* A process without a watch. Strings are copied. 0 or -ENOMEM. */
must_check int many_report_refused(struct many_report *r, pid_t pid, const char *comm, const char *why);

/*
 * The report, and with -o FILE the trace of all. @brief: processes that had ended before they were attached
 * to. The exit status.
 */
must_check int many_report_print(struct many_report *r, const struct members *m, const struct folder *f,
				 uint64_t brief);

/* No process was watched: say why. The exit status. */
must_check int many_report_none(const struct many_report *r, uint64_t brief);

#endif
