/* SPDX-License-Identifier: MIT */
/* session_report: the report of a watch, and the interim ones. */
#ifndef MM_SESSION_REPORT_H
#define MM_SESSION_REPORT_H

#include <stdint.h>

#include "base/cleanup.h"

struct session;

/* What cannot be written, or is no expression, is known before anything else is done. 0 or -errno (said). session_report_close in any case. */
must_check int session_report_open(struct session *s);
void session_report_close(struct session *s);

/* interim.report, with the session: in a copy of ourselves, so nothing that is done here reaches the watch. */
int session_report_interim(void *ctx, uint32_t round);

/* The last one. 0 or -errno (said). */
must_check int session_report_print(struct session *s);

/* What the program ends with if all went well. */
int session_report_status(const struct session *s);

#endif
