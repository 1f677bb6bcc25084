/* SPDX-License-Identifier: MIT */
/*
 * scan_watched: what a watch of the same process knows of the blocks that a scan finds (--with-trace): who took them.
 *
 * The trace ends before the scan: a block of it may have been released since, and its address given out again. A block is
 * taken for the same one if its size fits; what that leaves open is said in the report.
 */
#ifndef MM_SCAN_WATCHED_H
#define MM_SCAN_WATCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/options/options.h"
#include "base/cleanup.h"
#include "heap/block.h"
#include "report/ledger/ledger.h"

struct scan_watched {
	struct ledger ledger;
	bool there;
	struct block *blocks;		/* all that the trace says are held, sorted: scan_watched_blocks */
	size_t nblocks;
};

#define SCAN_NO_STACK UINT32_MAX

/* Read the traces that @opt names, and names for their frames. Nothing if there are none. 0 or -errno (said). scan_watched_close in any case. */
must_check int scan_watched_open(const struct options *opt, struct scan_watched *out);
void scan_watched_close(struct scan_watched *w);

/* Is it a trace of process @pid (0: not known)? What it is of otherwise is said. */
bool scan_watched_is_of(const struct scan_watched *w, int pid);

/* The index of the stack that took @b, or SCAN_NO_STACK. */
uint32_t scan_watched_stack(const struct scan_watched *w, const struct block *b);

/* Fill w->blocks: for when nothing else knows which blocks there are. 0 or -ENOMEM. */
must_check int scan_watched_blocks(struct scan_watched *w);

#endif
