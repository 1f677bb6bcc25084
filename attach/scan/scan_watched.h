/* SPDX-License-Identifier: MIT */
/*
 * scan_watched: what a watch of the same process knows of the blocks that a scan finds (--with-trace): their
 * stacks.
 *
 * The trace ends before the scan: a block of it may have been freed since, and its address allocated again. A
 * block counts as the same one if its size fits; the report says that this is not certain.
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
	struct block *blocks;		/* all live blocks of the trace, sorted: scan_watched_blocks */
	size_t nblocks;
};

#define SCAN_NO_STACK UINT32_MAX

/*
 * Read the traces that @opt names, and find names for their frames; do nothing if there are none. 0 or -errno
 * (logged). Call scan_watched_close in any case.
 */
must_check int scan_watched_open(const struct options *opt, struct scan_watched *out);
void scan_watched_close(struct scan_watched *w);

/* Is it a trace of process @pid (0: not known)? If not, its process is logged. */
bool scan_watched_is_of(const struct scan_watched *w, int pid);

/* The index of the stack that allocated @b, or SCAN_NO_STACK. */
uint32_t scan_watched_stack(const struct scan_watched *w, const struct block *b);

/* Fill w->blocks, for a scan that has no other list of blocks. 0 or -ENOMEM. */
must_check int scan_watched_blocks(struct scan_watched *w);

#endif
