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
#include "report/text/groups/holders.h"

/* The groups of a part, and what is found out once for all of them. */
struct text_groups {
	const struct summary *summary;
	const struct text_part *part;
	struct holders holders;
	/* The first group of which it would help to know which code freed its blocks; NULL: none. */
	const struct summary_group *unexplained;
};

/* @s and @part must outlive it. 0 or -ENOMEM; text_groups_fini in any case. */
must_check int text_groups_make(const struct summary *s, const struct text_part *part, struct text_groups *gs);
void text_groups_fini(struct text_groups *gs);

/* Group @index (from 0) of the part. */
void text_group(struct strbuf *sb, const struct text_groups *gs, size_t index);

#endif
