/* SPDX-License-Identifier: MIT */
/*
 * text_may_leak: below the first line of a sampled run's report: of the first groups of which it is not known
 * whether they leak, which function that is, how much it may be, and what would show it.
 *
 *	[4] cache_page svc.c:70 may leak: it allocates about 2.9 MiB/min (2.3 MiB to 3.4 MiB) that is not
 *	    freed within 10s; to be certain, watch for longer than its blocks are meant to live
 *	[5] rare svc.c:81 may leak at most 812 B/min; a watch of about 40m would show whether it leaks
 */
#ifndef MM_TEXT_MAY_LEAK_H
#define MM_TEXT_MAY_LEAK_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "report/model/summary.h"
#include "report/model/text_parts.h"

/* @explained: it is known which groups lose what the process loses: others are asked for only if pointed to. */
void text_may_leak(struct strbuf *sb, const struct summary *s, const struct text_part *part, bool explained);

#endif
