/* SPDX-License-Identifier: MIT */
/*
 * loads: what a hit reads of the target's memory: words and a string at
 * addresses that a rule has named, and a slice of stack.
 *
 *	first call	the loads that hang on registers and arguments only, then the stack
 *	a call each	loads whose address is what another load gave; the rest of a string beyond its page
 *
 * The addresses are the target's, and may be anything. A load only reads: what
 * is not there is not read, and said so.
 */
#ifndef MM_LOADS_H
#define MM_LOADS_H

#include <sys/types.h>

#include "attach/keeper/shared/event.h"
#include "base/cleanup.h"

/* A thread's memory, and the way to it. */
struct loads_from {
	pid_t tid;
	int mem;	/* /proc/PID/mem, opened by somebody who was allowed to: for when we are not; or -1 */
};

/*
 * Read for @rec, whose registers, arguments and flags are filled in, what @loads (of SITE_LOADS) say and @want bytes of stack:
 * fills loads, loads_read, loads_null, text, slice and slice_len, and sets RECORD_CUT. @result: the register with the
 * function's result, or NULL: there is none yet. @want bytes must have room behind @rec.
 * 0, or -EPERM: the target's memory may not be read any more.
 */
must_check int loads_read(struct loads_from from, const struct site_load *loads, const uint64_t *result,
			  uint32_t want, struct record_hit *rec);

/* One word of a thread's memory; false if it cannot be read. */
bool loads_word(struct loads_from from, taddr addr, uint64_t *out);

#endif
