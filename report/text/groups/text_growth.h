/* SPDX-License-Identifier: MIT */
/*
 * text_growth: how a group grew, as the text report says it: a group that is still growing must look
 * different at a glance from one that was allocated once and stayed.
 *
 *	grows by 15.6 MiB/min                      |..::--==++**##%%@@|
 *	levelled off 40s ago                       |+%@@@@@@@@@@@@@@@@|
 */
#ifndef MM_TEXT_GROWTH_H
#define MM_TEXT_GROWTH_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "report/model/summary.h"

/* Is there a time in which something could grow? Imported files of other tools may have no times. */
bool text_timed(const struct summary *s);

/* The growth of something, and its unit. */
struct text_course {
	const struct growth *growth;
	const struct growth_point *series;
	size_t npoints;
	bool plain;		/* things; else bytes */
};

/* The course of bytes, at most so many characters between two bars: "|..::--==++|". @n is 1 at least. */
void text_spark(struct strbuf *sb, const struct growth_point *points, size_t n, size_t width);

/* A line of the details. */
void text_growth_line(struct strbuf *sb, const struct summary *s, const struct text_course *c);

#endif
