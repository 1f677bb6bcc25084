/* SPDX-License-Identifier: MIT */
/*
 * unwind: the call stack of a thread from its registers and a slice of its stack, as the keeper copied them.
 * The thread may run again meanwhile.
 *
 * The rule that finds a frame's caller is decoded once per program counter from the file's call frame
 * information and cached, in 16 bytes for nearly all of them (attach/stacks/unwind/rules.h): a frame seen
 * before costs a look-up and two loads. Only rip, rsp and rbp are followed; a stack in which another register
 * matters is walked again with all of them.
 */
#ifndef MM_UNWIND_H
#define MM_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "base/cleanup.h"
#include "base/taddr.h"

struct modules;
struct unwinder;

#define UNWIND_MAX 256		/* frames at most; --depth may ask for fewer */

/*
 * In a frame: the thread is at this pc (or was interrupted there by a signal); else it is a return address.
 */
#define UNWIND_EXACT (1ull << 63)
/* With UNWIND_EXACT: no address, but the number of a place in a script (attach/stacks/python). */
#define UNWIND_SCRIPT (1ull << 62)

enum unwind_end {
	/* the outermost frame was reached: by its tables, or as it has the return address 0 */
	UNWIND_WHOLE,
	UNWIND_CUT,	/* it continues in memory of which there is no copy */
	UNWIND_LOST,	/* no tables there and no plausible frame pointer, or they lead nowhere */
	UNWIND_DEEP,	/* more frames than asked for */
	/*
	 * set by backtrace, which knows where the copy ended: it continues in another stack. unwind reports
	 * CUT
	 */
	UNWIND_ELSEWHERE,
};

/* "whole", "cut", "lost", "deep". */
const char *unwind_end_text(enum unwind_end end);

struct unwind_stack {
	taddr frames[UNWIND_MAX];	/* leaf first */
	taddr sps[UNWIND_MAX];		/* if has_sps: the stack pointer in each frame */
	uint32_t n;
	uint32_t used;			/* bytes of the slice that were needed */
	taddr missed;			/* UNWIND_CUT: the address of which there is no copy */
	enum unwind_end end;
	bool guessed;			/* a frame was found by frame pointer, without tables */
	bool has_sps;
};

/* The state of a thread. Memory is read from the slice if it has it, else by @read. */
struct unwind_from {
	const struct user_regs_struct *regs;
	bool returned;		/* the registers are a caller's: rip is a return address */
	const uint8_t *slice;
	uint32_t slice_len;
	taddr slice_addr;	/* rsp, or up to 128 bytes below */
	/* 0 or -errno; NULL: the slice is all there is */
	int (*read)(void *ctx, taddr addr, void *buf, size_t n);
	void *ctx;
};

struct unwind_stats {
	uint64_t stacks, frames;
	uint64_t cold;		/* program counters decoded */
	uint64_t slow;		/* frames whose rule does not fit 16 bytes */
	uint64_t full;		/* stacks walked again with all registers */
	uint64_t guessed;	/* frames found by frame pointer */
};

/* @ms stays the caller's, which calls unwinder_modules_changed after each refresh of it. 0 or -ENOMEM. */
must_check int unwinder_new(struct modules *ms, struct unwinder **out);
void unwinder_free(struct unwinder *u);

/*
 * Follow frame pointers also through code of no file (a JIT compiler's), which process @pid, that of the
 * modules, may have.
 */
void unwinder_follow_jit(struct unwinder *u, pid_t pid);

/* After modules_refresh: forget the rules of addresses where something else is mapped now. */
void unwinder_modules_changed(struct unwinder *u);

/* Before a fresh modules_refresh (exec), which closes the files: forget everything. */
void unwinder_forget(struct unwinder *u);

/*
 * The stack, at most @max frames (at most UNWIND_MAX; at least one): frames[0] is rip itself. Never fails:
 * out->end is how it ended.
 */
void unwind(struct unwinder *u, const struct unwind_from *from, uint32_t max, struct unwind_stack *out);

/*
 * The registers of the caller of the outermost function for which @is returns true: rip is the return
 * address; those that a call may change, or that are unknown, are 0. false: there is no such function on the
 * stack, or its caller cannot be found.
 */
bool unwind_out_of(struct unwinder *u, const struct unwind_from *from, bool (*is)(void *ctx, taddr pc),
		   void *ctx, struct user_regs_struct *caller);

void unwinder_stats(const struct unwinder *u, struct unwind_stats *out);

#endif
