/* SPDX-License-Identifier: MIT */
/*
 * scan_watched: what a watch of the same process knows of the blocks that a scan finds (--with-trace): their
 * stacks.
 *
 * The trace ends before the scan: a block of it may have been freed since, and its address allocated again. A
 * block of another size is certainly another one; one of the same size may be, and the report says so.
 */
#ifndef MM_SCAN_WATCHED_H
#define MM_SCAN_WATCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/options/options.h"
#include "base/cleanup.h"
#include "heap/block.h"
#include "report/ledger/ledger.h"
#include "report/model/stack.h"

struct scan_watched {
	struct ledger ledger;
	bool there;
	struct block *blocks;		/* all live blocks of the trace, sorted: scan_watched_blocks */
	size_t nblocks;
	bool *usable;			/* of each book: the sizes are usable ones, as those of a scan */
};

/* What a block of a scan is to the trace. */
enum scan_watched_is {
	SCAN_WATCHED_NOT,
	SCAN_WATCHED_SAME,		/* as far as can be seen: its address and size */
	SCAN_WATCHED_CERTAIN,		/* it was lost when the watch ended, so it was not freed since */
	SCAN_WATCHED_RESIZED,		/* its address was another block's, which was freed since */
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

/* The index of the stack that allocated @b, or SCAN_NO_STACK; and @is. */
uint32_t scan_watched_stack(const struct scan_watched *w, const struct block *b, enum scan_watched_is *is);

/*
 * The frames of that stack, and which of them only forward the allocation; the caller frees out->frames. 0 or
 * -ENOMEM.
 */
must_check int scan_watched_expand(const struct scan_watched *w, uint32_t stack, struct stack_view *out);

/* The number of blocks that were live at the end of the watch. */
uint64_t scan_watched_count(const struct scan_watched *w);

/* When the watch ended: nanoseconds since 1970; 0: not known. */
int64_t scan_watched_end_ns(const struct scan_watched *w);

/* Fill w->blocks, for a scan that has no other list of blocks. 0 or -ENOMEM. */
must_check int scan_watched_blocks(struct scan_watched *w);

#endif
