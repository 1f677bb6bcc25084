/* SPDX-License-Identifier: MIT */
/*
 * glibc: the allocator of glibc in memory: what the parts of the census share. doc/glibc-heap.md has the
 * layouts, with their versions.
 *
 *	glibc_find.c      main_arena, the ring of arenas, malloc_par; which one, if there are several
 *	glibc_regions.c   where there are chunks: the heaps of the arenas, the main heap's pieces
 *	glibc_mapped.c    chunks with a mapping of their own; pieces of a main heap that is not contiguous
 *	glibc_marks.c     which chunks are known to be free, though they look as if they were in use: those in
 *	glibc_cached.c    tcaches and fastbins
 *	glibc_walk.c      chunk by chunk
 *	glibc_take.c      what is recorded of them: blocks, areas, sums
 *	glibc_repair.c    where the walk finds a contradiction: a thread at work, or a corrupt heap
 *	glibc_late.c      what is found to be free after the walk: lists that threads are working on
 *	glibc_bins.c      the lists of free chunks, if the walk finds that they cannot be right
 *
 * All that is read may have any value. No loop follows it beyond the memory that is there, and what was
 * marked once is not followed twice.
 */
#ifndef MM_GLIBC_H
#define MM_GLIBC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "heap/census.h"
#include "heap/snapshot/snapshot.h"
#include "heap/snapshot/snapshot_cursor.h"

#define GLIBC_BINS 127u			/* each a pair of words: bin_at(1) to bin_at(127) */
#define GLIBC_MINSIZE 32u
#define GLIBC_ALIGN 16u
#define GLIBC_HEAD 8u			/* what a chunk has besides its block's usable bytes */
#define GLIBC_FASTBINS 10u
#define GLIBC_PREV_INUSE 1u
#define GLIBC_MMAPPED 2u
#define GLIBC_FOREIGN_ARENA 4u		/* NON_MAIN_ARENA */
#define GLIBC_FLAGS 7u

/* From the first word of `bins` on; the same from 2.23 to 2.43. */
#define GLIBC_TOP (-16)
#define GLIBC_NEXT 0x800
#define GLIBC_SYSTEM_MEM 0x818
#define GLIBC_STATE_END 0x828

/* The form of struct tcache_perthread_struct, recognised by the size of its chunk. */
struct glibc_tcache_form {
	uint16_t chunk;			/* its chunk's size, at least */
	uint8_t bins;
	uint8_t count_bytes;		/* of each count */
		uint8_t exact_bins;		/* bins for one size each; the others are for powers of two */
		bool slots;			/* counts are those of free slots */
};

struct glibc_layout {
	uint32_t bins;			/* of struct malloc_state, from its beginning */
	uint32_t fastbins;		/* 0: none */
	uint32_t heap_info;		/* bytes; 0: not known, because there is no other arena */
	uint64_t heap_max;
	bool mangled;			/* links of fastbins and tcaches: safe-linking */
	bool links_seen;		/* there are some, so `mangled` is known */
	const struct glibc_tcache_form *tcache;	/* NULL: none seen */
};

struct glibc_arena {
	taddr at, bins, top;
	uint64_t system_mem;
	bool contiguous;
	bool busy;			/* a thread may be inside malloc with it; a chunk may be in no list */
	/* sums over free chunks and bins: of their addresses, and of their links */
	uint64_t members, forward, backward;
	taddr last_freed;		/* the first chunk in the first bin */
	bool cut_tried;			/* whether that chunk is being split off was checked */
	unsigned odd;			/* places that only a thread at work explains */
	bool edges_known;		/* the lists were followed, and edges are marked */
};

/* Memory that consists of chunks, from `first` on. Sorted; no two overlap. */
struct glibc_region {
	taddr lo, first, hi;
	uint32_t arena;			/* CENSUS_MMAPPED: a single chunk, at first */
	uint32_t lead;			/* unused bytes before lo: from sbrk, but no chunk can begin there */
	bool ends_in_top;		/* else in fenceposts */
	bool foreign;			/* memory from other code's sbrk may lie between its pieces */
	bool freed;			/* CENSUS_MMAPPED: in a tcache */
	uint64_t usable;		/* CENSUS_MMAPPED */
	/* a bit for 16 bytes from lo on: the chunk there is in a fastbin or tcache, or the allocator's own */
	uint64_t *cached;
	uint64_t *edges;		/* like cached, made if a walk was lost: chunks that bins contain */
};

struct glibc_param {
	taddr at;			/* of mmapped_mem in struct malloc_par; 0: not found */
	uint64_t mmapped_mem, max_mmapped_mem;
	taddr sbrk_base;
	uint64_t tcache_count;
	int32_t n_mmaps;
};

struct glibc {
	const struct snapshot *s;
	struct census *c;
	struct snapshot_cursor cursor;
	struct glibc_layout layout;
	struct glibc_param param;
	taddr data_lo, data_hi;		/* the mapping main_arena is in */
	struct glibc_arena *arenas;
	size_t narenas, arena_room;
	struct glibc_region *regions;
	size_t nregions, region_room;
	size_t area_room, own_room;
	unsigned looks, looks_before;	/* checks of possible arenas: in this mapping, in those before it */
	bool walked;
	taddr *orphans;			/* blocks that may be tcaches without a thread: glibc_late.c */
	size_t norphans, orphan_room;
	taddr *late;			/* blocks that were found to be free after the walk */
	size_t nlate, late_room;
	/*
	 * second word of chunks in tcaches: in intact lists; before the place where one was lost. 0: not
	 * known
	 */
	uint64_t key, lost_key;
	bool list_lost;
	bool no_memory;
};

/* --- glibc.c, which calls none of the others --- */

/* Something is inconsistent. The first problem is stored, all are counted. */
__attribute__((format(printf, 3, 4))) void glibc_problem(struct glibc *g, taddr at, const char *what, ...);

void glibc_fini(struct glibc *g);

/* --- glibc_find.c --- */

/* Find main_arena and all other arenas. 0; -ENOENT: not found, and c->problem says what is there; -ENOMEM. */
must_check int glibc_find(struct glibc *g);

/* --- glibc_regions.c --- */

/* Heaps of arenas, and the main heap. 0 or -ENOMEM. */
must_check int glibc_find_regions(struct glibc *g);
must_check int glibc_add_region(struct glibc *g, const struct glibc_region *r);
void glibc_sort_regions(struct glibc *g);

/* The region that holds @at, or NULL. They must be sorted. */
struct glibc_region *glibc_region_at(struct glibc *g, taddr at);

/* Private writable memory of no file (or of one of hugetlbfs without a name). */
bool glibc_plain(const struct mapping *m);

/*
 * Where the memory ends that begins with the mapping number @i. Adjacent mappings count as one, also with other
 * rights: a program may protect pages of its blocks.
 */
taddr glibc_plain_end(const struct glibc *g, size_t i);

/* --- glibc_mapped.c --- */

/*
 * Add all chunks with mappings of their own, and the main arena's pieces elsewhere. Regions must be sorted,
 * and are afterwards. 0 or -ENOMEM.
 */
must_check int glibc_find_mapped(struct glibc *g);

/* --- glibc_marks.c --- */

static inline bool glibc_bit(const uint64_t *bits, const struct glibc_region *r, taddr at)
{
	const uint64_t i = (at - r->lo) / GLIBC_ALIGN;

	return bits[i / 64] >> i % 64 & 1;
}

/*
 * Set the bit of @at in *@bits of @r; *@bits is allocated if it is NULL. false: it was set; or no memory,
 * g->no_memory.
 */
bool glibc_set_bit(struct glibc *g, uint64_t **bits, const struct glibc_region *r, taddr at);

/* The size of the chunk at @at, which must lie in a region (@r); 0: it cannot be one. */
uint64_t glibc_chunk_size(struct glibc *g, taddr at, struct glibc_region **r);

static inline taddr glibc_unmangle(const struct glibc *g, taddr at, uint64_t link)
{
	return g->layout.mangled ? link ^ at >> 12 : link;
}

/*
 * Mark the chunk as free, or the allocator's own, though it seems to be in use: counted in @sum. false: it
 * was marked already; or no memory, g->no_memory.
 */
bool glibc_mark(struct glibc *g, struct glibc_region *r, taddr chunk, uint64_t size, struct census_sum *sum);

/*
 * Learn from the first link of a list, at @link_at, how links are made: only one way of reading it makes
 * sense. @plain goes up or down.
 */
void glibc_learn_mangling(struct glibc *g, taddr link_at, unsigned to_chunk, int *plain);

/* --- glibc_cached.c --- */

/* Mark the chunks in tcaches and fastbins, and the tcaches themselves. 0 or -ENOMEM. */
must_check int glibc_mark_cached(struct glibc *g);

/* Can a chunk of that size be a tcache? */
bool glibc_tcache_size(uint64_t size);

/* If there is certainly a tcache at @at: mark it and the chunks in it. 0 or -ENOMEM. */
must_check int glibc_mark_orphan(struct glibc *g, taddr at);

/* --- glibc_walk.c --- */

/* Walk all regions, and fill the census. 0 or -ENOMEM. */
must_check int glibc_walk(struct glibc *g);

/* --- glibc_late.c --- */

/* After the walk: remove from the blocks those that are free after all. 0 or -ENOMEM. */
must_check int glibc_find_late(struct glibc *g);

/* --- glibc_bins.c --- */

static inline uint64_t glibc_mix(taddr at)
{
	at *= 0x9e3779b97f4a7c15u;
	return at ^ at >> 29;
}

/*
 * Follow each list of @a both ways, and report where it is wrong; each chunk in it is marked in its region's
 * edges.
 */
void glibc_check_bins(struct glibc *g, size_t a);

#endif
