/* SPDX-License-Identifier: MIT */
/*
 * text_group: the details of a group of blocks in the text reports:
 *
 *	[1] 1.3 MiB (61%) in 670 blocks of 700 allocated here, 2s to 4m59s old
 *	    grows by 266 KiB/min                    |..::--==++**##%%@@|
 *	    #0 cache_insert (leaky_service+0x12a4) /src/leaky_service.c:52
 *
 * For a sampled run see report/text/groups/text_sampled.h.
 */
#ifndef MM_TEXT_GROUP_H
#define MM_TEXT_GROUP_H

#include <stddef.h>

#include "base/strbuf.h"
#include "report/model/summary.h"
#include "report/model/text_parts.h"

/* Group @index (from 0) of @part. */
void text_group(struct strbuf *sb, const struct summary *s, const struct text_part *part, size_t index);

#endif
