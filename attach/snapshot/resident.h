/* SPDX-License-Identifier: MIT */
/*
 * resident: which pages of a process are in memory, by /proc/PID/pagemap, without touching any of them.
 *
 * To read a page that is not there is to make one: process_vm_readv of a stack of which 16 pages were touched
 * leaves the target with 16,384. So no memory of a target is copied that was not looked up here.
 *
 * If the kernel has it (6.7), the ioctl PAGEMAP_SCAN gives runs of pages, and skips what is not mapped;
 * otherwise the file is read, eight bytes a page. Both give the same.
 */
#ifndef MM_RESIDENT_H
#define MM_RESIDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/taddr.h"

/* Consecutive pages of one kind. */
struct resident_run {
	taddr lo, hi;
	/*
	 * swapped out: written once, but not in memory now. false: in memory, and not the kernel's page of
	 * zeros, as far as that is known
	 */
	bool swapped;
};

struct resident {
	int pagemap;
	bool scan;		/* PAGEMAP_SCAN works; may be set to false */
	uint64_t guard;		/* its flag for guard pages, or 0 */
	uint64_t *entries;	/* entries of pagemap, if it is read */
};

#define RESIDENT_INIT { .pagemap = -1 }

/*
 * @tid: any living thread. If the process execs or ends later, what is read is of the memory that it has
 * then. 0 or -errno.
 */
must_check int resident_open(struct resident *r, pid_t tid);
void resident_close(struct resident *r);

/*
 * Runs from *@at on, below @end, at most @room, and not many more than @max_pages pages. *@at is set to where
 * to continue, or to @end when all was seen. @written: only pages that are not as in their file. Returns the
 * number of runs, which may be 0 before the end; -errno. One caller at a time.
 */
must_check int resident_next(struct resident *r, taddr *at, taddr end, bool written, uint64_t max_pages,
			     struct resident_run *runs, size_t room);

#endif
