/* SPDX-License-Identifier: MIT */
/*
 * free_lists: which of some blocks are in an allocator's lists of free blocks, whose links are the blocks'
 * first words, read while all threads run (tcmalloc, mimalloc).
 *
 *	sources: heads of lists,  ──▶ pages of the blocks, each read  ──▶ the sources again: have they changed?
 *	and how many they have	      once, as the lists lead there
 *
 * What is read is not of one moment: a block that a list has led to may have been given out since, and its
 * owner may have written anything where the link was. So a list counts only if its source has not changed
 * meanwhile, and it ends after as many blocks as the allocator counts. A block is free if two readings have
 * found it so. It is in no list if one reading of all lists that it may be in was whole, and none has found it.
 *
 * A reading copies FREE_LISTS_PAGES at most, and goes to FREE_LISTS_SOURCES; what is left out is unknown. After
 * the readings there is a pause of nine times as long: then nothing is known of blocks that may be in a list.
 */
#ifndef MM_FREE_LISTS_H
#define MM_FREE_LISTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/sampling/blocks/remote_read.h"
#include "base/addrmap.h"
#include "base/cleanup.h"

#define FREE_LISTS_PAGES 1024u
#define FREE_LISTS_SOURCES 8192u

struct free_lists;

struct free_source {
	taddr at;
	uint32_t bytes;			/* a multiple of 8; within a page, or over the end of one */
	uint32_t what;			/* the heap's own */
	uint64_t kind;			/* the heap's own, too */
};

/* Call free_lists_list() for each list that @words of @s lead to, and then free_lists_count() if that is known. */
typedef void free_lists_lead(void *ctx, struct free_lists *f, const struct free_source *s, const uint64_t *words);

struct free_lists {
	free_lists_lead *lead;
	void *ctx;
	struct source {
		struct free_source is;
		size_t word;		/* where its words begin */
		uint64_t blocks, count;	/* found in its lists; as they are counted, or UINT64_MAX */
		bool whole;
	} *sources;
	size_t n, room, leading;
	uint64_t *words[2];		/* of the sources: before, after */
	size_t nwords, word_room[2];
	struct remote_read_piece *pieces[2];
	size_t piece_room[2];
	struct list {
		size_t source;
		taddr at;
		bool over;
	} *lists;
	size_t nlists, list_room;
	struct addrmap pages;		/* page -> its number in `bytes` */
	struct remote_read_piece *of_page;
	uint8_t *bytes;
	size_t npages, fetched;
	struct addrmap asked;		/* block -> struct asked */
	struct addrmap left_out;	/* kinds of sources that were too many */
	struct addrmap torn;		/* in this reading: kinds of whose lists one was not whole */
	struct hit {
		size_t source;
		taddr block;
	} *hits;
	size_t nhits, hit_room;
	uint64_t rest_until_ns;
	bool no_memory;
};

void free_lists_init(struct free_lists *f, free_lists_lead *lead, void *ctx);
void free_lists_fini(struct free_lists *f);

/* Begin with no sources, and no blocks in question. */
void free_lists_begin(struct free_lists *f);

/* The block at @at is in question. It may be in lists of sources of these two kinds. 0 or -ENOMEM. */
must_check int free_lists_ask(struct free_lists *f, taddr at, uint64_t kind, uint64_t other);

/* All sources of a kind must be added. 0 or -ENOMEM. */
must_check int free_lists_source(struct free_lists *f, const struct free_source *s);

/* For free_lists_lead: a list whose first block is at @first (0: it is empty). */
void free_lists_list(struct free_lists *f, taddr first);
/* For free_lists_lead: the lists of this source have @n blocks, all together. */
void free_lists_count(struct free_lists *f, uint64_t n);

/* Is no pause under way? */
bool free_lists_may_read(const struct free_lists *f);

/* 0 or as remote_read_now(). */
must_check int free_lists_read(struct free_lists *f, struct remote_read *g);

enum free_lists_answer { LISTED_NO, LISTED_UNSURE, LISTED_YES };

/* LISTED_UNSURE also if it is not in question. */
enum free_lists_answer free_lists_answer(const struct free_lists *f, taddr at);

#endif
