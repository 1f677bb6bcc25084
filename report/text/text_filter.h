/* SPDX-License-Identifier: MIT */
/*
 * text_filter: which part of what is live a report shows, if options leave out some:
 *
 *	shown below, by --focus cache_insert: 1.1 MiB of 1.9 MiB; the totals above count everything
 */
#ifndef MM_TEXT_FILTER_H
#define MM_TEXT_FILTER_H

#include "base/strbuf.h"
#include "report/model/summary.h"

/* Nothing without such options, or if they leave out everything: an empty report names them itself. */
void text_filter(struct strbuf *sb, const struct summary *s);

/* The same of a difference, with the options of one of its sides. */
void text_filter_diff(struct strbuf *sb, const struct summary *s);

#endif
