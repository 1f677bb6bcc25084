/* SPDX-License-Identifier: MIT */
/*
 * shared_maps: memory that other processes can write to as well, and which of it can contain a pointer of
 * this process.
 *
 *	no file (System V's, POSIX's, memfd,	as private memory of no file: also if it is protected now
 *	anonymous, huge pages)
 *	a file's				if it is writable; what is only read was a file before
 *	a device's, a ring shared with		none: reading it may have effects, and it is no heap
 *	the kernel
 *
 * They are recognised by their path, because nothing else shows it. A misleading path does no harm:
 * process_vm_readv, which copies shared memory, refuses what is no memory.
 */
#ifndef MM_SHARED_MAPS_H
#define MM_SHARED_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/procmaps.h"
#include "heap/snapshot/snapshot.h"

enum shared_map {
	SHARED_MAP_NOT,		/* private */
	SHARED_MAP_MEMORY,
	SHARED_MAP_FILE,
	SHARED_MAP_DEVICE,
};

enum shared_map shared_map_of(const struct mapping *m);

/* Is it a shared mapping in which there may be a pointer? Whether it is readable now is another question. */
bool shared_map_may_point(const struct mapping *m);

/* Bytes of such mappings that are neither in the snapshot nor counted as swapped or missing. */
uint64_t shared_maps_unseen(const struct snapshot *s);

#endif
