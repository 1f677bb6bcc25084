/* SPDX-License-Identifier: MIT */
/*
 * wrap: lines that are too long for a terminal go on below what they are about:
 *
 *	  note      family growth: whose stack it is met the end of what memory there was: over many growths that points
 *	            at what fills it
 */
#ifndef MM_WRAP_H
#define MM_WRAP_H

#include <stddef.h>

#include "base/strbuf.h"

#define WRAP_WIDTH 100
#define WRAP_INDENT 12		/* behind a label (report/text/groups/text_label.h) */

/*
 * Append @lines, which are safe to print. One with more than @width characters is broken at blanks behind its
 * first @indent characters, and goes on behind so many blanks; a word that is longer than a line stays whole.
 * No line ends in a blank, each ends in a newline.
 */
void wrap(struct strbuf *sb, const struct strbuf *lines, size_t width, size_t indent);

#endif
