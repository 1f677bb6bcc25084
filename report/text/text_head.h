/* SPDX-License-Identifier: MIT */
/*
 * text_head: what was watched, how well, and what was missed: the last lines of the text report.
 *
 *	  command   /usr/bin/svc -x
 *	  events    1000 (100/s), none lost
 *	  ...
 */
#ifndef MM_TEXT_HEAD_H
#define MM_TEXT_HEAD_H

#include "base/strbuf.h"
#include "report/model/summary.h"

void text_head(struct strbuf *sb, const struct summary *s);

/* Single lines, for other reports that have them, too. */
/* "2026-11-21 01:46:28 +0000"; if @ns is 0, which means unknown, false and nothing is printed. */
bool text_head_time(struct strbuf *sb, int64_t ns);
void text_head_command(struct strbuf *sb, const struct summary_target *t);
/* No line if nothing is hidden. */
void text_head_hidden(struct strbuf *sb, const struct summary_hidden *h, const char *by);

#endif
