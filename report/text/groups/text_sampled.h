/* SPDX-License-Identifier: MIT */
/*
 * text_sampled: groups of a sampled run in the text report. No number is exact, so each has its bounds and
 * its basis:
 *
 *	[1] leaks about 1.2 MiB/min (921.0 KiB to 1.5 MiB)
 *	    allocates about 412/min (331 to 502), 3072 B each (3080 B of memory)
 *	    estimated from 120 calls that were seen, 2.9% of all; by now every one is seen
 *	    100% (96% to 100%) are still live after 1m, of 83 tracked blocks of that age
 *	[2] freed: half of it within 400ms
 *	    allocates about ...
 *	    none of 200 tracked blocks is still live after 10s
 *	    still live after: 3ms 98%, 100ms 81%, 1s 12%, 10s 0%
 */
#ifndef MM_TEXT_SAMPLED_H
#define MM_TEXT_SAMPLED_H

#include <stddef.h>

#include "base/strbuf.h"
#include "report/model/summary.h"
#include "report/model/text_parts.h"

/* The part of the first line of a report that is about the groups of a family. */
void text_sampled_answer(struct strbuf *sb, const struct summary *s, const struct text_part *part);

/* The lines of a group, from after its number to its stack. */
void text_sampled_group(struct strbuf *sb, const struct text_part *part, const struct summary_group *g);

/* What a group allocates a minute: for the sum over the groups without a row. */
double text_sampled_rate(const struct summary_group *g);
void text_sampled_more(struct strbuf *sb, double per_minute);

#endif
