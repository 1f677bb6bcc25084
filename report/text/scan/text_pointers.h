/* SPDX-License-Identifier: MIT */
/*
 * text_pointers: what points at an address (--who-points-at), for people:
 *
 *	0x7f12a4003010 is the beginning of a block of 520 bytes, Session, definitely lost
 *	  block 0x7f12a4002aa0 (40 bytes, Node, indirectly lost) +16     points at its beginning
 *	  stack of thread 1236, sp+0x1a8                                 points 8 bytes inside
 *	  and 3 more pointers
 *
 * If it was a watch that was asked, each block has its group in the report: "[3] cache_insert".
 */
#ifndef MM_TEXT_POINTERS_H
#define MM_TEXT_POINTERS_H

#include <stddef.h>

#include "base/strbuf.h"
#include "report/model/scan.h"

/* At most @top pointers to each address (0: all that are listed). Each answer begins with a blank line. */
void text_pointers(struct strbuf *sb, const struct scan_report *r, size_t top);

#endif
