/* SPDX-License-Identifier: MIT */
/*
 * atwork: which threads of a snapshot may be inside an allocator. A thread that is in its code, or in a
 * system call that an allocator makes, may have changed one half of something and not the other; if there is
 * none, whatever does not fit together is corrupt. A signal handler that interrupted the allocator is not
 * seen: its thread is elsewhere.
 */
#ifndef MM_ATWORK_H
#define MM_ATWORK_H

#include <stdbool.h>
#include <stddef.h>

#include "heap/snapshot/snapshot.h"

/*
 * May the thread be inside the allocator whose code is in the file of mapping @file? One that waits for a
 * futex is only if that is in [lo, hi), where the allocator's locks are.
 */
bool atwork_is_in_file(const struct snapshot *s, const struct snapshot_thread *t, const struct mapping *file,
		       taddr lo, taddr hi);

/* The number of threads for which that is so. */
size_t atwork_in_file(const struct snapshot *s, const struct mapping *file, taddr lo, taddr hi);

#endif
