/* SPDX-License-Identifier: MIT */
/*
 * text_parts: the text report has a part for each family, with its own groups and its own nouns for what it
 * counts. If there are several families, the numbers of their groups name them: "[fd 3]". If there is only
 * one, nothing names it.
 */
#ifndef MM_TEXT_PARTS_H
#define MM_TEXT_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "report/model/summary.h"

struct text_part {
	struct summary_family family;
	bool several;		/* there are other parts */
	bool plain;		/* what it counts has no sizes: descriptors, objects */
	size_t first, n;	/* its groups, in summary.groups or in summary.refs */
};

/* Is it of things that are not memory: descriptors, objects? Their sizes mean nothing. */
bool text_family_is_plain(const struct summary_family *f);

/* How many parts there are, at least one; and one of them. @s is sorted. */
size_t text_parts(const struct summary *s);
void text_part(const struct summary *s, size_t i, struct text_part *out);

/* Is there a family of blocks? Also true if there are no families. */
bool text_counts_blocks(const struct summary *s);

/* "[3]" or "[fd 3]"; @index from 0. The width of that in a table, in characters: at least a few. */
void text_number(struct strbuf *sb, const struct text_part *part, size_t index);
size_t text_number_width(const struct text_part *part);

/* "12 blocks", "1 descriptor", "529 dict objects". */
void text_things(struct strbuf *sb, const struct text_part *part, uint64_t n);

#endif
