/* SPDX-License-Identifier: MIT */
/*
 * wrappers: functions that only forward an allocation: operator new, std::allocator, strdup, xmalloc,
 * g_malloc. They do not cause a leak, so they are left out at the front of a stack; the first other function
 * is the allocation site. Beside the built-in ones, the rules of a run may name more.
 */
#ifndef MM_WRAPPERS_H
#define MM_WRAPPERS_H

#include <stdbool.h>
#include <stddef.h>

#include "report/model/summary.h"

/*
 * For a stack that obtained memory from the kernel: how many frames at the front are the allocator's own, up
 * to the function that was called for a block (malloc, operator new). The frames before that one need no
 * names: they are code of the same file. In a library that is nothing but an allocator, all its frames count.
 * 0: this was not an allocator, or no frame follows.
 */
size_t wrappers_allocator(const struct summary_frame *frames, size_t n);

/*
 * Mark as wrappers the frames at the front whose function is in @skips, which the rules of a run name; and in
 * a stack with frames of a script those of its interpreter: the allocation site is the line of the script, or
 * the extension that it has called.
 */
void wrappers_mark(struct summary_frame *frames, size_t n, const char *const *skips, size_t nskips);

/*
 * How many frames at the front of the stack are wrappers, including functions inlined into them. 0 if all
 * are: then none is left out.
 */
size_t wrappers_count(const struct summary_frame *frames, size_t n);

/* Is it a function of the C++ or Rust library that was called by name: not operator new? */
bool wrappers_is_of_library(const struct summary_frame *f);

#endif
