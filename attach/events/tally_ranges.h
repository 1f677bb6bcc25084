/* SPDX-License-Identifier: MIT */
/*
 * tally_ranges: ranges of addresses that are allocated, freed in parts, moved: memory as the kernel maps it.
 *
 *	alloc	a range begins, and replaces what was there; if the size is negative, that much below ptr is
 *		freed (sbrk)
 *	protect	a range that was only reserved (not writable: PROT_NONE) becomes live, or the other way round;
 *		a range that was writable before keeps its stack, and unknown addresses stay unknown
 *	realloc	opens: the old range is removed from the table, as another thread may get its addresses before
 *		the call ends
 *		closes: the old range is put in again at the new address, with its age; what was added is new
 *	free	a range, or a part of it, is freed
 *
 * In the ledger, a range is a block that begins where the range does. Facts have no parts: if a part of a
 * range is freed, the range is forgotten, and what is left becomes live again with its old age. So a free
 * counts when the last part has gone.
 */
#ifndef MM_TALLY_RANGES_H
#define MM_TALLY_RANGES_H

#include <sys/types.h>

#include "attach/events/tallied.h"

/* The parts of ranges that were in [lo, hi), put aside while they are moved. */
struct range_move {
	taddr lo, hi;
	struct range *parts;
	size_t n;
};

void range_move_fini(struct range_move *m);

void tally_range(struct tally *t, const struct tallied *x);

/*
 * Read which addresses the target has reserved without using them. Call it before any trap is planted: later,
 * what happens between planting and reading would be lost. Only families of ranges need it. 0 or -errno.
 */
must_check int tally_ranges_begin(struct tally *t, pid_t pid);

#endif
