/* SPDX-License-Identifier: MIT */
/*
 * following_look: look at many blocks at once: what is around them is read (attach/sampling/blocks/gather), and where that leads to other chunks, those as well.
 *
 *	first	head and first words, and the next chunk's head; of small blocks these lie behind each other
 *	second	where the chunk before seems to be free: its head, and our own once more; where word 0 looks like a link: the head it leads to
 */
#ifndef MM_FOLLOWING_LOOK_H
#define MM_FOLLOWING_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/sampling/blocks/gather.h"
#include "base/cleanup.h"
#include "heap/glibc/chunkstate.h"

/* A block that is looked at. */
struct following_looked {
	taddr addr;
	uint64_t head;			/* at its birth: size and whether it is mapped */
	struct chunkstate_look look;
	bool absent;			/* its head's page is mapped no more, or was given back to the kernel */
	bool away;			/* or swapped out, or it could not be read: nothing is known */

	taddr before, link;		/* what else was read, 0: nothing */
	bool has_before, has_link, list_end;
	uint64_t before_head, link_head, again[2];
	struct gather_piece pieces[3];
};

/* Prepare a look at the block at k->addr. */
void following_ask(struct following_looked *k, uint64_t head);

/* 0 or what gather_read() says. */
must_check int following_read(struct gather *g, struct following_looked *looked, size_t n);

/* Does word 0 lead to a chunk of the same size, or end a list? */
bool following_linked(const struct following_looked *k);

/* Does what was behind a free chunk lie inside of it now? */
bool following_joined(const struct following_looked *k);

#endif
