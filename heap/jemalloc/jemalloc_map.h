/* SPDX-License-Identifier: MIT */
/*
 * jemalloc_map: jemalloc's page map in a running process, and what its words say about one block. The words
 * are read by the caller, while all threads run (attach/sampling/heaps/jemalloc_heap.h): a pointer that
 * was read a moment ago may lead to something else by now, so each answer is checked by what it leads to.
 *
 *	root ──▶ (node ──▶) leaf ──▶ element: class, slab, extent ──▶ extent: its address, size, bitmap
 */
#ifndef MM_JEMALLOC_MAP_H
#define MM_JEMALLOC_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "heap/snapshot/snapshot.h"

struct jemalloc_version;
struct jemalloc_form;

struct jemalloc_map {
	const struct jemalloc_version *version;
	const struct jemalloc_form *form;
	const char *text;		/* the version: "5.3" */
	taddr root;
	taddr data_lo, data_hi;		/* the data of the file it is in */
	bool huge;			/* the huge page allocator (opt.hpa) has given out extents */
	char unread[160];		/* a jemalloc that is not known is there: which; "": none */
};

/* 0; -ENOENT: there is none that is known. */
must_check int jemalloc_map_find(const struct snapshot *s, struct jemalloc_map *out);

/* --- the way to an element --- */

/* Which leaf has the element of @at: a number for a table of them. */
uint64_t jemalloc_map_leaf(const struct jemalloc_map *m, taddr at);

/* How many tables are above a leaf: 1 or 2. */
unsigned jemalloc_map_tables(const struct jemalloc_map *m);

/* In table number @level (0: the root) at @table: where the word is that leads to the next, for @at. */
taddr jemalloc_map_step(const struct jemalloc_map *m, unsigned level, taddr table, taddr at);

/* Where the element of @at is, in its leaf at @leaf, and how many words it has. */
taddr jemalloc_map_element(const struct jemalloc_map *m, taddr leaf, taddr at, unsigned *nwords);

/* --- what the words say --- */

#define JEMALLOC_EXTENT_WORDS 16u

/* Of an element. */
struct jemalloc_place {
	taddr extent;			/* 0: none */
	uint64_t size;			/* of its blocks; 0: nothing is given out here */
	bool slab;
};

struct jemalloc_place jemalloc_map_place(const struct jemalloc_map *m, const uint64_t *words);

/*
 * Where the block begins that has the address @at, by the @words of the extent that its element has led to. 0:
 * a change is under way.
 */
taddr jemalloc_map_start(const struct jemalloc_map *m, const struct jemalloc_place *p,
			 const uint64_t words[JEMALLOC_EXTENT_WORDS], taddr at);

enum jemalloc_use {
	JEMALLOC_UNSURE,		/* a change is under way */
	JEMALLOC_USED,			/* for its slab: it may be in a thread's cache */
	JEMALLOC_FREE,
};

/* Of the block at @at, by the @words of the extent that its element has led to. */
enum jemalloc_use jemalloc_map_use(const struct jemalloc_map *m, const struct jemalloc_place *p,
				   const uint64_t words[JEMALLOC_EXTENT_WORDS], taddr at);

#endif
