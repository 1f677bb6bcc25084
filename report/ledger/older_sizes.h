/* SPDX-License-Identifier: MIT */
/*
 * older_sizes: frees of blocks that are older than the watch, by the size of the block, over time. What they make
 * free, other blocks of the same size may take: growth that only replaces older blocks is none.
 *
 * The size of an older block is what the allocator gives: of glibc's 24, 40, 56 ...; of others a class as 16, 32, 48
 * ... 128, 160, 192 ... That of a block which was seen may be what was requested: it is of the next class above it.
 * Up to 1 KiB each multiple of 8 is kept, from there on an eighth of the next power of two: some 600 at most.
 */
#ifndef MM_OLDER_SIZES_H
#define MM_OLDER_SIZES_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "report/ledger/series.h"

struct older_size {
	uint64_t size;			/* of one of them; the largest of its class */
	uint64_t blocks, bytes;		/* freed until now */
	struct series series;		/* the bytes over time */
};

/* All zero: none. */
struct older_sizes {
	struct older_size *all;		/* those that were freed, in the order of their classes */
	size_t n, room;
};

void older_sizes_fini(struct older_sizes *s);

/*
 * It is @now_us, and @blocks of @size were freed, @bytes in all; with @n points of @span_us each, as series_add
 * has them, if they were freed earlier. 0, -ENOMEM, or -EINVAL of the points.
 */
struct older_freed {
	uint64_t size, blocks, bytes;
	uint64_t span_us;
	const uint64_t *points;
	uint32_t n;
};
must_check int older_sizes_add(struct older_sizes *s, uint64_t now_us, const struct older_freed *freed);

/* Advance all series to @now_us. 0 or -ENOMEM. */
must_check int older_sizes_pass(struct older_sizes *s, uint64_t now_us);

/* The index of the class to which a block belongs whose size, or request, is @size; SIZE_MAX: none of it was freed. */
size_t older_sizes_find(const struct older_sizes *s, uint64_t size);

/* Of all classes together. */
uint64_t older_sizes_blocks(const struct older_sizes *s);

size_t older_sizes_memory(const struct older_sizes *s);

#endif
