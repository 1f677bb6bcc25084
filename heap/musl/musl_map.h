/* SPDX-License-Identifier: MIT */
/*
 * musl_map: what the words around one block of musl's malloc say, in a process that runs on. They are read by
 * the caller (attach/sampling/heaps/musl_heap.h).
 *
 *	head, before the block ──▶ group ──▶ meta, in a page that begins with the secret ──▶ the group again
 */
#ifndef MM_MUSL_MAP_H
#define MM_MUSL_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "heap/musl/musl.h"
#include "heap/snapshot/snapshot.h"

struct musl_map {
	uint64_t secret;
	taddr data_lo, data_hi;		/* the data of the file that its context is in */
};

/* 0; -ENOENT: there is none that is known. */
must_check int musl_map_find(const struct snapshot *s, struct musl_map *out);

/* --- the way from a block to its meta --- */

/* The group of the block at @at, by the word before it; 0: that is no head. */
taddr musl_map_group(taddr at, uint64_t head);

/* Where the secret must be, if there is a meta at @meta; 0: there can be none. */
taddr musl_map_secret(taddr meta);

/* --- what they say --- */

/* The bytes of the block's slot, and those of the block; @bytes 0: the meta is not that of this group. */
struct musl_place {
	uint64_t bytes, usable;
};

struct musl_place musl_map_place(taddr at, uint64_t head, taddr group, const uint64_t meta[MUSL_META_WORDS]);

/* The head alone, of the word before a block. It is the same as long as the block is in use. */
uint32_t musl_map_head(uint64_t word);

/* Has free written this head? */
bool musl_map_is_freed(uint32_t head);

#endif
