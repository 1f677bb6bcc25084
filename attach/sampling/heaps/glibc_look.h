/* SPDX-License-Identifier: MIT */
/*
 * glibc_look: reads what is around many blocks at once (attach/sampling/blocks/remote_read), and then
 * the heads of the chunks to which that leads.
 *
 *	first	head and first words, and the next chunk's head; of small blocks these are adjacent
 *	second	if the chunk before seems to be free: its head, and our own once more; if word 0 looks like a
 *		link: the head it leads to
 */
#ifndef MM_GLIBC_LOOK_H
#define MM_GLIBC_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/sampling/blocks/remote_read.h"
#include "base/cleanup.h"
#include "heap/glibc/chunkstate.h"

/* A block that is looked at. */
struct glibc_look {
	taddr addr;
	uint64_t head;			/* at its birth: its size, and whether it is a mapping of its own */
	struct chunkstate_look look;
	/* the page of its head is no longer mapped, or was returned to the kernel */
	bool absent;
	bool away;			/* it is swapped out, or could not be read: nothing is known */

	taddr before, link;		/* what else was read; 0: nothing */
	bool has_before, has_link, list_end;
	uint64_t before_head, link_head, again[2];
	struct remote_read_piece pieces[3];
};

/* Prepare a look at the block at k->addr. */
void glibc_look_ask(struct glibc_look *k, uint64_t head);

/* 0 or as remote_read_now(). */
must_check int glibc_look_read(struct remote_read *g, struct glibc_look *looked, size_t n);

/* Is word 0 a link of a free list: to a chunk of the same size, or the end of the list? */
bool glibc_look_linked(const struct glibc_look *k);

/* Does the block, which was behind a free chunk, lie inside of it now? */
bool glibc_look_joined(const struct glibc_look *k);

#endif
