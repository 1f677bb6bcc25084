/* SPDX-License-Identifier: MIT */
/*
 * musl: the malloc of musl 1.2.1 and later ("mallocng") in memory. doc/musl-heap.md has the layout.
 *
 *	context ──▶ meta areas (pages) ──▶ metas ──▶ groups ──▶ slots: a block, or a smaller group, or free
 *	            each begins with the secret      one mask bit a slot: never given out, or free
 *
 *	musl_find.c	the context, in the data of libc.so or of a static program
 *	musl_metas.c	the meta areas, and the groups they describe
 *	musl_slots.c	what is in a slot
 *	musl_census.c	the census of it
 *	musl_map.c	the same for one block, while all threads run
 *
 * Every meta is in a meta area, and every block is in a slot of a group that a meta describes: nothing need
 * be searched. All that is read may have any value.
 */
#ifndef MM_MUSL_H
#define MM_MUSL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/census.h"
#include "heap/snapshot/snapshot.h"
#include "heap/snapshot/snapshot_cursor.h"

#define MUSL_UNIT 16u
#define MUSL_HEAD 4u			/* of a slot: before its block */
#define MUSL_CLASSES 48u
#define MUSL_MAPPED 63u			/* the class of a block with a mapping of its own */
#define MUSL_META 40u			/* bytes of one */
#define MUSL_AREA_HEAD 24u
#define MUSL_AREA_SLOTS 101u

/* Its struct malloc_context on x86-64; the same since 1.2.1. */
struct musl_context {
	uint64_t secret;
	int32_t init_done;
	uint32_t mmap_counter;
	taddr free_meta, next_meta;
	uint64_t next_meta_count, area_count, area_shift;
	taddr first_area, last_area, next_areas;
	taddr active[MUSL_CLASSES];
	uint64_t usage[MUSL_CLASSES];	/* slots in groups of each class */
	uint8_t unmap_seq[32], bounces[32], seq;
	uint64_t brk;
};

struct musl_group {
	taddr meta, mem;
	uint32_t avail, freed;		/* a bit for each slot */
	unsigned slots, class;
	bool made;			/* its meta has a class, number of slots and the like */
	bool freeable;			/* else: memory of the loader's, donated */
	uint64_t mapped;		/* bytes, if it has a mapping of its own */
	uint64_t stride;		/* of its slots */
};

enum musl_slot {
	MUSL_BLOCK,
	MUSL_GROUP,			/* the allocator's own: a smaller group */
	MUSL_RELEASED,			/* its head says that nothing is in it, or nothing ever was */
	MUSL_TORN,			/* it has no head; or, if size is not 0, a block of unknown end */
	MUSL_UNSEEN,			/* not in the snapshot */
};

struct musl {
	const struct snapshot *s;
	struct census *c;
	struct snapshot_cursor cursor;
	taddr at;			/* of the context */
	struct musl_context context;
	const struct mapping *file;	/* that the context is in, or before: its code is there, too */
	taddr data_lo, data_hi;		/* of that file's data, in which the lock is, too */
	size_t at_work;			/* threads that may be inside malloc */
	taddr *areas;			/* sorted */
	size_t nareas, area_room, census_area_room;
	uint64_t slots[MUSL_CLASSES];	/* as found, to compare with context.usage */
	size_t unused_metas;
	size_t in_hand;			/* groups that a thread is making or moving */
	size_t released;		/* slots that are given out by their masks, but not by their heads */
};

/* --- musl.c, which calls none of the others --- */

/* Something is inconsistent. The first problem is stored, all are counted. */
__attribute__((format(printf, 3, 4))) void musl_problem(struct musl *g, taddr at, const char *what, ...);

/* --- musl_find.c --- */

/* Find the context. 0; -ENOENT: c->problem says what is there. */
must_check int musl_find(struct musl *g);

/* --- musl_slots.c --- */

/* What is in slot number @i of @gr; of a block, where it is and its size. */
enum musl_slot musl_slot_look(struct musl *g, const struct musl_group *gr, unsigned i, struct block *out);

#define MUSL_FREED 0xffu		/* second byte of a head: free has written that */
/* The upper bits of that byte. */
#define MUSL_ROOM_AT_END 5u
#define MUSL_IS_GROUP 6u

struct musl_head {
	uint8_t wide, index;
	uint16_t offset;
	uint32_t wide_offset;
};

/* What the word before a block says. */
struct musl_head musl_head_of(uint64_t word);

/* The bytes of a slot of this class. */
uint64_t musl_stride(unsigned class);

/* --- musl_metas.c --- */

#define MUSL_META_WORDS (MUSL_META / 8)

/* What a meta's words say. They may have any value; stride 0: of no class that is known. */
struct musl_group musl_group_of(const uint64_t meta[MUSL_META_WORDS]);

/* Take all groups and their blocks into the census. 0 or -ENOMEM. */
must_check int musl_take_all(struct musl *g);

/* --- musl_census.c --- */

/* As allocators.h wants it. */
must_check int musl_census(const struct snapshot *s, struct census *c);

#endif
