/* SPDX-License-Identifier: MIT */
/*
 * oldmusl: the malloc of musl before 1.2.1 ("oldmalloc"), which a later musl can be built with. doc/musl-heap.md
 * has the layout.
 *
 *	region: | 1 | chunk | chunk | ... | 1 |		a chunk: the size of the one before, its own; bit 0: in use
 *	mapped: a block with a mapping of its own, whose size is even
 *	state ──▶ bins: lists of the free chunks
 *
 *	oldmusl_find.c		the state, in the data of libc.so or of a static program
 *	oldmusl_scan.c		where regions and mapped blocks begin
 *	oldmusl_region.c	from chunk to chunk
 *	oldmusl_census.c	the census of it, and the bins as its check
 *
 * Nothing leads to the regions, so all anonymous memory is looked at: one begins at a page, or at any multiple of 32
 * of a file's data, with words that fit together. Each size is there twice, and all free chunks must be as many as
 * the bins have: what was overlooked or overwritten is noticed. All that is read may have any value.
 */
#ifndef MM_OLDMUSL_H
#define MM_OLDMUSL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/census.h"
#include "heap/snapshot/snapshot.h"
#include "heap/snapshot/snapshot_cursor.h"

#define OLDMUSL_BINS 64u
#define OLDMUSL_STATE 1552u		/* bytes of it */
#define OLDMUSL_UNIT 32u		/* of a chunk's size */
#define OLDMUSL_HEAD 16u		/* the two sizes, before a block */
#define OLDMUSL_USED 1u

struct oldmusl {
	const struct snapshot *s;
	struct census *c;
	struct snapshot_cursor cursor;
	taddr at;			/* of the state */
	const struct mapping *file;	/* that it is in, or before */
	taddr data_lo, data_hi;		/* of that file's data */
	size_t at_work;			/* threads that may be inside malloc */
	size_t area_room;
	uint64_t free_chunks;		/* in the regions */
	uint64_t searched;		/* words, for chunks that are being split: no more than all */
};

/* The sizes at the beginning of a chunk. */
struct oldmusl_chunk {
	uint64_t before, size;		/* with OLDMUSL_USED */
};

static inline bool oldmusl_read(struct oldmusl *g, taddr at, struct oldmusl_chunk *out)
{
	return snapshot_cursor_word(&g->cursor, at, &out->before) &&
	       snapshot_cursor_word(&g->cursor, at + 8, &out->size);
}

static inline bool oldmusl_is_used(uint64_t size)
{
	return size & OLDMUSL_USED;
}

static inline uint64_t oldmusl_bytes(uint64_t size)
{
	return size & ~(uint64_t)OLDMUSL_USED;
}

/* --- oldmusl_find.c --- */

/* Find the state. 0 or -ENOENT. */
must_check int oldmusl_find(struct oldmusl *g);

/* The bin number @i: its sentinel, which is where its first chunk would be if it began there. */
static inline taddr oldmusl_sentinel(taddr state, unsigned i)
{
	return state + (taddr)24 * i;
}

/* --- oldmusl_region.c --- */

/* Can a region begin with the chunk at @first, which ends before @end? @whole: all of its chunks must fit. */
bool oldmusl_is_region(struct oldmusl *g, taddr first, taddr end, bool whole);

/* Take its blocks. @out is where it ends. 0 or -ENOMEM. */
must_check int oldmusl_take_region(struct oldmusl *g, taddr first, taddr end, taddr *out);

/* --- oldmusl_scan.c --- */

/* Take all regions and mapped blocks into the census. 0 or -ENOMEM. */
must_check int oldmusl_take_all(struct oldmusl *g);

/* [lo, hi) is memory of the arena, or of one mapped block. 0 or -ENOMEM. */
must_check int oldmusl_add_extent(struct oldmusl *g, taddr lo, taddr hi, uint32_t arena);

/* --- oldmusl_census.c --- */

/* As allocators.h wants it. */
must_check int oldmusl_census(const struct snapshot *s, struct census *c);

#endif
