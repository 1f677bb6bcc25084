/* SPDX-License-Identifier: MIT */
/*
 * copy_plan: which memory of a process can hold a pointer to a block, and is copied in a pause.
 *
 *	private, writable	all resident pages: heaps, stacks, .data, .bss
 *	private, readable,	the same: memory that was written and is protected now, code made at run
 *	of no file		time
 *	private, readable,	pages that are not as in the file: .data.rel.ro, after relocation
 *	of a file
 *	private, not readable,	as if writable, through /proc/PID/mem: a runtime may remove a page's
 *	of no file		rights for a while (its garbage collector's barrier)
 *	shared, of no file	pages that are in this process's page table, if they are not too many
 *	or writable		(below)
 *	code of a file, the	none
 *	kernel's, devices
 *
 * Shared memory is mostly large, and mostly payload: a database's buffers, a switch's packets. So there is a
 * limit for all of it, and the smallest mappings are preferred; what does not fit is left out, and reported
 * (copy_plan_limit_shared). A shared page that is not in this process's own page table, though in others', is
 * never read: reading would map it.
 *
 * A device's registers are not memory: process_vm_readv refuses them, and /proc/PID/mem, which does not, is
 * only used for mappings of no file. Unused parts of glibc's arenas are without rights as well, but have no
 * pages.
 *
 * The list is read twice, before the stop and in it. Its buffers stay, so that nothing is allocated the
 * second time.
 */
#ifndef MM_COPY_PLAN_H
#define MM_COPY_PLAN_H

#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/procmaps.h"

enum copy_how {
	COPY_NOT,
	COPY_ALL,
	COPY_WRITTEN,		/* pages that are not as in their file */
	COPY_FORCED,		/* through /proc/PID/mem */
	COPY_SHARED,		/* all pages, unless the mapping was left out */
};

struct copy_range {
	taddr lo, hi;
	enum copy_how how;
	uint64_t bytes;		/* COPY_SHARED: bytes resident when it was measured */
};

struct copy_plan {
	int maps_fd;		/* /proc/TID/maps */
	char *text;
	size_t text_room;
	struct mapping *maps;	/* paths point into text */
	size_t nmaps, maps_room;
	/* adjacent ranges of one kind are merged, except shared ones; as many entries as maps */
	struct copy_range *ranges;
	size_t nranges;
	/* shared ones that are too large, by address: not in ranges; as many entries as maps */
	struct copy_range *left_out;
	size_t nleft_out;
};

#define COPY_INIT { .maps_fd = -1 }

/* How a mapping's pages are to be copied. */
enum copy_how copy_plan_of(const struct mapping *m);

/* @tid: any living thread. Nothing is read yet. 0 or -errno. */
must_check int copy_plan_open(struct copy_plan *m, pid_t tid);
void copy_plan_close(struct copy_plan *m);

/* Read the list, into buffers that have space for half as much again. 0 or -errno. */
must_check int copy_plan_prepare(struct copy_plan *m);

/* Read it again, into the same buffers: nothing is allocated. 0; -ENOBUFS: it has outgrown them; -errno. */
must_check int copy_plan_read(struct copy_plan *m);

/*
 * Of the shared ranges, whose `bytes` are known, leave out the largest, until the rest is not more than
 * @budget; also when the list is read again, until the next copy_plan_prepare. Returns how many bytes are
 * left out, including those that were before.
 */
uint64_t copy_plan_limit_shared(struct copy_plan *m, uint64_t budget);

/* Text and maps belong to @out from now on. */
void copy_plan_move_maps(struct copy_plan *m, struct procmaps *out);

#endif
