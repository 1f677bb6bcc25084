/* SPDX-License-Identifier: MIT */
/*
 * insnlen: how long an instruction is and whether it calls or jumps, from its bytes alone.
 *
 * For going through megabytes of code: a hundred times as fast as decode.h, which says what an instruction does. Where processors do
 * not agree how long one is, or none is known that looks so, it is refused.
 */
#ifndef MM_INSNLEN_H
#define MM_INSNLEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct insn_shape {
	uint8_t len;
	bool call;	/* near: pushes the address behind it */
	bool jump;	/* by @rel, in any case or on a condition */
	bool leaves;	/* ret, or a jump in any case, near or indirect: what follows is not run after it */
	int32_t rel;	/* of a jump: from its end */
};

/* The instruction at @p, of which @n bytes can be seen. false: it is none, or refused, or cut off. */
bool insn_shape(const uint8_t *p, size_t n, struct insn_shape *out);

#endif
