/* SPDX-License-Identifier: MIT */
/* text_process: one of the processes of a merged trace, by name; and where the blocks of a group are. */
#ifndef MM_TEXT_PROCESS_H
#define MM_TEXT_PROCESS_H

#include "base/strbuf.h"
#include "report/model/summary.h"

/* "leaky_service (21019) on web-1, pod=x" */
void text_process(struct strbuf *sb, const struct summary_process *p);

/*
 * "    in 3 of 5 processes, most in leaky_service (21019) on web-1: 84.3 KiB". Nothing if there are no
 * processes.
 */
void text_process_shares(struct strbuf *sb, const struct summary *s, const struct summary_group *g);

#endif
