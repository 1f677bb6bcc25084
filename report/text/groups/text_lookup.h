/* SPDX-License-Identifier: MIT */
/*
 * text_lookup: answers about single blocks (report/query/lookup.h), as text. A group with all its blocks:
 *
 *	[2] 850 KiB (39%) in 1673 blocks of 1700 allocated here, 2s to 4m59s old
 *	    levelled off 4m10s ago                  |+%@@@@@@@@@@@@@@@@|
 *	    #0 session_open (leaky_service+0x1310) /src/leaky_service.c:42
 *
 *	                 address       bytes        age
 *	          0x55c0a31f42a0         520      4m59s
 *	    ...
 *	    and 1653 more, 840 KiB (--top 0 lists them all)
 *
 * and what is at an address:
 *
 *	0x55c0a31f42b0 lies 16 bytes inside a block of 520 bytes at 0x55c0a31f42a0, allocated 4m59s ago by:
 *	    #0 session_open (leaky_service+0x1310) /src/leaky_service.c:42
 *	    group [2]
 */
#ifndef MM_TEXT_LOOKUP_H
#define MM_TEXT_LOOKUP_H

#include <stddef.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/model/summary.h"

/* Append the answers of @s->lookup; the first @top of a list (0: all). 0 or -ENOMEM. */
must_check int text_lookup(const struct summary *s, size_t top, struct strbuf *sb);

#endif
