/* SPDX-License-Identifier: MIT */
/*
 * tally_refs: references acquired and released. If the rule has an expression for the object's count, that
 * count is authoritative: read at the entry it is the count before the call, read at the return the count
 * after it.
 */
#ifndef MM_TALLY_REFS_H
#define MM_TALLY_REFS_H

#include "attach/events/tallied.h"

void tally_ref(struct tally *t, const struct tallied *x);

#endif
