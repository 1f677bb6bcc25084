/* SPDX-License-Identifier: MIT */
/*
 * cfirule: how to get from one frame to its caller at one address, as call frame information describes it:
 * the CFA (what rsp is once this function has returned), and where each of the caller's registers is.
 */
#ifndef MM_UNWIND_CFIRULE_H
#define MM_UNWIND_CFIRULE_H

#include <stdbool.h>

#include "attach/stacks/unwind/dwexpr.h"

enum cfi_how {
	CFI_UNDEFINED,		/* not known; for the return address: this frame is the outermost */
	CFI_SAME,		/* still in the register itself */
	CFI_OFFSET,		/* in memory at CFA + offset */
	CFI_VAL_OFFSET,		/* CFA + offset itself; for the CFA: register @reg + offset */
	CFI_REGISTER,		/* in register @reg */
	CFI_EXPRESSION,		/* in memory at the expression's value */
	CFI_VAL_EXPRESSION,	/* the expression's value itself */
};

struct cfi_place {
	uint8_t how;		/* enum cfi_how */
	uint8_t reg;		/* enum frame_reg */
	uint32_t len;		/* of expr */
	int64_t offset;
	const uint8_t *expr;	/* points into the file's tables */
};

struct cfi_rule {
	struct cfi_place cfa;	/* CFI_VAL_OFFSET, CFI_VAL_EXPRESSION; CFI_UNDEFINED: not given */
	struct cfi_place regs[FRAME_REGS];
	/* the kernel made this frame: its caller was interrupted, and has not called */
	bool signal;
};

#endif
