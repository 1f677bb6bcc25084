/* SPDX-License-Identifier: MIT */
/* session_report: the report of a watch, and the interim ones. */
#ifndef MM_SESSION_REPORT_H
#define MM_SESSION_REPORT_H

#include <stdint.h>

#include "base/cleanup.h"

struct session;

/*
 * Finds out first what cannot be written, or is no valid expression. 0 or -errno (logged). Call
 * session_report_close in any case.
 */
must_check int session_report_open(struct session *s);
void session_report_close(struct session *s);

/*
 * The callback interim.report, with the session. It runs in a copy of ourselves, so nothing that it does
 * reaches the watch.
 */
int session_report_interim(void *ctx, uint32_t round);

/* The final report. 0 or -errno (logged). */
must_check int session_report_print(struct session *s);

/* The program's exit status if all went well. */
int session_report_status(const struct session *s);

#endif
