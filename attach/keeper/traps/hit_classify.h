/* SPDX-License-Identifier: MIT */
/*
 * hit_classify: what a hit means: which call begins or ends there, whether that is an event, and whether the
 * thread is where it counts.
 *
 *	ENTRY	a call is opened; an event if the site is one (SITE_EMIT) and the call is not internal
 *	EXIT	the call of the site's family that began with this rsp ends; if none is open, the call that
 *		ends had no entry trap, or had begun before that was planted (RECORD_STATIC)
 *	AFTER	a return address: all calls that return here end, of any family, each an event of its own
 *	else	an event, unless it is internal (SITE_INNER)
 *
 * Internal: below an open call of the same family. If something is freed there, that is an event
 * nevertheless, marked RECORD_WITHIN: a function that makes one block may free another.
 *
 * If there are functions that must be open for a hit to count (shared->scoped), a hit outside of them is
 * marked RECORD_OUTSIDE. If such a function was left by longjmp or an exception, it is not open, although it
 * is in the table: another return address is where its own was.
 */
#ifndef MM_HIT_CLASSIFY_H
#define MM_HIT_CLASSIFY_H

#include "attach/keeper/state.h"

/* What a hit means, decided before anything is written. */
struct hit_class {
	bool emit;
	bool outside;			/* RECORD_OUTSIDE applies to all calls that end here */
	uint16_t flags;			/* enum record_flags */
	struct call call;		/* RECORD_CLOSES */
};

/* How many events at most a hit of @trap with @regs is: 1, or more if several calls end. */
uint32_t hit_classify_most(struct keeper *k, struct tracee *t, uint32_t trap,
			   const struct user_regs_struct *regs);

/* @ret: the return address of a call that begins, 0 if it was not read. */
void hit_classify(struct keeper *k, struct tracee *t, uint32_t trap, const struct user_regs_struct *regs,
		  taddr ret, struct hit_class *m);

/*
 * The call that begins at @trap ends where there is no trap: it is counted, and not followed, since it would
 * seem to go on, and what is called after it to be internal. A scope (SITE_FAMILY_IN) is: whether it goes on
 * is known from its return address, so its function counts once, and not each call of it.
 */
void hit_classify_unreturned(struct keeper *k, struct tracee *t, uint32_t trap,
			     const struct user_regs_struct *regs);

/*
 * Has another call ended at the same address? Then *@m is set for it; m->outside must be as hit_classify set
 * it.
 */
bool hit_classify_more(struct keeper *k, struct tracee *t, uint32_t trap, const struct user_regs_struct *regs,
		       struct hit_class *m);

#endif
