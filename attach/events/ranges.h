/* SPDX-License-Identifier: MIT */
/*
 * ranges: a map of address ranges, for memory that is mapped and unmapped in pieces of any length: a part of
 * a range may be removed, at its front, at its end or from its middle, and the rest keeps its properties.
 *
 *	|--- A ---|      |------ B ------|  |- C -|
 *	                      xxxxx			removed from B
 *	|--- A ---|      |-B-|     |- B -|  |- C -|
 *
 * Ranges never overlap and are never empty. They are sorted by address, some hundred in a leaf, with the
 * leaves in one array. There may be many: the arenas of glibc's threads grow by a page at a time, so that a
 * gigabyte of them makes a quarter of a million ranges, and the insertions are spread over all of them.
 *
 * Pure: what a range stands for is in tally_ranges.h.
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
	bool live;		/* live memory; else only addresses, reserved for later */
	uint32_t stack;		/* of a live range: the stack that allocated it */
	uint64_t birth_us;	/* of a live range: when it was allocated */
};

#define RANGES_LEAF 256

struct ranges_leaf;

struct ranges {
	struct ranges_leaf **leaves;
	size_t n, size;		/* leaves */
};

void ranges_init(struct ranges *r);
void ranges_fini(struct ranges *r);

/* The first range that overlaps [@lo, @hi), whole. false: there is none. */
bool ranges_first(const struct ranges *r, taddr lo, taddr hi, struct range *out);

/*
 * Remove the part in [@lo, @hi) from the first range that overlaps it; @was is that range as it was before.
 * 1; 0: no range overlaps; -ENOMEM: nothing is changed. To clear [@lo, @hi), repeat until it returns 0.
 */
must_check int ranges_remove(struct ranges *r, taddr lo, taddr hi, struct range *was);

/* Add @new, which is not empty. 0; -EEXIST: it overlaps another range; -ENOMEM. */
must_check int ranges_add(struct ranges *r, const struct range *new);

#endif
