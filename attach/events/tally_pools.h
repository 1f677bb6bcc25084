/* SPDX-License-Identifier: MIT */
/*
 * tally_pools: blocks that are freed with the pool that they were taken from. For tally.c.
 *
 *	alloc	with pool=: the block lies in that pool. What lay in an older block of the same address is gone
 *	pool	the same, and the block is a pool
 *	free	of a block or pool: all that lies in it is freed first
 *	reset	all that lies in it is freed; the pool itself stays
 *	move	it lies in another pool from now on, with all that lies in it
 *	realloc	the new block lies where the old one did, and what lay in that lies in it
 *
 * Each block that is freed so is a fact of its own. One fact "all of this pool is freed" would be short, but
 * then each reader of facts (ledger, shrink, merge, import) would have to know pools, and the facts of all
 * allocations to name theirs. So the tree is here alone, and a ledger, trace or report knows blocks only. A
 * fact of a free takes some four bytes in a trace, and the target does not wait for it.
 *
 * Nothing here is needed for a block to be correct, only for its end to be seen:
 *
 * - A pool that is older than the watch is known from the first block in it on, but not the pool that it lies
 *   in: if that is freed by a call that names only the outer one, what lies in the inner one stays live until
 *   its address is seen again.
 * - What is freed with its pool may be freed once more by itself, as a function that destroys a pool calls
 *   itself for the pools in it, or calls a callback of the program: that is neither a double free nor one of
 *   an older block.
 * - A pool is empty from where the call that frees it begins. What a callback then takes from it is not
 *   counted. A reset pool may be used again, so what is taken from it during the call does count, until the
 *   next one.
 * - If the free of a pool was lost, the blocks in it stay live until the pool's address is that of a new pool
 *   or block. If another event was lost, some block may count as freed too early. Neither makes a double
 *   free.
 */
#ifndef MM_TALLY_POOLS_H
#define MM_TALLY_POOLS_H

#include "attach/events/tallied.h"

/*
 * The call has made the block or pool at @addr: call it before the fact is recorded. false: the pool that it
 * lies in is being freed, so it is gone, too, when that call ends, and must not be counted.
 */
bool tally_pools_made(struct tally *t, const struct tallied *x, taddr addr);

/* The block or pool at @addr is freed: call it before the fact is recorded. */
void tally_pools_freed(struct tally *t, const struct tallied *x, taddr addr);

/*
 * A realloc of @old began: another thread may get its address. It ended: the block is at @now (@old: it has
 * failed, or has moved nothing; 0: it was only freed). false: as above, or it is not known in which pool it
 * lies, since the old one is older than the watch, and the call does not say: its end would not be seen.
 */
void tally_pools_resize(struct tally *t, const struct tallied *x, taddr old);
bool tally_pools_resized(struct tally *t, const struct tallied *x, taddr old, taddr now);

/*
 * What is freed with a pool may be a million blocks, and while they become facts, the ring is not read: of
 * three pools of 300,000 blocks each, on a busy machine, tens of thousands of events were lost. So a few are
 * handled with each hit, more when there is none to handle (true: some are left), and all of them before what
 * is live is looked at.
 */
void tally_pools_work(struct tally *t, const struct tallied *x);
must_check bool tally_pools_idle(struct tally *t, unsigned most);
void tally_pools_settle(struct tally *t);

void tally_reset(struct tally *t, const struct tallied *x);
void tally_move(struct tally *t, const struct tallied *x);

#endif
