/* SPDX-License-Identifier: MIT */
/*
 * text_objects: each object for itself (--per-object), in the sections that the SystemTap script for GlusterFS had,
 * so that who is used to reading these, or has scripts that do, finds them again:
 *
 *	ROUND : 0
 *	Net ref counts for each ptr :
 *	7f12a4003010 : 1
 *
 *	Ref Traces :
 *
 *	ptr : 7f12a4003010
 *	leaky_lookup [leaky.so+0x11a0]
 *	...
 *	------
 *
 *	Unref traces
 *	...
 *	-----------
 *
 * A stack that did it several times for an object is there once, with a line that says how often. Rounds are the
 * reports of --interval.
 */
#ifndef MM_TEXT_OBJECTS_H
#define MM_TEXT_OBJECTS_H

#include "base/strbuf.h"
#include "report/model/summary.h"

void text_objects(struct strbuf *sb, const struct summary *s);

#endif
