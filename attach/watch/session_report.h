/* SPDX-License-Identifier: MIT */
/* session_report: the report of a watch, and the interim ones. */
#ifndef MM_SESSION_REPORT_H
#define MM_SESSION_REPORT_H

#include <stdint.h>

#include "base/cleanup.h"

struct session;

/*
 * Open outputs and parse expressions before the watch begins, so that errors are found then. 0 or -errno
 * (logged). Call session_report_close in any case.
 */
must_check int session_report_open(struct session *s);
void session_report_close(struct session *s);

/*
 * The callback interim.report, with the session. It runs in a copy of ourselves, so it changes nothing of the
 * watch.
 */
int session_report_interim(void *ctx, uint32_t round);

/* The callback metrics.report, likewise: it writes the file of --metrics. */
int session_report_metrics(void *ctx, uint32_t round);

/* The final report. 0 or -errno (logged). */
must_check int session_report_print(struct session *s);

/* The exit status that the report has, if there was no error. */
int session_report_status(const struct session *s);

#endif
