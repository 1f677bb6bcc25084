/* SPDX-License-Identifier: MIT */
/*
 * ranges: which addresses are whose, where memory comes and goes in pieces of any length: of a range a part may be taken
 * out, at its front, at its end or from its middle, and what is left stays what it was.
 *
 *	|--- A ---|      |------ B ------|  |- C -|
 *	                      xxxxx			taken out of B
 *	|--- A ---|      |-B-|     |- B -|  |- C -|
 *
 * Ranges never overlap and are never empty. They are kept in the order of addresses, some hundred in a leaf, and the leaves in one
 * array: there may be many, for the arenas of glibc's threads grow by a page at a time, a gigabyte of them by a quarter of a million
 * ranges, and each in the midst of the others'.
 *
 * Pure: what the ranges mean is tally_ranges' business.
 */
#ifndef MM_RANGES_H
#define MM_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/taddr.h"

struct range {
	taddr lo, hi;
	bool held;		/* memory of somebody's; else only addresses, set apart for later */
	uint32_t stack;		/* of one that is held: who took it */
	uint64_t birth_us;	/* likewise: when */
};

#define RANGES_LEAF 256

struct ranges_leaf;

struct ranges {
	struct ranges_leaf **leaves;
	size_t n, size;		/* leaves */
};

void ranges_init(struct ranges *r);
void ranges_fini(struct ranges *r);

/* The first range of which a part lies in [@lo, @hi), whole. false: there is none. */
bool ranges_first(const struct ranges *r, taddr lo, taddr hi, struct range *out);

/*
 * Take what lies in [@lo, @hi) out of the first range of which a part does; that range, as it was, is @was. 1; 0: there is
 * none; -ENOMEM: all is as before. To clear [@lo, @hi) take until there is none.
 */
must_check int ranges_take(struct ranges *r, taddr lo, taddr hi, struct range *was);

/* Add @new, which is not empty, where nothing is. 0; -EEXIST: something is there; -ENOMEM. */
must_check int ranges_add(struct ranges *r, const struct range *new);

#endif
