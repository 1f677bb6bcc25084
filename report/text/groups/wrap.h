/* SPDX-License-Identifier: MIT */
/*
 * wrap: lines that are too long for a terminal are continued below their text:
 *
 *	  note      family growth: the stack is that of the allocation for which memory had to be added:
 *	            over many growths it shows what fills it
 */
#ifndef MM_WRAP_H
#define MM_WRAP_H

#include <stddef.h>

#include "base/strbuf.h"

#define WRAP_WIDTH 100		/* of a report that is for no terminal */
#define WRAP_ROW_WIDTH 132	/* of the rows of its tables, which end with a name: less cuts names in the middle */
#define WRAP_INDENT 12		/* behind a label (report/text/groups/text_label.h) */

/*
 * Append @lines, which are safe to print. A line with more than @width characters is broken at blanks after
 * its first @indent characters, and continued behind so many blanks; a word that is longer than a line stays
 * whole. No line ends in a blank, each ends in a newline.
 */
void wrap(struct strbuf *sb, const struct strbuf *lines, size_t width, size_t indent);

/* The same for all lines of @sb from offset @from on, each continued a little behind its own beginning. */
void wrap_all(struct strbuf *sb, size_t from, size_t width);

#endif
