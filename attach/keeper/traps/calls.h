/* SPDX-License-Identifier: MIT */
/*
 * calls: the calls of watched functions that are open, thread by thread.
 *
 * Only functions with an entry trap open a call. It is known by the value of rsp at the function's entry,
 * where the return address is: the call ends where some `ret` is reached with that same rsp, whichever
 * function's it is (realloc(NULL) ends in malloc's), or at the return address with rsp 8 more.
 *
 *      entry       rsp = S         open(S)
 *      inner call  rsp < S         inside
 *      exit        rsp == S        closes
 *      anything    rsp > S         the call was left by longjmp or an exception: forgotten at the thread's
 *                                  next hit
 *
 * Several calls can begin at one S: a function jumps to another, or is watched for two reasons. Within a
 * family that is one call; of different families each is its own.
 *
 * A call that was left counts as open while rsp stays below S. Where that matters (SITE_FAMILY_IN), the
 * return address is stored too: as long as it is at S, the call goes on. That costs a process_vm_readv of a
 * word at each hit inside, and cannot detect that the function was left, and the very same call instruction
 * has called another one, through a pointer. Stacks that a program switches itself look like calls that were
 * left.
 */
#ifndef MM_CALLS_H
#define MM_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/taddr.h"

#define CALLS_MAX 32768u
#define NO_CALL 0xffffu

struct call {
	taddr sp;
	taddr ret;		/* the return address, at sp; 0: it was not read */
	uint64_t args[6];
	uint32_t trap;		/* of the entry */
	uint16_t family;
	uint16_t next;		/* the call around it, or the next free one */
};

struct calls {
	uint16_t free;
	uint32_t used;		/* those from here on were never used, and are in no list */
	struct call all[CALLS_MAX];
};

void calls_init(struct calls *c);

/* In all of these @open is the thread's innermost open call, NO_CALL at first. */

/*
 * @call begins. true: it is open. *@tail: it is a tail call from a function of its family, so the outer call
 * continues, with the new return address. false: the pool is empty, the call cannot be followed.
 */
bool calls_open(struct calls *c, uint16_t *open, const struct call *call, bool *tail);

/*
 * Is the thread inside an open call of @family with a higher rsp than @sp, so that what happens at @sp is
 * internal to that call?
 */
bool calls_inside(struct calls *c, uint16_t *open, taddr sp, uint16_t family);

/* Close the call of @family that ends at @sp, and copy it to @out; false if none ends there. */
bool calls_close(struct calls *c, uint16_t *open, taddr sp, uint16_t family, struct call *out);

/*
 * The same for the innermost call of any family that returns to @ret, or whose return address is not known.
 */
bool calls_close_any(struct calls *c, uint16_t *open, taddr sp, taddr ret, struct call *out);

/* How many calls end at @sp. */
uint32_t calls_at(struct calls *c, uint16_t *open, taddr sp);

/* The innermost open call of @family that began at @sp or above; NULL if there is none. */
const struct call *calls_around(struct calls *c, uint16_t *open, taddr sp, uint16_t family);

/* @call was left: forget it. */
void calls_remove(struct calls *c, uint16_t *open, const struct call *call);

/* Forget all calls of a thread. */
void calls_drop(struct calls *c, uint16_t *open);

/* @open, of which none is open, has those of another thread, @its of @from: it is a copy of that. */
void calls_copy(struct calls *c, uint16_t *open, const struct calls *from, uint16_t its);

/* Traps have other numbers: @map[old]. Calls of a trap that is not there any more, @none, are forgotten. */
void calls_renumber(struct calls *c, uint16_t *open, const uint16_t *map, uint16_t none);

#endif
