/* SPDX-License-Identifier: MIT */
/*
 * codemap: is what is mapped at an address code that a trap may be written into?
 *
 * Bytes that are the file's do not tell: when a plugin is closed, the program may map the same file as data at the same place. Written there through
 * /proc/PID/mem, an int3 changes what the program reads, and where the mapping is shared and writable, the file itself. So the kernel is asked of the one
 * mapping (PROCMAP_QUERY, from 6.11 on, 0.6 us), just before an int3 is written and again afterwards (trap.c, write_trap); all of /proc/PID/maps would
 * take milliseconds where there are thousands of them.
 */
#ifndef MM_CODEMAP_H
#define MM_CODEMAP_H

#include "base/taddr.h"

enum codemap {
	CODEMAP_CODE,	/* executable and private; also where there is nobody to ask, or the kernel does not answer such questions: then */
			/* only what the dynamic linker says of its modules tells (metering.h) */
	CODEMAP_SHARED,	/* executable, but not private: what is written there is written into the file */
	CODEMAP_OTHER,	/* nothing, or data */
};

/* What is mapped at @addr. @maps: /proc/PID/maps, open; 0: there is nobody to ask. */
enum codemap codemap_at(int maps, taddr addr);

#endif
