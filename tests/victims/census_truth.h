/* SPDX-License-Identifier: MIT */
/*
 * census_truth: every block that this process has from malloc, in a table that can be read from its memory at
 * any moment.
 *
 * The process has its own malloc and the like, around those of libc, so the table also has what libc and the
 * dynamic loader allocate. A block is in the table from after the call that returned it until before the call
 * that frees it. In between, the thread's note says that a call is under way, and which block is being freed:
 * such a block may be allocated or not. A process that stops this one and reads table and notes knows all
 * other blocks exactly.
 */
#ifndef CENSUS_TRUTH_H
#define CENSUS_TRUTH_H

#include <stdint.h>

#define TRUTH_GONE 1u		/* was a block */
#define TRUTH_TAKEN 2u		/* will be one */
#define TRUTH_NOTES 4096u

struct truth_block {
	uint64_t addr, size;	/* addr: 0, the above, or what malloc returned; size: malloc_usable_size */
};

struct truth_note {
	uint64_t busy;		/* this thread is in malloc, realloc or free */
	uint64_t addr;		/* the block it frees; 0: none */
};

struct truth {
	uint64_t magic;		/* TRUTH_MAGIC */
	uint64_t slots;		/* of the table: a power of two */
	uint64_t table;		/* its address */
	uint64_t nnotes;
	struct truth_note notes[TRUTH_NOTES];
};

#define TRUTH_MAGIC 0x6d6d2d7472757468u

#endif
