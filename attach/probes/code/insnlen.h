/* SPDX-License-Identifier: MIT */
/*
 * insnlen: how long an instruction is and whether it calls or jumps, from its bytes alone.
 *
 * For megabytes of code: a hundred times as fast as decode.h, which decodes what an instruction does. An
 * instruction that is unknown, or whose length depends on the processor, is refused.
 */
#ifndef MM_INSNLEN_H
#define MM_INSNLEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct insn_shape {
	uint8_t len;
	bool call;	/* near: pushes the address behind it */
	bool jump;	/* by @rel, unconditional or conditional */
	/* ret, or an unconditional jump, near or indirect: execution does not continue behind it */
	bool leaves;
	int32_t rel;	/* of a jump: the distance from its end */
};

/* The instruction at @p, where @n bytes are readable. false: it is invalid, or refused, or cut off. */
bool insn_shape(const uint8_t *p, size_t n, struct insn_shape *out);

#endif
