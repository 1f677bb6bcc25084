/* SPDX-License-Identifier: MIT */
/*
 * tcmalloc_map: tcmalloc's page map in a running process, and what its words say about one block. The words
 * are read by the caller, while all threads run (attach/sampling/heaps/tcmalloc_heap.h): a pointer that was
 * read a moment ago may lead to something else by now, so each answer is checked by what it leads to.
 *
 *	root ──▶ leaf ──▶ element: span ──▶ its pages, its class, how many blocks are in use, free blocks
 */
#ifndef MM_TCMALLOC_MAP_H
#define MM_TCMALLOC_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "heap/snapshot/snapshot.h"
#include "heap/tcmalloc/tcmalloc.h"

struct tcmalloc_map {
	const struct tcmalloc_version *version;
	struct tcmalloc_class classes[TCMALLOC_CLASSES];
	unsigned nclasses, page_shift;
	taddr root, central;		/* of the page map; of the first class's list */
	taddr caches;			/* where the address of a thread cache is */
	taddr data_lo, data_hi;		/* the data of the file it is in */
	char unread[160];		/* one that is not known is there: which; "": none */
};

/* 0; -ENOENT: there is none that is known; -ENOMEM. */
must_check int tcmalloc_map_find(const struct snapshot *s, struct tcmalloc_map *out);

/* --- the way to a span --- */

/* Which leaf has the element of @at: a number for a table of them. Leaves are never freed. */
uint64_t tcmalloc_map_leaf(const struct tcmalloc_map *m, taddr at);

/* Where in the root the word is that leads to the leaf. */
taddr tcmalloc_map_step(const struct tcmalloc_map *m, taddr at);

/* Where the element of @at is, in its leaf at @leaf. */
taddr tcmalloc_map_element(const struct tcmalloc_map *m, taddr leaf, taddr at);

/* --- what the words say --- */

/* Of the block at @at, by the @words of the span that its element has led to. */
struct tcmalloc_place {
	uint64_t size;			/* of the block that begins at @at; 0: none does, or it is free */
	unsigned class;			/* 0: it has a span of its own */
	uint64_t free;			/* blocks of the span that are in its list */
	taddr objects;			/* the first of them */
};

struct tcmalloc_place tcmalloc_map_place(const struct tcmalloc_map *m,
					 const uint64_t words[TCMALLOC_SPAN_WORDS], taddr at);

/* --- lists of free blocks --- */

/* In the thread cache at @cache: the list of a class: TCMALLOC_LIST_WORDS are read. */
#define TCMALLOC_LIST_WORDS 2u
taddr tcmalloc_map_list(taddr cache, unsigned class);
/* How many blocks it has; the first is at words[0]. */
uint32_t tcmalloc_map_listed(const uint64_t words[TCMALLOC_LIST_WORDS]);

/* In the central list of a class: its chains, TCMALLOC_CHAINS_WORDS are read. */
#define TCMALLOC_CHAINS_WORDS 129u
taddr tcmalloc_map_chains(const struct tcmalloc_map *m, unsigned class);
/* How many chains there are. Chain @i begins at words[2 * i], and has classes[].batch blocks. */
uint32_t tcmalloc_map_chained(const uint64_t words[TCMALLOC_CHAINS_WORDS]);

/* --- thread caches --- */

/* A cache, of which TCMALLOC_CACHE_WORDS were read: is it one? The next and the one before; 0: none. */
#define TCMALLOC_CACHE_WORDS 520u
bool tcmalloc_map_cache(const struct tcmalloc_map *m, const uint64_t words[TCMALLOC_CACHE_WORDS], taddr *next,
			taddr *prev);

#endif
