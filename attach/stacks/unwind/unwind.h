/* SPDX-License-Identifier: MIT */
/*
 * unwind: the call stack of a thread from its registers and a slice of its stack,
 * as the keeper copied them. The thread may run again meanwhile.
 *
 * How to find a frame's caller is decoded once per program counter from the file's call
 * frame information and kept, in 16 bytes for nearly all of them (attach/stacks/unwind/rules.h): a frame seen before
 * costs a look-up and two loads. Only rip, rsp and rbp are followed; a stack
 * in which another register matters is walked again with all of them.
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

/* In a frame: the thread stands at this pc (or was interrupted there by a signal); else it is a return address. */
#define UNWIND_EXACT (1ull << 63)

enum unwind_end {
	UNWIND_WHOLE,	/* the outermost frame was reached: its tables say so, or it has the return address 0 */
	UNWIND_CUT,	/* it goes on in memory that we have no copy of */
	UNWIND_LOST,	/* no tables there and no frame pointer to be believed, or they lead nowhere */
	UNWIND_DEEP,	/* more frames than asked for */
	UNWIND_ELSEWHERE, /* for who knows where the copy ended: it goes on in another stack. unwind says CUT */
};

/* "whole", "cut", "lost", "deep". */
const char *unwind_end_text(enum unwind_end end);

struct unwind_stack {
	taddr frames[UNWIND_MAX];	/* leaf first */
	uint32_t n;
	uint32_t used;			/* so many bytes of the slice were needed */
	taddr missed;			/* UNWIND_CUT: the address of which there is no copy */
	enum unwind_end end;
	bool guessed;			/* a frame was found by frame pointer, without tables */
};

/* A thread as it was. Memory is looked for in the slice first, then @read is asked. */
struct unwind_from {
	const struct user_regs_struct *regs;
	bool returned;		/* the registers are a caller's: rip is a return address */
	const uint8_t *slice;
	uint32_t slice_len;
	taddr slice_addr;	/* rsp, or up to 128 bytes below */
	int (*read)(void *ctx, taddr addr, void *buf, size_t n);	/* 0 or -errno; NULL: the slice is all there is */
	void *ctx;
};

struct unwind_stats {
	uint64_t stacks, frames;
	uint64_t cold;		/* program counters decoded */
	uint64_t slow;		/* frames whose rule does not fit 16 bytes */
	uint64_t full;		/* stacks walked again with all registers */
	uint64_t guessed;	/* frames found by frame pointer */
};

/* @ms stays the caller's, who refreshes it and then says so. 0 or -ENOMEM. */
must_check int unwinder_new(struct modules *ms, struct unwinder **out);
void unwinder_free(struct unwinder *u);

/* Believe frame pointers through code of no file as well (a JIT compiler's): process @pid, the modules' own, has such. */
void unwinder_follow_jit(struct unwinder *u, pid_t pid);

/* After modules_refresh: what was known of addresses where something else is mapped now is forgotten. */
void unwinder_modules_changed(struct unwinder *u);

/* Before a fresh modules_refresh (exec), which closes the files: everything is forgotten. */
void unwinder_forget(struct unwinder *u);

/*
 * The stack, at most @max frames (at most UNWIND_MAX; at least one): frames[0] is rip itself. Never fails: @out->end
 * says how far it got.
 */
void unwind(struct unwinder *u, const struct unwind_from *from, uint32_t max, struct unwind_stack *out);

/*
 * The registers of who called the outermost function that @is: rip is the return address, and those that a call may change, or that cannot be told, are 0.
 * false: there is no such function on the stack, or its caller cannot be found.
 */
bool unwind_out_of(struct unwinder *u, const struct unwind_from *from, bool (*is)(void *ctx, taddr pc), void *ctx, struct user_regs_struct *caller);

void unwinder_stats(const struct unwinder *u, struct unwind_stats *out);

#endif
