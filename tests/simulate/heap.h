/* SPDX-License-Identifier: MIT */
/*
 * heap: the simulated allocator, behind the two questions that a sampled watch asks (block_heap.h): what is a
 * block that was just given out, and what do looks at tracked ones show.
 *
 * Blocks of one size are a class. Its addresses go round: what is freed is given out again, to any spot that
 * allocates that size. Only allocations that are seen, as a trap is planted, happen one by one; what became of
 * an address by those that are not is drawn when somebody looks:
 *
 *	its block lives		its words
 *	freed, not given out	free: certainly gone
 *	given out again		to one of the class's spots, by their rates: in use with that one's words, or free
 *				again; if that block lives long, or for ever, it stays at that address
 *
 * A spot may have an heir: a part of the addresses that are freed there go to that one at once.
 */
#ifndef SIMULATE_HEAP_H
#define SIMULATE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/taddr.h"
#include "tests/simulate/spots.h"

/* @spots have @states; the watch begins at @begin_ns. */
void heap_begin(const struct spot *spots, const struct spot_state *states, size_t n, uint64_t begin_ns);
void heap_end(void);

/* From now on all that spot number @i allocates is seen; or none of it. */
void heap_see(size_t i, bool sees);

/* Spot number @i allocates now: its block's address. */
taddr heap_alloc(size_t i);

/* What a copy of the memory shows now: is there a block at @addr; and if so, does nothing point to it? */
bool heap_is_live(taddr addr, bool *lost);

#endif
