/* SPDX-License-Identifier: MIT */
/*
 * codemap: is what is mapped at an address code that a trap may be written into?
 *
 * To compare the bytes with the file's is not enough: when a plugin is closed, the program may map the same
 * file as data at the same address. An int3 written there through /proc/PID/mem changes what the program
 * reads, and if the mapping is shared and writable, the file itself. So the kernel is asked about the one
 * mapping (PROCMAP_QUERY, from 6.11 on, 0.6 us), just before an int3 is written and again afterwards (trap.c,
 * write_trap); to read all of /proc/PID/maps would take milliseconds where there are thousands of mappings.
 */
#ifndef MM_CODEMAP_H
#define MM_CODEMAP_H

#include "base/taddr.h"

enum codemap {
	/*
	 * executable and private; also if there is no file to ask, or the kernel does not answer: then only
	 * the dynamic linker's reports on modules help (trap_rounds.h)
	 */
	CODEMAP_CODE,
	CODEMAP_SHARED,	/* executable, but not private: a write there goes into the file */
	CODEMAP_OTHER,	/* nothing, or data */
};

/* What is mapped at @addr. @maps: /proc/PID/maps, open; 0: there is no file to ask. */
enum codemap codemap_at(int maps, taddr addr);

#endif
