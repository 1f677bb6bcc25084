/* SPDX-License-Identifier: MIT */
/*
 * codesweep: where the instructions of one function begin, which of them are calls, and where it jumps to.
 *
 * The instructions are measured one after the other from the beginning of the function (insnlen.h). If there
 * is data among the code, the sweep can get out of step with it; then a jump within the function does not
 * arrive at the beginning of an instruction, and the whole sweep is rejected.
 */
#ifndef MM_CODESWEEP_H
#define MM_CODESWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/probes/code/elfimage.h"
#include "base/cleanup.h"

#define CODESWEEP_MAX (8UL << 20)	/* no function is longer */

struct codesweep {
	struct code_range range;
	uint8_t *marks;		/* for each byte of code: enum mark of its address (codesweep.c) */
	size_t reached;		/* bytes swept: what follows is no instruction, or no known one */
	size_t exits;		/* instructions that leave it: ret, jumps out of it, conditional or not */
	bool in_step;		/* every jump arrives at an instruction */
};

/* @code: all of @range. 0 or -ENOMEM. */
must_check int codesweep_run(const uint8_t *code, struct code_range range, struct codesweep *out);
void codesweep_fini(struct codesweep *s);

/* true if a call ends where the instruction at @addr begins. */
bool codesweep_returns_to(const struct codesweep *s, taddr addr);

/* true if one of its exits ends at @addr. */
bool codesweep_leaves_before(const struct codesweep *s, taddr addr);

/* true if a jump of the function goes to @addr. */
bool codesweep_jumps_to(const struct codesweep *s, taddr addr);

#endif
