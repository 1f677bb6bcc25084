/* SPDX-License-Identifier: MIT */
/* block: memory that an allocator has given out: what the census lists and the flood judges. Sorted by address, none overlaps. */
#ifndef MM_BLOCK_H
#define MM_BLOCK_H

#include <stdint.h>

#include "base/taddr.h"

struct block {
	taddr addr;	/* what malloc returned */
	uint64_t size;	/* usable bytes, as malloc_usable_size says */
};

#endif
