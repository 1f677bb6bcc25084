/* SPDX-License-Identifier: MIT */
/*
 * copies: with --follow, forked copies of the target that the keeper goes on with, each in a slot
 * (shared/slots.h) and with a state of its own (struct keeper), from its first stop on.
 *
 * The copy has the traps of its parent, so it begins with a copy of the parent's table of them, and nothing
 * is changed in its memory. It needs no answers before its watch has begun: no thread of it is held, and what
 * it records waits in the ring of its slot. One that ends or execs before that leaves nothing behind.
 */
#ifndef MM_COPIES_H
#define MM_COPIES_H

#include "attach/keeper/state.h"

/* Reserve the memory for their states: before mlockall, which must not populate it. It can do without. */
void copies_reserve(struct keeper *first);
/* After mlockall. */
void copies_open(struct keeper *first);

/*
 * @t of @k, stopped for the first time and counted in k->others, is a copy. true: it is watched on, as a
 * thread of another state, and is not in the table of @k any more. false: no slot is free, or there are none.
 */
bool copies_take(struct keeper *k, struct tracee *t);

/*
 * The state that a newborn belongs to, by what it is (a thread) or by its parent; NULL: not known. @k is
 * asked first.
 */
struct keeper *copies_home(struct keeper *k, pid_t tid);

/* @t, a newborn in the table of @k, belongs to @home: it is put into that one's queue. */
void copies_move(struct keeper *home, struct keeper *k, struct tracee *t);

/*
 * Which thread of @k has forked @t? 1: *@forker; 0: it cannot be known; -EAGAIN: its stop will show it, and
 * calls may be open in it.
 */
must_check int copies_forker(struct keeper *k, const struct tracee *t, struct tracee **forker);

/* Take the traps of all states, also of earlier ones, out of a copy of unknown parent. As trap_clean_copy. */
must_check int copies_clean(struct keeper *k, int mem);

/* COMMAND_ADOPT. */
must_check int64_t copies_adopt(struct keeper *k, pid_t watch, uint32_t nsites);

/*
 * After each round. Much may have been recorded when a watch of it begins; when that was read, its ring is as
 * large as that of any one of many watches.
 */
void copies_fit_ring(struct keeper *k);

/* Must a copy be let go, as nothing watches it (any more)? Then its leave_reason is set. */
void copies_check(struct keeper *k);

/* A state that is gone, or all: its slot is free again, if no watch reads it any more. */
void copies_free_gone(struct keeper *first);

#endif
