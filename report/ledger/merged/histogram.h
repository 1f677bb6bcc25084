/* SPDX-License-Identifier: MIT */
/*
 * histogram: blocks that are in use, by size and by age. A bin reaches from a power of two, in bytes or
 * microseconds, to the next one.
 *
 *	bin	0	1	2	3	...	64
 *	from	0	1	2	4		2^63
 */
#ifndef MM_HISTOGRAM_H
#define MM_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_BINS 65

struct histogram_bin {
	uint64_t blocks, bytes;
};

struct histogram {
	struct histogram_bin bins[HISTOGRAM_BINS];
};

/* Add @blocks with @bytes; @value is what the bins are of: the size of one, or its age in microseconds. */
void histogram_add(struct histogram *h, uint64_t value, uint64_t blocks, uint64_t bytes);

void histogram_merge(struct histogram *to, const struct histogram *from);

/* Where a bin begins. */
uint64_t histogram_from(unsigned bin);

#endif
