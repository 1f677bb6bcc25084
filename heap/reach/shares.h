/* SPDX-License-Identifier: MIT */
/*
 * shares: memory that others can write to as well, and what of it can hold a pointer of this process.
 *
 *	memory of no file (System V's, POSIX's, memfd, anonymous, huge pages)	as private memory of no file: also what is protected now
 *	a file's								where it can be written to; what is only read has been a file before
 *	a device's, a ring's that the kernel shares					none: to look there may do something, and it is nobody's heap
 *
 * Known by its path, for nothing else tells. A path that lies does no harm: process_vm_readv, by which shared memory is copied, refuses what is no memory.
 */
#ifndef MM_SHARES_H
#define MM_SHARES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/procmaps.h"
#include "heap/snapshot/snapshot.h"

enum share {
	SHARE_NOT,		/* private */
	SHARE_MEMORY,
	SHARE_FILE,
	SHARE_DEVICE,
};

enum share share_of(const struct mapping *m);

/* A shared mapping in which there may be a pointer; whether it can be read now is another question. */
bool share_may_point(const struct mapping *m);

/* Bytes of such mappings that are neither here nor counted as swapped or missing. */
uint64_t shares_unseen(const struct snapshot *s);

#endif
