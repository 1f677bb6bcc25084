/* SPDX-License-Identifier: MIT */
/*
 * gather: many small pieces of a running process's memory, read in few calls, without touching a page that is not in memory.
 *
 * To read a page that is not there is to make one, and to read one that was swapped out is to fetch it (attach/snapshot/resident.h). So each piece's pages
 * are looked up in /proc/PID/pagemap first, once for all pieces of a call. Between that and the reading a page may go: then the kernel's page
 * of zeros is mapped there, which nobody is charged for.
 *
 * The file stays that of the memory there was when it was opened: after an exec, or at the end, it is empty.
 */
#ifndef MM_GATHER_H
#define MM_GATHER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "base/taddr.h"

#define GATHER_PIECES 1024u	/* read by one process_vm_readv: what the kernel takes */

enum gathered {
	GATHERED,
	GATHER_ABSENT,		/* not mapped, never touched, or given back to the kernel */
	GATHER_SWAPPED,		/* in no memory now (or on its way from one page to another) */
	GATHER_FAILED,		/* it was there, and could not be read: gone since, or protected */
};

struct gather_piece {
	taddr at;
	void *to;
	uint32_t n;		/* at most a page's */
	enum gathered got;
};

struct gather {
	pid_t pid;
	int pagemap;
	struct addrmap pages;	/* of the call: page -> enum gathered */
	uint64_t calls;
};

#define GATHER_INIT { .pagemap = -1 }

/* 0, -ESRCH, -EPERM or whatever the file's opening says. */
must_check int gather_open(struct gather *g, pid_t pid);
void gather_close(struct gather *g);

/* Read all @pieces (below 2^47), and say of each what came of it. 0; -ESRCH (or it has exec'd), -EPERM, -ENOMEM: of none. */
must_check int gather_read(struct gather *g, struct gather_piece *pieces, size_t n);

#endif
