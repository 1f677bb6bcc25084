/* SPDX-License-Identifier: MIT */
/*
 * text_objects: each object by itself (--per-object), in the sections of the SystemTap script for GlusterFS,
 * for users who know its output or have scripts that read it:
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
 * A stack that acquired or released several references of an object is listed once, followed by a line with
 * their number. Rounds are the reports of --interval.
 */
#ifndef MM_TEXT_OBJECTS_H
#define MM_TEXT_OBJECTS_H

#include "base/strbuf.h"
#include "report/model/summary.h"

void text_objects(struct strbuf *sb, const struct summary *s);

#endif
