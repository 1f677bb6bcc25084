/* SPDX-License-Identifier: MIT */
/*
 * text_freed: which code freed blocks of a group's stack (report/groups/freed_by.h), most first; stacks that
 * free at the same place, for the same caller, are one line:
 *
 *	freed by
 *	  1990 conn_close preforkd.c:126 from conn_input preforkd.c:230
 *	    51 session_end sess.c:88 from worker sess.c:12
 */
#ifndef MM_TEXT_FREED_H
#define MM_TEXT_FREED_H

#include "base/strbuf.h"
#include "report/model/summary.h"

/* Nothing if the run does not record it, or if none was freed. */
void text_freed(struct strbuf *sb, const struct summary_group *g);

#endif
