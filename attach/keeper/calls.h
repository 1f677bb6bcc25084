/* SPDX-License-Identifier: MIT */
/*
 * calls: the calls of watched functions that are open, thread by thread.
 *
 * Only functions with an entry trap open a call. It is known by the value of
 * rsp at the function's entry, where the return address lies: the call ends
 * where some `ret` is reached with that same rsp, whichever function's it is
 * (realloc(NULL) ends in malloc's), or at the return address with rsp 8 more.
 *
 *      entry       rsp = S         open(S)
 *      inner call  rsp < S         inside
 *      exit        rsp == S        closes
 *      anything    rsp > S         the call was left by longjmp or an exception:
 *                                  forgotten when next looked at
 */
#ifndef MM_CALLS_H
#define MM_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/user.h>

#include "attach/keeper/tracee.h"

#define CALLS_MAX 32768u
#define NO_CALL 0xffffu

struct call {
	taddr sp;
	uint64_t args[6];
	uint32_t trap;		/* of the entry */
	uint16_t family;
	uint16_t next;		/* the one around it, or the next free one */
};

struct calls {
	uint16_t free;
	struct call all[CALLS_MAX];
};

void calls_init(struct calls *c);

/*
 * A call begins. true: opened (or it is the same call going on: a tail call
 * from the function that opened it keeps the outer one, *@tail is then true).
 * false: the pool is empty, the call cannot be followed.
 */
bool calls_open(struct calls *c, struct tracee *t, taddr sp, uint32_t trap, uint16_t family,
		const struct user_regs_struct *regs, bool *tail);

/* Is the thread inside an open call of @family that began below @sp (so that what happens at @sp is its inner affair)? */
bool calls_inside(struct calls *c, struct tracee *t, taddr sp, uint16_t family);

/* The call that ends at @sp, taken out into @out; false if none does. */
bool calls_close(struct calls *c, struct tracee *t, taddr sp, uint16_t family, struct call *out);

/* Forget all calls of a thread. */
void calls_drop(struct calls *c, struct tracee *t);

#endif
