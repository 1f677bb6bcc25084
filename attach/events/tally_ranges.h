/* SPDX-License-Identifier: MIT */
/*
 * tally_ranges: ranges of addresses that are taken, given back in parts, moved: memory as the kernel knows it.
 *
 *	alloc	a range begins, and ends what was there before; of a negative size: so much below ptr is given back (sbrk)
 *	protect	what was only set apart (memory that nobody may write: PROT_NONE) becomes somebody's, or the other way round; memory
 *		that could be written before stays whose it was, and that of nobody that is known nobody's
 *	realloc	opens: the old range is out of the table, for another thread may get its addresses before the call has ended
 *		closes: what there was goes on at the new place, older as before; what came to it is new
 *	free	it is given back, or a part of it
 *
 * In the ledger a range is a block that begins where the range does. Facts know no parts: a range of which a part is given
 * back is forgotten, and what is left of it is held again, as old as it is. So a release counts once its last part has gone.
 */
#ifndef MM_TALLY_RANGES_H
#define MM_TALLY_RANGES_H

#include <sys/types.h>

#include "attach/events/tallied.h"

/* What lay in [lo, hi), put aside while it is moved. */
struct range_move {
	taddr lo, hi;
	struct range *parts;
	size_t n;
};

void range_move_fini(struct range_move *m);

void tally_range(struct tally *t, const struct tallied *x);

/*
 * What addresses the target has set apart without using them: before anything is trapped, or what happens meanwhile is lost. Only
 * families of ranges ask. 0 or -errno.
 */
must_check int tally_ranges_begin(struct tally *t, pid_t pid);

#endif
