/* SPDX-License-Identifier: MIT */
/*
 * remote_read: reads many small pieces of a running process's memory in few calls, without touching a page
 * that is not resident.
 *
 * Reading a page that is not there creates it, and reading one that was swapped out fetches it
 * (attach/snapshot/resident.h). So the pages of each piece are looked up in /proc/PID/pagemap first, once for
 * all pieces of a call. A page may go between the look-up and the reading: then reading maps the kernel's
 * zero page there, which no process is charged for.
 *
 * The open file refers to the memory that the process had when it was opened: after an exec, or after its
 * end, the file is empty.
 */
#ifndef MM_REMOTE_READ_H
#define MM_REMOTE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "base/taddr.h"

#define REMOTE_READ_PIECES 1024u	/* read by one process_vm_readv: the kernel's limit */

enum remote_read_result {
	REMOTE_READ_DONE,
	REMOTE_READ_ABSENT,		/* not mapped, never touched, or returned to the kernel */
	REMOTE_READ_SWAPPED,		/* not in memory now (or being migrated) */
	REMOTE_READ_FAILED,		/* it was there, and could not be read: gone since, or protected */
};

struct remote_read_piece {
	taddr at;
	void *to;
	uint32_t n;		/* at most a page; 0: nothing to be read */
	enum remote_read_result got;
};

static inline struct remote_read_piece remote_read_piece(taddr at, void *to, uint64_t n)
{
	return (struct remote_read_piece){ .at = at, .to = to, .n = (uint32_t)n, .got = REMOTE_READ_FAILED };
}

static inline bool remote_read_has(const struct remote_read_piece *p)
{
	return p->n && p->got == REMOTE_READ_DONE;
}

struct remote_read {
	pid_t pid;
	int pagemap;
	struct addrmap pages;	/* of the call: page -> enum remote_read_result */
	uint64_t calls;
};

/* Can @word be the address of something that has words? */
static inline bool remote_read_is_address(uint64_t word)
{
	return word % 8 == 0 && word >= 4096 && word < (1ull << 47) - 4096;
}

/* Read some words at @at, resident or not, with a call of their own. false: they could not be read. */
bool remote_read_words(pid_t pid, taddr at, uint64_t *to, size_t bytes);

#define REMOTE_READ_INIT { .pagemap = -1 }

/* 0, -ESRCH, -EPERM or another error of opening the file. */
must_check int remote_read_open(struct remote_read *g, pid_t pid);
void remote_read_close(struct remote_read *g);

/*
 * Read all @pieces (below 2^47), and set `got` of each that is not empty. 0; -ESRCH (or it has exec'd),
 * -EPERM, -ENOMEM: none is set.
 */
must_check int remote_read_now(struct remote_read *g, struct remote_read_piece *pieces, size_t n);

#endif
