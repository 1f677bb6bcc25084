/* SPDX-License-Identifier: MIT */
/*
 * mimalloc: mimalloc 2.0.9 to 2.1.2 in memory. doc/mimalloc-heap.md has the layout.
 *
 *	segment (32 MiB, at a multiple of that): slices of 64 KiB ──▶ pages: blocks of one size
 *	                                                               │ free, local_free, thread_free: lists
 *	                                                               ▼
 *	                                                              heap (of a thread): thread_delayed_free
 *
 *	mimalloc_find.c		the segments, and the main heap, which has the cookie of all segments
 *	mimalloc_pages.c	the pages of the segments
 *	mimalloc_lists.c	which blocks are free: those in any list
 *	mimalloc_taken.c	lists that a thread has taken, and that only its registers and stack lead to
 *	mimalloc_census.c	the census of it
 *	mimalloc_map.c		the same for one block, while all threads run
 *
 * A block has no head: it is in use if its page has given it out, and no list has it. All that is read may
 * have any value.
 */
#ifndef MM_MIMALLOC_H
#define MM_MIMALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/census.h"
#include "heap/snapshot/snapshot.h"
#include "heap/snapshot/snapshot_cursor.h"

#define MIMALLOC_SEGMENT (UINT64_C(32) << 20)
#define MIMALLOC_SLICE (UINT64_C(64) << 10)
#define MIMALLOC_SLICES 512u

/* Of a segment, as read. */
struct mimalloc_segment {
	taddr at;
	uint64_t cookie, used, slices, info_slices, kind, entries, thread;
	bool plausible;			/* all but the cookie is as a segment has it */
};

/* What is known of where the blocks of a page of small ones begin, by version. */
enum mimalloc_start { MIMALLOC_384, MIMALLOC_BY_SIZE, MIMALLOC_STARTS };

#define MIMALLOC_DELAYED 2u
struct mimalloc_page {
	taddr at, start;
	uint64_t block;			/* bytes */
	uint32_t capacity, reserved;	/* blocks that were ever in a list; that there can be */
	uint32_t used;			/* by its own count, with those that other threads have freed */
	uint32_t mine, foreign;		/* in the lists of its thread; in those for other threads */
	uint32_t delayed;		/* of the latter: in the list of its heap */
	unsigned flag;			/* enum of its own: MIMALLOC_DELAYED: one is in its heap's list */
	taddr heap, free, local, thread;
	uint64_t bit;			/* of its first block */
	uint64_t owner;			/* of the segment: a thread's fs_base; 0: none */
	bool aligned;			/* memalign has given out addresses inside of its blocks */
};

struct mimalloc {
	const struct snapshot *s;
	struct census *c;
	struct snapshot_cursor cursor;
	uint64_t cookie;		/* of a segment at 0 */
	taddr heap;			/* the main one */
	const struct mapping *file;	/* of mimalloc's code */
	bool own_file;			/* a library, not the program itself */
	size_t at_work;
	struct mimalloc_segment *segments;
	size_t nsegments;
	struct mimalloc_page *pages;	/* sorted by start */
	size_t npages;
	uint64_t *bits;			/* a bit for each block of each page: it is in a list */
	uint64_t nbits;
	size_t area_room;
};

/* --- mimalloc.c, which calls none of the others --- */

/* Something is inconsistent. The first problem is stored, all are counted. */
__attribute__((format(printf, 3, 4)))
void mimalloc_problem(struct mimalloc *g, taddr at, const char *what, ...);

static inline bool mimalloc_word(struct mimalloc *g, taddr at, uint64_t *out)
{
	return snapshot_cursor_word(&g->cursor, at, out);
}

static inline bool mimalloc_is_free(const struct mimalloc *g, const struct mimalloc_page *p, uint64_t i)
{
	return g->bits[(p->bit + i) / 64] >> (p->bit + i) % 64 & 1;
}

/* false: it was marked before. */
static inline bool mimalloc_mark_free(struct mimalloc *g, const struct mimalloc_page *p, uint64_t i)
{
	const uint64_t bit = p->bit + i, mask = UINT64_C(1) << bit % 64;

	if (g->bits[bit / 64] & mask)
		return false;
	g->bits[bit / 64] |= mask;
	return true;
}

/* The page that has a block that begins at @at, and the block's number; NULL: none. */
struct mimalloc_page *mimalloc_page_of(struct mimalloc *g, taddr at, uint64_t *i);

/* --- mimalloc_find.c --- */

/* 0; -ENOENT: it is not there; -ENOMEM. */
must_check int mimalloc_find(struct mimalloc *g);

/* --- mimalloc_pages.c --- */

/* In a segment: its slices, each of so many bytes. The first of a page describes that. */
#define MIMALLOC_PAGES_AT 264u
#define MIMALLOC_PAGE_BYTES 80u
/* The size of a huge block: it is that of its slices. */
#define MIMALLOC_HUGE 0x80000000u

struct mimalloc_slice {
	uint32_t count, offset, block, used;
	taddr free;
	uint16_t capacity, reserved;
	bool aligned;
};

/* What its first words say. They may have any value. */
struct mimalloc_slice mimalloc_slice_of(const uint64_t words[4]);

/* 0 or -ENOMEM. */
must_check int mimalloc_read_pages(struct mimalloc *g);

/* --- mimalloc_lists.c --- */

#define MIMALLOC_DELAYED_IN_HEAP 2840u

/* Mark all blocks that are in lists. 0 or -ENOMEM. */
must_check int mimalloc_mark(struct mimalloc *g);

/* --- mimalloc_taken.c --- */

/* How many threads may be inside mimalloc. */
size_t mimalloc_threads_inside(const struct mimalloc *g);

/*
 * Lists that a thread has taken, and is freeing: blocks that are certainly in one are marked. What may be
 * such a list, or lacks, counts in `unsure`.
 */
void mimalloc_look_for_taken(struct mimalloc *g);

/* --- mimalloc_census.c --- */

/* As allocators.h wants it. */
must_check int mimalloc_census(const struct snapshot *s, struct census *c);

#endif
