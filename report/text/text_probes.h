/* SPDX-License-Identifier: MIT */
/*
 * text_probes: what was watched, in the text report's head: a line for each rule, and how often it was met.
 *
 *	       11113  ref dict_ref  in libglusterfs.so.0.0.1
 *	never called  creat, dup3, eventfd, memfd_create (4 of family fd)
 *	           0  free my_free  NOT WATCHED: no such function in the target
 *
 * Rules of packs are written for many programs: what they say beyond the function's name is in the JSON report, and
 * those of a family that saw nothing are one line, if they are more than a few. What the user wrote is shown as it is.
 */
#ifndef MM_TEXT_PROBES_H
#define MM_TEXT_PROBES_H

#include "base/strbuf.h"
#include "report/model/summary.h"

void text_probes(struct strbuf *sb, const struct summary *s);

#endif
