/* SPDX-License-Identifier: MIT */
/*
 * wrappers: functions that only pass an allocation on: operator new, std::allocator, strdup, xmalloc, g_malloc. Nobody looks for
 * a leak in them, so they are left out at the front of a stack; the first other function is "where". Besides those that everybody
 * has, a run's own rules may name some.
 */
#ifndef MM_WRAPPERS_H
#define MM_WRAPPERS_H

#include <stdbool.h>
#include <stddef.h>

#include "report/model/summary.h"

/*
 * Of who took memory from the kernel: how many frames at the front are the allocator's own, up to the function that was called for a
 * block (malloc, operator new). What lies before that needs no names: it is code of the same file. Of a library that is nothing but an
 * allocator all of them. 0: it was no allocator, or nobody
 * is behind it.
 */
size_t wrappers_allocator(const struct summary_frame *frames, size_t n);

/* Mark as wrappers the frames at the front that are of a function in @skips, as the rules of a run name it. */
void wrappers_mark(struct summary_frame *frames, size_t n, const char *const *skips, size_t nskips);

/* How many frames at the front of the stack are wrappers, with what is inlined into them. 0 if all are: then none is left out. */
size_t wrappers_count(const struct summary_frame *frames, size_t n);

#endif
