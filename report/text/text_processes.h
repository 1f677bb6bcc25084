/* SPDX-License-Identifier: MIT */
/*
 * text_processes: the processes of a merged trace.
 *
 *	  processes 3, on 2 hosts; the worst:
 *	            84.3 KiB in 43 blocks, 80.0 KiB lost: leaky_service (21019) on web-1, pod=x
 */
#ifndef MM_TEXT_PROCESSES_H
#define MM_TEXT_PROCESSES_H

#include "base/strbuf.h"
#include "report/model/summary.h"

/* For the first line: "3 processes leaky_service". */
void text_processes_name(struct strbuf *sb, const struct summary *s);

/* The lines for the head: the worst ones, those without a trace, how many more. */
void text_processes_head(struct strbuf *sb, const struct summary *s);

/* A table of @top of them; 0: all. */
void text_processes_table(struct strbuf *sb, const struct summary *s, size_t top);

#endif
