/* SPDX-License-Identifier: MIT */
/*
 * codemap: is what is mapped at an address code that a trap may be written into?
 *
 * Bytes that are the file's do not tell: when a plugin is closed, the program may map the same file as data at the same place. Written there through
 * /proc/PID/mem, an int3 changes what the program reads, and where the mapping is shared and writable, the file itself. So the kernel is asked of the one
 * mapping (PROCMAP_QUERY, from 6.11 on, 0.6 us); all of /proc/PID/maps would take milliseconds where there are thousands of them.
 */
#ifndef MM_CODEMAP_H
#define MM_CODEMAP_H

#include <stdbool.h>

#include "base/taddr.h"

/*
 * Executable, and not shared? @maps: /proc/PID/maps, open; 0: there is nobody to ask. true as well where the kernel does not answer such questions: then
 * only what the dynamic linker says of its modules tells (metering.h).
 */
bool codemap_is_code(int maps, taddr addr);

#endif
