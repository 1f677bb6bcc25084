/* SPDX-License-Identifier: MIT */
/*
 * registers: the general registers of a stopped thread but its stack pointer. What an allocator has just
 * taken out of one list, and not put into another yet, is in one of them. (For roots: heap/reach/roots.h.)
 */
#ifndef MM_REGISTERS_H
#define MM_REGISTERS_H

#include <stdbool.h>

#include "heap/snapshot/snapshot.h"

#define REGISTERS 15u

/* Zeros, if they are not known. */
void registers_general(const struct snapshot_thread *t, uint64_t out[REGISTERS]);

/* Has one of them a value from @lo to @hi? */
bool registers_have_in(const struct snapshot_thread *t, uint64_t lo, uint64_t hi);

static inline bool registers_have(const struct snapshot_thread *t, uint64_t value)
{
	return registers_have_in(t, value, value);
}

#endif
