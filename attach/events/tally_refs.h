/* SPDX-License-Identifier: MIT */
/*
 * tally_refs: references taken and dropped. Where the rule says where the object keeps its count, that is the truth: read at
 * the entry it is the count before the call, read at the return the count after it.
 */
#ifndef MM_TALLY_REFS_H
#define MM_TALLY_REFS_H

#include "attach/events/tallied.h"

void tally_ref(struct tally *t, const struct tallied *x);

#endif
