/* SPDX-License-Identifier: MIT */
/*
 * glibc: the allocator of glibc, as it lies in memory: what the parts of the census share. doc/glibc-heap.md has the layouts, and which version
 * has which.
 *
 *	glibc_find.c      main_arena, the ring of arenas, malloc_par; which one, if there are several
 *	glibc_regions.c   where there are chunks: the heaps of the arenas, the main heap's pieces
 *	glibc_mapped.c    chunks with a mapping of their own; pieces of a main heap that is not contiguous
 *	glibc_marks.c     which chunks are known to be free, though they look as if they were in use: those in
 *	glibc_cached.c    tcaches and fastbins
 *	glibc_walk.c      chunk by chunk
 *	glibc_take.c      what is taken down of them: blocks, areas, sums
 *	glibc_repair.c    where a walk finds what cannot be: a thread at work, or a corrupt heap
 *	glibc_late.c      what turns out to be free after the walk: lists that threads have in their hands
 *	glibc_bins.c      the lists of free chunks, where the walk finds that they cannot be right
 *
 * Everything that is read may be anything. No loop follows what is read further than the memory that is there, and what was marked once
 * is not followed twice.
 */
#ifndef MM_GLIBC_H
#define MM_GLIBC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "heap/glibc/census.h"
#include "heap/snapshot/snapshot.h"
#include "heap/snapshot/view.h"

#define GLIBC_BINS 127u			/* each a pair of words: bin_at(1) to bin_at(127) */
#define GLIBC_MINSIZE 32u
#define GLIBC_ALIGN 16u
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

/* What struct tcache_perthread_struct is: told by the size of its chunk. */
struct glibc_tcache_form {
	uint16_t chunk;			/* its chunk's size, at least */
	uint8_t bins;
	uint8_t count_bytes;		/* of each count */
	uint8_t exact_bins;		/* those for one size each; the others are for powers of two */
	bool slots;			/* counts are of what still fits in */
};

struct glibc_layout {
	uint32_t bins;			/* of struct malloc_state, from its beginning */
	uint32_t fastbins;		/* 0: none */
	uint32_t heap_info;		/* bytes; 0: no other arena, and so not known */
	uint64_t heap_max;
	bool mangled;			/* links of fastbins and tcaches: safe-linking */
	bool links_seen;		/* there are some, so that it is known whether they are */
	const struct glibc_tcache_form *tcache;	/* NULL: none seen */
};

struct glibc_arena {
	taddr at, bins, top;
	uint64_t system_mem;
	bool contiguous;
	bool busy;			/* somebody may be inside of malloc with it: a chunk may be on its way from one list to another */
	uint64_t members, forward, backward;	/* sums over free chunks and bins: of their addresses, and of their links' */
	taddr last_freed;		/* the first chunk in the first bin */
	bool cut_tried;			/* it was looked at, whether it is being cut off */
	unsigned odd;			/* places that only a thread at work explains */
	bool edges_known;		/* the lists were followed, and edges are marked */
};

/* Memory that is all chunks, from `first` on. Sorted, none overlaps. */
struct glibc_region {
	taddr lo, first, hi;
	uint32_t arena;			/* CENSUS_MMAPPED: a chunk of its own, at first */
	uint32_t lead;			/* bytes before lo that nobody uses: sbrk gave them, and no chunk can begin there */
	bool ends_in_top;		/* else in fenceposts */
	bool foreign;			/* somebody else's sbrk may lie between its pieces */
	bool freed;			/* CENSUS_MMAPPED: in a tcache */
	uint64_t usable;		/* CENSUS_MMAPPED */
	uint64_t *cached;		/* a bit for 16 bytes from lo on: the chunk that begins there is in a fastbin or tcache, or the allocator's */
	uint64_t *edges;		/* as cached, made where a walk has lost its way: chunks that bins know */
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
	struct view view;
	struct glibc_layout layout;
	struct glibc_param param;
	taddr data_lo, data_hi;		/* the mapping main_arena is in */
	struct glibc_arena *arenas;
	size_t narenas, arena_room;
	struct glibc_region *regions;
	size_t nregions, region_room;
	size_t area_room, own_room;
	unsigned looks, looks_before;	/* at what looked like arenas: in this mapping, and in those before it */
	bool walked;
	taddr *orphans;			/* blocks that may be tcaches which no thread has: glibc_late.c */
	size_t norphans, orphan_room;
	taddr *late;			/* blocks that were found to be free after the walk */
	size_t nlate, late_room;
	uint64_t key, lost_key;		/* what chunks in tcaches have in their second word: in sound lists; before the place where one was lost. 0: not known */
	bool list_lost;
	bool no_memory;
};

/* --- glibc.c, which calls none of the others --- */

/* Something does not hold. The first is kept, all are counted. */
__attribute__((format(printf, 3, 4))) void glibc_problem(struct glibc *g, taddr at, const char *what, ...);

/* What a thread has in its registers, but for the stack and the place it is at; zeros if they are not known. */
#define GLIBC_REGS 15u
void glibc_registers(const struct snapshot_thread *t, uint64_t out[GLIBC_REGS]);

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

/* Private memory that may be written, and is no file's (or hugetlbfs's that nobody can name). */
bool glibc_plain(const struct mapping *m);

/* Where the memory that begins at @at in the mapping number @i ends: mappings that touch are one. */
taddr glibc_plain_end(const struct glibc *g, size_t i);

/* --- glibc_mapped.c --- */

/* Add all chunks with mappings of their own, and the main arena's pieces elsewhere. Regions must be sorted, and are afterwards. 0 or -ENOMEM. */
must_check int glibc_find_mapped(struct glibc *g);

/* --- glibc_marks.c --- */

static inline bool glibc_bit(const uint64_t *bits, const struct glibc_region *r, taddr at)
{
	const uint64_t i = (at - r->lo) / GLIBC_ALIGN;

	return bits[i / 64] >> i % 64 & 1;
}

/* Set the bit of @at in *@bits of @r, made if there is none. false: it was set; or no memory, g->no_memory. */
bool glibc_set_bit(struct glibc *g, uint64_t **bits, const struct glibc_region *r, taddr at);

/* The size of the chunk at @at, which must lie in a region (@r); 0: it cannot be one. */
uint64_t glibc_chunk_size(struct glibc *g, taddr at, struct glibc_region **r);

static inline taddr glibc_unmangle(const struct glibc *g, taddr at, uint64_t link)
{
	return g->layout.mangled ? link ^ at >> 12 : link;
}

/* The chunk is free, or the allocator's, though it seems to be in use: counted in @sum. false: it was known already; or no memory, g->no_memory. */
bool glibc_mark(struct glibc *g, struct glibc_region *r, taddr chunk, uint64_t size, struct census_sum *sum);

/* The first link of a list, at @link_at, says how all are made, for one reading of it is nonsense: @plain goes up or down. */
void glibc_learn_mangling(struct glibc *g, taddr link_at, unsigned to_chunk, int *plain);

/* --- glibc_cached.c --- */

/* Mark what is in tcaches and fastbins, and the tcaches themselves. 0 or -ENOMEM. */
must_check int glibc_mark_cached(struct glibc *g);

/* Is a chunk of that size what a tcache would be in? */
bool glibc_tcache_size(uint64_t size);

/* If what is at @at is a tcache for sure: mark it and what is in it. 0 or -ENOMEM. */
must_check int glibc_mark_orphan(struct glibc *g, taddr at);

/* --- glibc_walk.c --- */

/* Everything into the census. 0 or -ENOMEM. */
must_check int glibc_walk(struct glibc *g);

/* --- glibc_take.c --- */

/* No more blocks will come: give back the room. */
void glibc_trim_blocks(struct census *c);

/* --- glibc_late.c --- */

/* After the walk: take out of the blocks what is free after all. 0 or -ENOMEM. */
must_check int glibc_find_late(struct glibc *g);

/* --- glibc_bins.c --- */

static inline uint64_t glibc_mix(taddr at)
{
	at *= 0x9e3779b97f4a7c15u;
	return at ^ at >> 29;
}

/* Follow each list of @a both ways, and say where it is wrong; each chunk that it holds is marked in its region's edges. */
void glibc_check_bins(struct glibc *g, size_t a);

#endif
