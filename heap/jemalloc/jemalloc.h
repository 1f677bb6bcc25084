/* SPDX-License-Identifier: MIT */
/*
 * jemalloc: jemalloc's memory: what the parts of its census share. doc/jemalloc-heap.md has the layouts.
 *
 *	jemalloc_find.c		the page map: its root in some file's data, how many levels, which version
 *	jemalloc_extents.c	the extents that the map has, and the memory of jemalloc's own structs
 *	jemalloc_caches.c	the caches of threads: blocks in them are free
 *	jemalloc_blocks.c	what the extents hold: blocks, areas, sums
 *	jemalloc_figures.c	the arenas, and what they have counted themselves
 *	jemalloc_sizes.c	size classes
 *	jemalloc_census.c	one after the other
 *
 * All that is read may have any value. No loop follows it beyond the memory that is there.
 */
#ifndef MM_JEMALLOC_H
#define MM_JEMALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "heap/census.h"
#include "heap/jemalloc/jemalloc_sizes.h"
#include "heap/snapshot/snapshot.h"
#include "heap/snapshot/snapshot_cursor.h"

#define JEMALLOC_PAGE 4096u
#define JEMALLOC_BASE (UINT64_C(2) << 20)	/* of a block of jemalloc's own: its alignment, and a part of its size */
#define JEMALLOC_REGIONS 512u			/* in a slab, at most */
#define JEMALLOC_ARENAS 4096u

/* --- the versions: what differs between them --- */

/* In struct extent_s (5.2) or edata_s (5.3): the same in both. */
#define EXTENT_BITS 0u
#define EXTENT_ADDR 8u
#define EXTENT_SIZE 16u
#define EXTENT_BITMAP 64u
#define EXTENT_SLAB (1u << 12)
#define EXTENT_ARENA 0xfffu

struct jemalloc_version {
	const char *name;
	uint8_t align;			/* of extents: what is below it in a leaf's word is no address */
	uint8_t state_shift, state_mask;
	uint8_t szind_shift;		/* 8 bits */
	uint8_t nfree_shift;		/* 10 bits */
	uint8_t shard_shift;		/* 6 bits */
	uint32_t huge;			/* the bit of extents of the huge page allocator; 0: there is none */
	bool caches_point_back;		/* the form of caches: jemalloc_caches.c */
	/* of struct arena_s and bin_s: jemalloc_figures.c */
	uint32_t arena_bins, arena_base;
	uint32_t arena_index;		/* 0: only its base has it */
	uint16_t bin_bytes;		/* 0: arenas have pointers to bins */
	uint16_t bin_regions;
};

/* How many levels the page map has: that depends on how many bits of addresses jemalloc was built for. */
struct jemalloc_form {
	uint8_t levels;
	uint8_t bits;			/* of each level */
	uint8_t leaf_words;		/* of an element of a leaf: 1 has all in it, of 2 the second has the class */
	const char *name;
};

enum extent_state { EXTENT_ACTIVE, EXTENT_DIRTY, EXTENT_MUZZY, EXTENT_RETAINED };

/* --- --- */

struct jemalloc_extent {
	taddr at;			/* of its struct */
	taddr lo;			/* its first page */
	uint64_t bytes;			/* whole pages */
	taddr addr;			/* the block, if it is one: in the first page */
	uint64_t bits;
	/* it is active, and the map has its class: that is written when it is allocated, and erased before it is freed */
	bool taken;
};

/* An address in a cache, or the memory of a cache itself. */
struct jemalloc_cached {
	taddr at;
	bool own;
	bool fresh;			/* it may be on its way from a slab into the cache */
};

struct jemalloc {
	const struct snapshot *s;
	struct census *c;
	struct snapshot_cursor cursor;
	const struct jemalloc_version *version;
	const struct jemalloc_form *form;
	taddr root;			/* of the page map */
	taddr data_lo, data_hi;		/* the data of the file it is in */
	struct jemalloc_extent *extents;	/* sorted */
	size_t nextents, extent_room;
	struct snapshot_range *bases;	/* jemalloc's own memory */
	size_t nbases, base_room;
	struct jemalloc_cached *cached;	/* sorted, when all are there */
	size_t ncached, cached_room;
	struct jemalloc_cache {
		taddr at;
		const struct snapshot_thread *thread;	/* whose TLS it is in; NULL: of none that is known */
	} *caches;
	size_t ncaches, cache_room;
	size_t area_room, arena_room;
	uint16_t arena_of[JEMALLOC_ARENAS];	/* the number in the census, and 1; 0: none yet */
	/* regions in use, of each arena and class: arena number * JEMALLOC_SMALL + class */
	uint64_t *regions;
	bool huge;			/* the huge page allocator is used */
	bool shards;			/* classes have several bins in an arena: figures are not compared */
	bool no_memory;
};

/* --- jemalloc.c, which calls none of the others --- */

/* Something is corrupt. The first problem is stored, all are counted. */
__attribute__((format(printf, 3, 4))) void jemalloc_problem(struct jemalloc *j, taddr at, const char *what, ...);

/* --- bits of an extent --- */

static inline unsigned extent_state(const struct jemalloc *j, uint64_t bits)
{
	return bits >> j->version->state_shift & j->version->state_mask;
}

static inline unsigned extent_class(const struct jemalloc_version *v, uint64_t bits)
{
	return bits >> v->szind_shift & 0xff;
}

static inline unsigned extent_free(const struct jemalloc *j, uint64_t bits)
{
	return bits >> j->version->nfree_shift & 0x3ff;
}

/* --- jemalloc_find.c --- */

/* Find the page map. 0; -ENOENT: there is none. */
must_check int jemalloc_find(struct jemalloc *j);

/* --- jemalloc_extents.c --- */

/* What an element of a leaf says. */
struct jemalloc_element {
	taddr extent;			/* 0: none */
	unsigned class;
	bool slab;
};

/* Of the words @w of an element. */
struct jemalloc_element jemalloc_element(const struct jemalloc_version *v, const struct jemalloc_form *f,
					 const uint64_t *w);

/* List extents and jemalloc's own memory. 0 or -ENOMEM. */
must_check int jemalloc_list_extents(struct jemalloc *j);

/* The extent that contains @at; NULL: none. */
const struct jemalloc_extent *jemalloc_extent_over(const struct jemalloc *j, taddr at);

/* --- jemalloc_caches.c --- */

/* List what is in caches. 0 or -ENOMEM. */
must_check int jemalloc_list_cached(struct jemalloc *j);

/* --- jemalloc_blocks.c --- */

/* Fill the census. 0 or -ENOMEM. */
must_check int jemalloc_take_blocks(struct jemalloc *j);

/* --- jemalloc_figures.c --- */

/* Find the arenas, and count in `differing` which of their figures disagree with what was found. */
void jemalloc_compare_figures(struct jemalloc *j);

#endif
