/* SPDX-License-Identifier: MIT */
/* numbering: gives each text a number, from 0 in the order in which they come; the same text has the same one. */
#ifndef MM_NUMBERING_H
#define MM_NUMBERING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/addrmap.h"
#include "base/intern.h"
#include "base/strbuf.h"

struct numbering {
	struct intern texts;		/* texts.all[0 .. n) in the order of their numbers */
	struct addrmap numbers;		/* address of the text in the pool -> uint32_t */
	int err;			/* sticky; numbers are then 0 */
};

void numbering_init(struct numbering *n);
void numbering_fini(struct numbering *n);

/* @fresh, if not NULL, says whether it is new. @text may be NULL: "". */
uint32_t numbering_of(struct numbering *n, const char *text, bool *fresh);

/* Likewise, of what was appended to @sb, which is empty afterwards. */
uint32_t numbering_take(struct numbering *n, struct strbuf *sb, bool *fresh);

static inline uint32_t numbering_count(const struct numbering *n)
{
	return (uint32_t)n->texts.n;
}

#endif
