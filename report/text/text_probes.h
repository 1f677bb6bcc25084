/* SPDX-License-Identifier: MIT */
/*
 * text_probes: what was watched, in the text report's head: a line for each rule, with its number of hits.
 *
 *	       11113  ref dict_ref  in libglusterfs.so.0.0.1
 *	none counted  creat, dup3, eventfd, memfd_create (4 of family fd)
 *	           0  free my_free  NOT WATCHED: no such function in the target
 *
 * Rules of packs are written for many programs: what they say beyond the function's name is in the JSON
 * report, and so are those that were never called, unless no rule of their family was: then they share one
 * line. Rules that the user wrote are shown as written; the calls of scopes (--in) are not counted.
 */
#ifndef MM_TEXT_PROBES_H
#define MM_TEXT_PROBES_H

#include "base/strbuf.h"
#include "report/model/summary.h"

void text_probes(struct strbuf *sb, const struct summary *s);

#endif
