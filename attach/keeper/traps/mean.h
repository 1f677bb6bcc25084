/* SPDX-License-Identifier: MIT */
/*
 * mean: what a hit means: which call begins or ends there, whether that is an
 * event, and whether the thread is where it counts.
 *
 *	ENTRY	a call is opened; an event if the site says so, nobody's inner affair
 *	EXIT	the call of the site's family that began with this rsp ends; without one it
 *		had no entry trap, or was there before us (RECORD_STATIC)
 *	AFTER	a return address: all calls that return here end, of whatever family, each an event of its own
 *	else	an event, unless it is an inner affair (SITE_INNER)
 *
 * Inner affair: below an open call of the same family. What gives something back there is an event all the same, marked
 * RECORD_WITHIN: a function that makes one block may release another.
 *
 * If there are functions that must be open for anything to count (shared->scoped), a hit outside of
 * them is marked RECORD_OUTSIDE. A function that was left by longjmp or an exception is not open, whatever
 * the table says: another return address stands where its own was.
 */
#ifndef MM_MEAN_H
#define MM_MEAN_H

#include "attach/keeper/state.h"

/* What a hit means, decided before anything is written. */
struct meaning {
	bool emit;
	bool outside;			/* RECORD_OUTSIDE holds for all that ends here */
	uint16_t flags;			/* enum record_flags */
	struct call call;		/* RECORD_CLOSES */
};

/* How many events a hit of @trap with @regs can be: 1, or more where several calls end. */
uint32_t mean_most(struct keeper *k, struct tracee *t, uint32_t trap, const struct user_regs_struct *regs);

/* @ret: the return address of a call that begins, 0 if it was not read. */
void mean_hit(struct keeper *k, struct tracee *t, uint32_t trap, const struct user_regs_struct *regs, taddr ret,
	      struct meaning *m);

/* Another call has ended at the same place. */
bool mean_more(struct keeper *k, struct tracee *t, uint32_t trap, const struct user_regs_struct *regs,
	       struct meaning *m);

#endif
