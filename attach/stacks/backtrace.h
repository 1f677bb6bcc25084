/* SPDX-License-Identifier: MIT */
/*
 * backtrace: from a hit to the number of the stack that made the call.
 *
 * At a function's `ret`, and behind it, all registers are the caller's already: there the walk begins with
 * the caller, and needs no unwind information of the allocator. Elsewhere it begins at the trap, and the
 * watched function's own frame is left out.
 *
 * The unwinder is our own, from the slice, while the thread runs; or one of the oracles (libdwfl, libunwind),
 * for which the thread is held; or all three, to compare them (UNWINDER_CHECK): then the result is ours, and
 * differences are counted and logged.
 */
#ifndef MM_BACKTRACE_H
#define MM_BACKTRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/keeper/shared/event.h"
#include "attach/options/unwinders.h"
#include "attach/stacks/python/runtime.h"
#include "attach/stacks/ruby/rbruntime.h"
#include "attach/stacks/scripts/script_places.h"
#include "attach/stacks/scripts/scripts.h"
#include "attach/stacks/slice_size.h"
#include "attach/stacks/stacks.h"
#include "attach/stacks/unwind/dwfl.h"
#include "attach/stacks/unwind/libunwind.h"
#include "attach/stacks/unwind/unwind.h"
#include "attach/target/modules.h"
#include "base/cleanup.h"

/* Counted for UNWINDER_CHECK. */
struct backtrace_check {
	uint64_t compared;		/* stacks */
	uint64_t oracles_differ;	/* from each other: which is right is unknown */
	uint64_t ours_differs;		/* from the oracles, where they agree */
};

struct backtrace {
	enum unwinders which;
	struct shared *shared;		/* shows whether a thread is still held */
	uint32_t depth;			/* frames recorded at most */
	struct unwinder *cfi;
	struct unwind_dwfl *dwfl;	/* NULL unless used; likewise libunwind */
	struct unwind_libunwind *libunwind;
	struct stacks stacks;
	struct slice_size slices;
	struct script_places places;		/* of frames of scripts */
	struct scripts scripts;
	struct python_runtime python;
	struct rb_runtime ruby;
	uint64_t cut, lost;		/* stacks that ended so (enum unwind_end) */
	/* stacks of threads that were not held until an oracle was done: the result is ours */
	uint64_t too_late;
	uint64_t guessed;		/* stacks with a frame found by frame pointer only */
	struct backtrace_check check;
};

struct backtrace_options {
	enum unwinders which;
	uint32_t depth;
	bool python, ruby;		/* frames of such scripts, too, where that is possible */
};

/* @ms, @shared and @defs stay the caller's; @defs receives the stacks. 0 or -errno. */
must_check int backtrace_new(pid_t pid, struct modules *ms, struct shared *shared, struct defs *defs,
			     const struct backtrace_options *opt, struct backtrace **out);
void backtrace_free(struct backtrace *b);

/* Must the thread be held at a hit until its stack is unwound? */
bool backtrace_holds(enum unwinders which);

/*
 * Which frames of a hit become the stack. @skip: leave out this many further frames: a watched function that
 * called this one, wrappers. @returned: the function that has just returned there, and is shown as the first
 * frame, by its beginning; 0: none.
 */
struct backtrace_frames {
	uint32_t skip;
	taddr returned;
};

/*
 * The number of the stack of @hit, which was at site @s, with tag @tag (NULL: none). Counts stacks that were
 * cut. 0 or -ENOMEM.
 */
must_check int backtrace_of(struct backtrace *b, const struct record_hit *hit, const struct site *s,
			    const struct backtrace_frames *which, const char *tag, uint32_t *number);

/*
 * The same for a hit that another engine has recorded than that of @b's shared mapping: what is learned of its thread's
 * stack is learned in @slices. Stacks that are cut are not counted: they say whose a block is, and no more.
 */
must_check int backtrace_by_others(struct backtrace *b, struct slice_size *slices, const struct record_hit *hit,
				   const struct site *s, const struct backtrace_frames *which, uint32_t *number);

/* Mark the frames of functions for which @skipped returns true. */
void backtrace_skip(struct backtrace *b, stacks_skipped *skipped, void *ctx);

/* Something was mapped or unmapped. */
void backtrace_modules_changed(struct backtrace *b);

/* The target is another process now, a copy of the first. */
void backtrace_moved(struct backtrace *b, pid_t pid);

/* Before a fresh modules_refresh (exec): the files that are known are about to be closed. */
void backtrace_forget(struct backtrace *b);

#endif
