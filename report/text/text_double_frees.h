/* SPDX-License-Identifier: MIT */
/*
 * text_double_frees: blocks that were freed twice, in the text report: by the second call, by the first one,
 * and what had allocated them.
 */
#ifndef MM_TEXT_DOUBLE_FREES_H
#define MM_TEXT_DOUBLE_FREES_H

#include <stddef.h>

#include "base/strbuf.h"
#include "report/model/summary.h"

/* The first @top of them (0: all), and the number of the others. */
void text_double_frees(struct strbuf *sb, const struct summary *s, size_t top);

#endif
