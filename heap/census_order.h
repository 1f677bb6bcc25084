/* SPDX-License-Identifier: MIT */
/*
 * census_order: blocks and areas of a census as its readers want them: sorted, and none overlapping. A
 * corrupt heap can have given any.
 */
#ifndef MM_CENSUS_ORDER_H
#define MM_CENSUS_ORDER_H

#include "heap/census.h"

/*
 * Sort them. Of two that overlap the one that begins first stays, of two at one address the larger one.
 * Returns where the first was that did not stay; 0: all did.
 */
taddr census_order(struct census *c);

#endif
