/* SPDX-License-Identifier: MIT */
/*
 * loss_later: blocks that were seen being allocated, and may be lost only after the kernel's probes are out: those of a
 * configuration, when it is read again; of objects, when these are collected.
 *
 * Allocations are not seen any more by then, so what has such a block's address in a later copy may be another
 * block. It is the same if it has the same content, and no other recorded block had that at the end of a window:
 * its mark, of its first words. Small numbers do not count: they are lengths, flags, and counts of references,
 * which change. Nor do pointers into the block itself: any block of its kind has the same ones at that address.
 * If a block's content has changed, it may have been freed, and is not kept any longer.
 *
 * A few may be the same by chance, where a program does the same again and again: so the blocks of a stack are
 * only lost in this way if that became of a good part of those whose fate is known. Pure.
 */
#ifndef MM_LOSS_LATER_H
#define MM_LOSS_LATER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "base/taddr.h"

#define LOSS_MARK_BYTES 256u

/* Of the block of @size bytes at @addr by its first @n, LOSS_MARK_BYTES at most; 0: they tell it from no other. */
uint64_t loss_mark(taddr addr, uint64_t size, const void *bytes, size_t n);

struct loss_later {
	struct addrmap blocks;		/* address -> struct loss_later_block */
	struct addrmap marks;		/* all that there were: their number */
};

struct loss_later_block {
	uint64_t size;			/* as asked for */
	uint64_t mark;
	uint64_t stack;			/* index */
};

void loss_later_init(struct loss_later *l);
void loss_later_fini(struct loss_later *l);

/*
 * Blocks of a copy in which they are not lost: first all marks, then those blocks whose marks there are once. 0 or
 * -ENOMEM.
 */
must_check int loss_later_mark(struct loss_later *l, uint64_t mark);
must_check int loss_later_keep(struct loss_later *l, taddr addr, const struct loss_later_block *its);

/*
 * The block at @addr has that @mark in a later copy, and is lost: was it kept? Then it is not any more. *out may
 * be another one's, of which nothing is known.
 */
bool loss_later_take(struct loss_later *l, taddr addr, uint64_t mark, struct loss_later_block *out);

/* The address was given to another block; false: none was kept there. */
bool loss_later_gone(struct loss_later *l, taddr addr, struct loss_later_block *out);

/*
 * Those that are left, and whose marks in that copy (@marks: address -> mark) are others, are @gone, and not kept any
 * longer. 0 or -ENOMEM.
 */
must_check int loss_later_look(struct loss_later *l, const struct addrmap *marks,
			       void (*gone)(void *ctx, const struct loss_later_block *its), void *ctx);

#endif
