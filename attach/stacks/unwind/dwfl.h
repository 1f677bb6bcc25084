/* SPDX-License-Identifier: MIT */
/*
 * dwfl: the stack as elfutils' libdwfl finds it, to check our own unwinder (--unwinder dwfl).
 *
 * A hundred times slower than ours, and it reads the target's memory: the thread must be held. It trusts
 * files more than we do, so it is not for targets that are not trusted.
 */
#ifndef MM_UNWIND_DWFL_H
#define MM_UNWIND_DWFL_H

#include <sys/types.h>

#include "attach/stacks/unwind/unwind.h"

struct unwind_dwfl;

/* 0; -EIO: libdwfl failed; or -errno. */
must_check int unwind_dwfl_new(pid_t pid, struct unwind_dwfl **out);
void unwind_dwfl_free(struct unwind_dwfl *d);

/* Something was mapped or unmapped, or the target has exec'ed. */
void unwind_dwfl_modules_changed(struct unwind_dwfl *d);

/* Like unwind(); the thread must be held. */
void unwind_dwfl(struct unwind_dwfl *d, const struct user_regs_struct *regs, bool returned, uint32_t max,
		 struct unwind_stack *out);

#endif
