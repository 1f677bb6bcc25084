/* SPDX-License-Identifier: MIT */
/*
 * live_pages: the memory of a running process, page by page as it is asked for: a source of a snapshot
 * (heap/snapshot/snapshot.h), so that what a census finds in a copy can be looked for without one, and
 * without stopping the process. Only pages that are in memory are read, each once, and not more than
 * LIVE_PAGES_MOST.
 */
#ifndef MM_LIVE_PAGES_H
#define MM_LIVE_PAGES_H

#include <sys/types.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "heap/snapshot/snapshot.h"

#define LIVE_PAGES_MOST 32768u

struct live_pages {
	struct snapshot_source source;
	pid_t pid;
	int pagemap;
	struct addrmap pages;		/* page -> its bytes, or NULL */
	struct addrmap parts;		/* number of a part -> the entries of pagemap of its pages, or NULL */
	size_t read;
};

/* 0 or -errno of opening /proc/PID/pagemap. */
must_check int live_pages_open(struct live_pages *p, pid_t pid);
void live_pages_close(struct live_pages *p);

/*
 * Have @find look for something in the memory of process @pid: in a snapshot that has the data of the program
 * and its libraries, as far as it is in memory; all else is read as @find asks for it. What @find returns, or
 * -errno.
 */
must_check int live_pages_find(pid_t pid, int (*find)(const struct snapshot *s, void *out), void *out);

#endif
