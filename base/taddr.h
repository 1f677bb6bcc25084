/* SPDX-License-Identifier: MIT */
/*
 * taddr: an address in the target.
 *
 * Never a pointer: the compiler then refuses the most natural bug of this program, dereferencing another
 * process's memory.
 */
#ifndef MM_TADDR_H
#define MM_TADDR_H

#include <inttypes.h>
#include <stdint.h>

typedef uint64_t taddr;

#define PRItaddr "0x%" PRIx64

#endif
