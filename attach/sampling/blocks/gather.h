/* SPDX-License-Identifier: MIT */
/*
 * gather: reads many small pieces of a running process's memory in few calls, without touching a page that is
 * not resident.
 *
 * Reading a page that is not there creates it, and reading one that was swapped out fetches it
 * (attach/snapshot/resident.h). So the pages of each piece are looked up in /proc/PID/pagemap first, once for
 * all pieces of a call. A page may go between the look-up and the reading: then the kernel's zero page is
 * mapped there, which no process is charged for.
 *
 * The open file refers to the memory that the process had when it was opened: after an exec, or after its
 * end, the file is empty.
 */
#ifndef MM_GATHER_H
#define MM_GATHER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "base/taddr.h"

#define GATHER_PIECES 1024u	/* read by one process_vm_readv: the kernel's limit */

enum gathered {
	GATHERED,
	GATHER_ABSENT,		/* not mapped, never touched, or returned to the kernel */
	GATHER_SWAPPED,		/* not in memory now (or being migrated) */
	GATHER_FAILED,		/* it was there, and could not be read: gone since, or protected */
};

struct gather_piece {
	taddr at;
	void *to;
	uint32_t n;		/* at most a page */
	enum gathered got;
};

struct gather {
	pid_t pid;
	int pagemap;
	struct addrmap pages;	/* of the call: page -> enum gathered */
	uint64_t calls;
};

#define GATHER_INIT { .pagemap = -1 }

/* 0, -ESRCH, -EPERM or another error of opening the file. */
must_check int gather_open(struct gather *g, pid_t pid);
void gather_close(struct gather *g);

/*
 * Read all @pieces (below 2^47), and set `got` of each. 0; -ESRCH (or it has exec'd), -EPERM, -ENOMEM: none
 * is set.
 */
must_check int gather_read(struct gather *g, struct gather_piece *pieces, size_t n);

#endif
