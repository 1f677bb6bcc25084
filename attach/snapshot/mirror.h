/* SPDX-License-Identifier: MIT */
/*
 * mirror: which of a process's memory can hold a pointer to a block, and is copied in a pause.
 *
 *	private, writable			all pages that are there: heaps, stacks, .data, .bss
 *	private, readable, of no file		the same: what was written and is protected now, code made at run time
 *	private, readable, of a file		pages that are not as in the file: .data.rel.ro, after relocation
 *	private, not readable, of no file	the same as writable, through /proc/PID/mem: a runtime may take a page's
 *						rights away for a while (its garbage collector's barrier)
 *	shared, of no file or writable		pages that are in this process's page table, if they are not too many (below)
 *	code of a file, the kernel's, devices	none
 *
 * Shared memory is mostly large, and mostly somebody's data: a database's buffers, a switch's packets. So there is a budget for all of it, and the
 * smallest mappings come first; what does not fit is left out, and said (mirror_choose_shares). A page of it that this process has not in its own
 * page table, though others have, is never read: that would map it.
 *
 * A device's registers are not memory: process_vm_readv refuses them, and /proc/PID/mem, which does not, is only used
 * for mappings of no file. Unused parts of glibc's arenas are without rights as well, but have no pages.
 *
 * The list is read twice, before the stop and in it. So that the second time nothing is allocated, its room stays.
 */
#ifndef MM_MIRROR_H
#define MM_MIRROR_H

#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/procmaps.h"

enum mirror_how {
	MIRROR_NOT,
	MIRROR_ALL,
	MIRROR_WRITTEN,		/* what is not as in its file */
	MIRROR_FORCED,		/* through /proc/PID/mem */
	MIRROR_SHARED,		/* all, unless it was left out */
};

struct mirror_range {
	taddr lo, hi;
	enum mirror_how how;
	uint64_t bytes;		/* MIRROR_SHARED: resident when they were measured */
};

struct mirror {
	int maps_fd;		/* /proc/TID/maps */
	char *text;
	size_t text_room;
	struct mapping *maps;	/* paths point into text */
	size_t nmaps, maps_room;
	struct mirror_range *ranges;	/* neighbours of one kind are one, but for shared ones; as much room as for maps */
	size_t nranges;
	struct mirror_range *left;	/* shared ones that are too large, sorted: no ranges; the same room */
	size_t nleft;
};

#define MIRROR_INIT { .maps_fd = -1 }

/* What is done with a mapping's pages. */
enum mirror_how mirror_of(const struct mapping *m);

/* @tid: any living thread. Nothing is read yet. 0 or -errno. */
must_check int mirror_open(struct mirror *m, pid_t tid);
void mirror_close(struct mirror *m);

/* Read the list, into as much room as it takes and half as much again. 0 or -errno. */
must_check int mirror_prepare(struct mirror *m);

/* Read it once more, into the room that there is: nothing is allocated. 0; -ENOBUFS: it has outgrown it; -errno. */
must_check int mirror_read(struct mirror *m);

/*
 * Of the shared ranges, whose `bytes` are known, leave out those that are more than @budget together, the largest first; also when the list is
 * read again, until the next mirror_prepare. How many bytes that spares, with those left out before.
 */
uint64_t mirror_choose_shares(struct mirror *m, uint64_t budget);

/* Text and maps are @out's from now on. */
void mirror_give_maps(struct mirror *m, struct procmaps *out);

#endif
