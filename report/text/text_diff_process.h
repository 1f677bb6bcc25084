/* SPDX-License-Identifier: MIT */
/*
 * text_diff_process: what a comparison of two watches of one process means, which is not what one of two
 * processes means: each watch knows only what was allocated while it ran.
 */
#ifndef MM_TEXT_DIFF_PROCESS_H
#define MM_TEXT_DIFF_PROCESS_H

#include "base/strbuf.h"
#include "report/diff/diff.h"

/* Nothing if they are of two processes. */
void text_diff_process(struct strbuf *sb, const struct diff *d);

#endif
