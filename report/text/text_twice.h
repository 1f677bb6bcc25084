/* SPDX-License-Identifier: MIT */
/* text_twice: blocks that were released twice, in the text report: who did it again, who had done it, whose block it was. */
#ifndef MM_TEXT_TWICE_H
#define MM_TEXT_TWICE_H

#include <stddef.h>

#include "base/strbuf.h"
#include "report/model/summary.h"

/* The first @top of them (0: all), and how many there are besides. */
void text_twice(struct strbuf *sb, const struct summary *s, size_t top);

#endif
