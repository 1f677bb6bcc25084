/* SPDX-License-Identifier: MIT */
/*
 * text_twice: double frees in the text report: the stacks of the second free, the first free, and the
 * allocation.
 */
#ifndef MM_TEXT_TWICE_H
#define MM_TEXT_TWICE_H

#include <stddef.h>

#include "base/strbuf.h"
#include "report/model/summary.h"

/* The first @top of them (0: all), and the number of the others. */
void text_twice(struct strbuf *sb, const struct summary *s, size_t top);

#endif
