/* SPDX-License-Identifier: MIT */
/*
 * libunwind: the stack as libunwind's remote unwinder finds it, to check our own unwinder (--unwinder
 * libunwind). As with libdwfl (dwfl.h), the thread must be held, and files are trusted more than by ours.
 */
#ifndef MM_UNWIND_LIBUNWIND_H
#define MM_UNWIND_LIBUNWIND_H

#include <sys/types.h>

#include "attach/stacks/unwind/unwind.h"

struct unwind_libunwind;

/* 0 or -errno. */
must_check int unwind_libunwind_new(pid_t pid, struct unwind_libunwind **out);
void unwind_libunwind_free(struct unwind_libunwind *l);

/* Something was mapped or unmapped, or the target has exec'ed. */
void unwind_libunwind_modules_changed(struct unwind_libunwind *l);

/* Like unwind(); the thread must be held. */
void unwind_libunwind(struct unwind_libunwind *l, const struct user_regs_struct *regs, bool returned,
		      uint32_t max, struct unwind_stack *out);

#endif
