/* SPDX-License-Identifier: MIT */
/*
 * text_parts: the text report is told family by family, each with the groups of its own and its own words for what
 * it counts. Where there is only one, nothing says so; where there are several, the numbers of their groups do:
 * "[fd 3]".
 */
#ifndef MM_TEXT_PARTS_H
#define MM_TEXT_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "report/model/summary.h"

struct text_part {
	struct summary_family family;
	bool several;		/* there are others besides */
	bool plain;		/* what it counts has no sizes: descriptors, objects */
	size_t first, n;	/* its groups, in summary.groups or in summary.refs */
};

/* How many there are, one at least; and one of them. @s is sorted. */
size_t text_parts(const struct summary *s);
void text_part(const struct summary *s, size_t i, struct text_part *out);

/* Is there a family of blocks? So it is where there are none at all. */
bool text_counts_blocks(const struct summary *s);

/* "[3]" or "[fd 3]"; @index from 0. How many characters that takes in a table: at least a few. */
void text_number(struct strbuf *sb, const struct text_part *part, size_t index);
size_t text_number_width(const struct text_part *part);

/* "12 blocks", "1 descriptor", "529 dict objects". */
void text_things(struct strbuf *sb, const struct text_part *part, uint64_t n);

#endif
