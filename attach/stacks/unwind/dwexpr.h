/* SPDX-License-Identifier: MIT */
/*
 * dwexpr: evaluate a DWARF expression of call frame information: a small stack machine that computes an
 * address or a value from registers and memory.
 *
 * Pure except for @load. The bytes come from the target's files and may be hostile: operations that are not
 * used in call frames are refused, and steps and stack are limited.
 */
#ifndef MM_UNWIND_DWEXPR_H
#define MM_UNWIND_DWEXPR_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/taddr.h"

#define DWEXPR_STACK 64
#define DWEXPR_STEPS 1024

/* The registers that unwinding follows, by their DWARF numbers. */
enum frame_reg {
	FRAME_RAX, FRAME_RDX, FRAME_RCX, FRAME_RBX, FRAME_RSI, FRAME_RDI, FRAME_RBP, FRAME_RSP,
	FRAME_R8, FRAME_R9, FRAME_R10, FRAME_R11, FRAME_R12, FRAME_R13, FRAME_R14, FRAME_R15,
	FRAME_RIP,
	FRAME_REGS,
};

struct frame_regs {
	uint64_t r[FRAME_REGS];
	uint32_t known;		/* a bit each: the value in this frame is known */
};

struct dwexpr_env {
	const struct frame_regs *regs;
	/* initially on the stack (the CFA, for a register's expression); NULL: nothing */
	const taddr *start;
	int (*load)(void *ctx, taddr addr, void *buf, size_t n);	/* 0 or -EFAULT */
	void *ctx;
};

/*
 * The value on top of the stack after the @n bytes of @ops. 0; -ENODATA: a register is not known; -EFAULT: as
 * @load returned; -EINVAL: an invalid expression, or one that exceeds the limits.
 */
must_check int dwexpr_eval(const uint8_t *ops, size_t n, const struct dwexpr_env *env, uint64_t *out);

#endif
