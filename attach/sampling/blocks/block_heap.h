/* SPDX-License-Identifier: MIT */
/*
 * block_heap: what an allocator must answer about its blocks for a sampled watch: "is this block, which was
 * seen when it was given out, still in use?" It is asked from outside, while all threads run: glibc_heap.h,
 * jemalloc_heap.h, tcmalloc_heap.h.
 *
 *	born	a block was just given out: its size, and what is to be stored of it
 *	look	at many tracked blocks at once: a sign of each, and its first words
 *
 * A sign that a block is gone is something that only the allocator does. That it is in use is no sign that
 * it is the same: the words tell, or the next hit at its address (block_fate.h).
 */
#ifndef MM_BLOCK_HEAP_H
#define MM_BLOCK_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/sampling/blocks/remote_read.h"
#include "attach/sampling/blocks/tracked_block.h"
#include "base/cleanup.h"
#include "heap/glibc/chunkstate.h"

/* From BLOCK_FREED on it is gone. */
enum block_sign {
	BLOCK_UNSEEN,			/* nothing is known of it now */
	BLOCK_IN_USE,
	BLOCK_FREED,			/* free in a bin, or in its slab */
	BLOCK_RESIZED,			/* what is there has another size */
	BLOCK_JOINED,			/* a part of a larger free chunk */
	BLOCK_LINKED,			/* in a free list, or in a thread's cache */
	BLOCK_UNMAPPED,			/* its page was returned to the kernel */
	BLOCK_SIGNS,
};

#define BLOCK_LOOKS 256u	/* blocks that are looked at together */

/* A look at a tracked block. */
struct block_look {
	struct tracked_block *b;	/* valid during block_heap.look() */
	taddr addr;
	uint32_t age_ms;
	bool asked;			/* its heap was */
	/* set by the look: */
	enum block_sign sign;
	bool away;			/* BLOCK_UNSEEN, since its page is swapped out or could not be read */
	struct chunkstate now;		/* its words, if it is in use */
};

/* What a hit has read around a block when it was given out. */
struct block_hit {
	taddr addr;
	uint64_t head;			/* the word in front of it */
	uint64_t words[2];		/* its first ones */
	bool has_head, has_words;
	/* of a wrapper that keeps a header in front: what it returned, an address inside the block; else 0 */
	taddr inside;
};

/* A block that is to be tracked. */
struct block_birth {
	struct block_heap *heap;	/* must outlive the tracking */
	taddr addr;
	uint64_t bytes;			/* with the allocator's own; a multiple of 8 */
	uint64_t usable;		/* without */
	bool mapped;			/* it has a mapping of its own, if it is glibc's */
	uint32_t mark;			/* its heap's own */
	bool has_start;			/* the heap knows where it begins, from any address inside */
	struct chunkstate words;	/* when it was given out; none: not known */
};

struct block_heap {
	/* false: the block is none of this heap's. */
	bool (*born)(struct block_heap *h, const struct block_hit *hit, struct block_birth *out);
	/* Look at @n blocks of this heap, one to BLOCK_LOOKS. 0 or as remote_read_now(). */
	int (*look)(struct block_heap *h, struct remote_read *g, struct block_look *const *looks, size_t n);
	void (*free)(struct block_heap *h);
};

/* --- which are there --- */

struct block_heap_found {
	struct block_heap *heap;	/* the caller's to free */
	taddr data_lo, data_hi;		/* the data of the file that its allocator is in */
	char why[256];			/* one is there that cannot be asked: why not; "": none is */
};

/*
 * Look for an allocator in process @pid, which runs on. 0; -ENOENT: it is not there, or cannot be read as it is
 * now (`why`); -ENOTSUP: it is there, and cannot be asked (`why`); or another -errno.
 */
typedef int block_heap_open(pid_t pid, struct block_heap_found *out);

static inline void block_heap_free(struct block_heap *h)
{
	if (h)
		h->free(h);
}

#endif
