/* SPDX-License-Identifier: MIT */
/*
 * text_head: what was watched, how well, and what was missed: the lines of the text report below its table.
 *
 *	  command   /usr/bin/svc -x
 *	  events    1000 (100/s), none lost
 *	  ...
 */
#ifndef MM_TEXT_HEAD_H
#define MM_TEXT_HEAD_H

#include "base/strbuf.h"
#include "report/summary.h"

void text_head(struct strbuf *sb, const struct summary *s);

#endif
