/* SPDX-License-Identifier: MIT */
/*
 * text_memory: the kernel's figures for the process's memory, beside what was watched, and for its children,
 * which are not watched.
 *
 *	resident memory grew by 1.8 MiB meanwhile; live blocks explain 3% of that: see memory at ...
 *
 *	It has 8 child processes, which were not watched (2 more ended meanwhile):
 *
 *	      pid        RSS      growth  process
 *	     1240   32.1 MiB    +3.2 MiB  nginx: worker process
 *	  to watch the one that grew most: mmattach -p 1240 -d 10s
 *
 *	  memory    RSS 14.1 MiB: anonymous +1.7 MiB, files +100 KiB; live blocks explain
 *	            60.0 KiB of the growth (3.5%)
 *	            the rest, 1.6 MiB: pages used for the first time, or mappings that are not malloc's
 *	            (mmattach --growth -p 1234 shows whose)
 *	  runtime   CPython: ...
 *	  children  8, not watched; 1240 grew most, by 3.2 MiB (mmattach -p 1240)
 */
#ifndef MM_TEXT_MEMORY_H
#define MM_TEXT_MEMORY_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "report/model/summary.h"

/*
 * Below the answer: that the process grew by something that was not watched; and, as a part of its own, the
 * children, if they matter more.
 */
void text_memory_answer(struct strbuf *sb, const struct summary *s);
void text_memory_children(struct strbuf *sb, const struct summary *s);

/* Has a child grown that still exists? */
bool text_memory_children_grow(const struct summary *s);

/* The lines for the head. */
void text_memory_head(struct strbuf *sb, const struct summary *s);

#endif
