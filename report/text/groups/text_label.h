/* SPDX-License-Identifier: MIT */
/*
 * text_label: lines of the text report that begin with what they are about.
 *
 *	  command   /usr/bin/svc -x
 */
#ifndef MM_TEXT_LABEL_H
#define MM_TEXT_LABEL_H

#include "base/strbuf.h"

void text_label(struct strbuf *sb, const char *name);				/* begins a line: "  command   " */
void text_label_line(struct strbuf *sb, const char *name, const char *text);	/* all of it; the text may be the target's */

#endif
