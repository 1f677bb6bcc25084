/* SPDX-License-Identifier: MIT */
/*
 * remote_loads: what a hit reads of the target's memory: words and a string at addresses that a rule names,
 * and a slice of stack.
 *
 *	first call	the loads that depend only on registers and arguments, then the stack
 *	a call each	loads whose address is the value of another load; the rest of a string beyond its page
 *
 * The addresses are the target's, and may be anything. If no memory is there, the load is not read, and its
 * bit in loads_read is 0.
 */
#ifndef MM_REMOTE_LOADS_H
#define MM_REMOTE_LOADS_H

#include <sys/types.h>
#include <sys/uio.h>

#include "attach/keeper/shared/event.h"
#include "base/cleanup.h"

/* How to read a thread's memory. */
struct remote_loads_from {
	pid_t tid;
	/* /proc/PID/mem, opened by gdb, for when we may not read the memory otherwise; or -1 */
	int mem;
};

/*
 * Read for @rec, whose registers, arguments and flags are filled in, what @loads (of SITE_LOADS) say and
 * @want bytes of stack: fills loads, loads_read, loads_null, text, slice and slice_len, and sets RECORD_CUT.
 * @result: the register with the function's result, or NULL: there is none yet. There must be space for @want
 * bytes after @rec. 0, or -EPERM: the target's memory may not be read any more.
 */
must_check int remote_loads_read(struct remote_loads_from from, const struct site_load *loads,
				 const uint64_t *result, uint32_t want, struct record_hit *rec);

/*
 * Read @n pieces of a thread's memory, one after the other, until one is not there: how many bytes were read.
 */
size_t remote_loads_pages(struct remote_loads_from from, const struct iovec *here, const struct iovec *there,
			  uint32_t n);

/* One word of a thread's memory; false if it cannot be read. */
bool remote_loads_word(struct remote_loads_from from, taddr addr, uint64_t *out);

#endif
