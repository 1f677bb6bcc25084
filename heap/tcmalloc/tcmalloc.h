/* SPDX-License-Identifier: MIT */
/*
 * tcmalloc: tcmalloc of gperftools, 2.8 and later, in memory. doc/tcmalloc-heap.md has the layout.
 *
 *	page map ──▶ spans: pages that are one large block, or blocks of one size class, or free
 *	              │ objects: free blocks
 *	central lists, one for each class: chains of free blocks (the transfer cache)
 *	thread caches: a list of free blocks for each class
 *
 *	tcmalloc_find.c		the table of size classes, the central lists, the page map, the thread caches
 *	tcmalloc_spans.c	all spans, by address, and the memory of tcmalloc's own structs
 *	tcmalloc_lists.c	which blocks are free: those in any list
 *	tcmalloc_hand.c		chains that a thread is moving, and that only its registers and stack lead to
 *	tcmalloc_census.c	the census of it
 *	tcmalloc_map.c		the same for one block, while all threads run
 *
 * A block has no head: it is in use if its span has it, and no list does. All that is read may have any
 * value.
 */
#ifndef MM_TCMALLOC_H
#define MM_TCMALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "heap/census.h"
#include "heap/snapshot/snapshot.h"
#include "heap/snapshot/snapshot_cursor.h"

#define TCMALLOC_CLASSES 128u

/* What differs between versions. */
struct tcmalloc_version {
	const char *name;
	uint16_t classes;		/* in the table of size classes: their number */
	uint16_t thread;		/* in a thread cache: its thread's pthread_t; 0: it has none */
	uint16_t next, prev;		/* in a thread cache: links to others */
};

struct tcmalloc_class {
	uint64_t size, pages;
	uint32_t batch;			/* blocks of a chain that is moved at once */
};

struct tcmalloc_span {
	taddr at, lo;
	uint64_t bytes;
	taddr objects;
	uint32_t used;			/* of a class: blocks that are not in `objects` */
	uint32_t blocks;		/* that it has; of a large one 1 */
	uint8_t class;			/* 0: one large block */
	uint8_t place;			/* 0: in use; 1, 2: free */
	bool sampled;
	uint64_t bit;			/* of its first block */
};

struct tcmalloc_cache {
	taddr at, thread;		/* the thread's pthread_t, which is its fs_base */
	bool lacks;			/* it counts more than it has: see tcmalloc_hand.c */
};

struct tcmalloc {
	const struct snapshot *s;
	struct census *c;
	struct snapshot_cursor cursor;
	const struct mapping *file;	/* of tcmalloc's code: a library or the program */
	taddr data_lo, data_hi;		/* its data */
	const struct tcmalloc_version *version;
	struct tcmalloc_class classes[TCMALLOC_CLASSES];
	unsigned nclasses, page_shift;
	taddr central, root;		/* of the first class's list; of the page map */
	taddr caches_at;		/* where the address of a thread cache is */
	struct tcmalloc_cache *caches;
	size_t ncaches;
	size_t at_work;			/* threads that may be inside */
	struct tcmalloc_span *spans;	/* sorted */
	size_t nspans, span_room;
	struct snapshot_range *metas;	/* memory of tcmalloc's own structs */
	size_t nmetas, meta_room;
	size_t last;			/* of spans: the one that was found last */
	uint64_t *bits;			/* a bit for each block of each span: it is in a list */
	uint64_t nbits;
	size_t area_room;
	bool no_memory;
};

/* --- tcmalloc.c, which calls none of the others --- */

/* Something is inconsistent. The first problem is stored, all are counted. */
__attribute__((format(printf, 3, 4)))
void tcmalloc_problem(struct tcmalloc *g, taddr at, const char *what, ...);

static inline bool tcmalloc_word(struct tcmalloc *g, taddr at, uint64_t *out)
{
	return snapshot_cursor_word(&g->cursor, at, out);
}

static inline uint64_t tcmalloc_word_or_0(struct tcmalloc *g, taddr at)
{
	uint64_t w;

	return snapshot_cursor_word(&g->cursor, at, &w) ? w : 0;
}

/* The span in use that has a block that begins at @at, and the block's number; NULL: none. */
const struct tcmalloc_span *tcmalloc_block_at(struct tcmalloc *g, taddr at, uint64_t *i);

static inline bool tcmalloc_is_free(const struct tcmalloc *g, const struct tcmalloc_span *p, uint64_t i)
{
	return g->bits[(p->bit + i) / 64] >> (p->bit + i) % 64 & 1;
}

/* false: it was marked before. */
static inline bool tcmalloc_mark_free(struct tcmalloc *g, const struct tcmalloc_span *p, uint64_t i)
{
	const uint64_t bit = p->bit + i, mask = UINT64_C(1) << bit % 64;

	if (g->bits[bit / 64] & mask)
		return false;
	g->bits[bit / 64] |= mask;
	return true;
}

/* --- tcmalloc_find.c --- */

/* 0; -ENOENT: it is not there, or c->unread says what of it was not found; -ENOMEM. */
must_check int tcmalloc_find(struct tcmalloc *g);

static inline unsigned tcmalloc_leaf_bits(unsigned page_shift)
{
	return (48 - page_shift + 1) / 2;
}

/* The number of elements of the page map's root, and of one of its leaves. */
static inline uint64_t tcmalloc_leaf_length(const struct tcmalloc *g)
{
	return UINT64_C(1) << tcmalloc_leaf_bits(g->page_shift);
}

static inline uint64_t tcmalloc_root_length(const struct tcmalloc *g)
{
	return UINT64_C(1) << (48 - g->page_shift) / 2;
}

/* --- tcmalloc_spans.c --- */

#define TCMALLOC_SPAN_WORDS 6u

/* What the words of a span say. They may have any value. */
struct tcmalloc_span tcmalloc_span_of(const uint64_t words[TCMALLOC_SPAN_WORDS], unsigned page_shift);

/* List the spans; what the page heap has counted is compared. 0 or -ENOMEM. */
must_check int tcmalloc_list_spans(struct tcmalloc *g);

/* --- tcmalloc_lists.c --- */

/* In a thread cache: the list of a class. */
#define TCMALLOC_LIST_BYTES 32u
#define TCMALLOC_LIST_SIZE 24u		/* in it: the size of its blocks */
/* The central list of a class. */
#define TCMALLOC_CENTRAL_BYTES 1216u

#define TCMALLOC_CHAINS 128u
#define TCMALLOC_CHAINS_USED 1152u
#define TCMALLOC_CHAINS_MOST 64u

/* Mark all blocks that are in lists, and add their sums to the arena. 0 or -ENOMEM. */
must_check int tcmalloc_mark(struct tcmalloc *g);

/* --- tcmalloc_hand.c --- */

/* A chain that a thread may have between its cache and a central list counts in `unsure`. */
void tcmalloc_look_for_chains(struct tcmalloc *g);

/* --- tcmalloc_census.c --- */

/* As allocators.h wants it. */
must_check int tcmalloc_census(const struct snapshot *s, struct census *c);

#endif
