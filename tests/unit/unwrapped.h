/* SPDX-License-Identifier: MIT */
/*
 * unwrapped: the lines of an account as they were before they were wrapped (report/text/groups/wrap.h), so that a
 * test can look for sentences.
 */
#ifndef UNWRAPPED_H
#define UNWRAPPED_H

#include <string.h>

#include "report/text/groups/wrap.h"

/* Join lines in place: one that begins at the column of the text is the continuation of the line before. */
static inline void unwrap(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		const size_t blanks = *from == '\n' ? strspn(from + 1, " ") : 0;

		*to++ = *from;
		if (blanks != WRAP_INDENT)
			continue;
		to[-1] = ' ';
		from += WRAP_INDENT;
	}
	*to = '\0';
}

#endif
