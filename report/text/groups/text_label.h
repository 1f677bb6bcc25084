/* SPDX-License-Identifier: MIT */
/*
 * text_label: lines of the text report that begin with a label.
 *
 *	  command   /usr/bin/svc -x
 */
#ifndef MM_TEXT_LABEL_H
#define MM_TEXT_LABEL_H

#include "base/strbuf.h"

void text_label(struct strbuf *sb, const char *name);	/* begins a line: "  command   " */
/* The whole line; @text may come from the target. */
void text_label_line(struct strbuf *sb, const char *name, const char *text);

#endif
