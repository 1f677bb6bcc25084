/* SPDX-License-Identifier: MIT */
/*
 * decode: decodes one machine instruction, with capstone, into what planning needs to know and what the
 * keeper needs to emulate it. No type of capstone is used here.
 */
#ifndef MM_CODE_DECODE_H
#define MM_CODE_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/keeper/traps/emulate.h"
#include "base/cleanup.h"

struct decoder;

must_check int decoder_new(struct decoder **out);	/* 0 or -ENOMEM, -EIO */
void decoder_free(struct decoder *d);

enum flow {
	FLOW_NEXT,	/* the next instruction is run after it */
	FLOW_RET,
	FLOW_JUMP,	/* unconditional; target known if target_known */
	FLOW_BRANCH,	/* conditional */
	FLOW_CALL,
	FLOW_STOP,	/* ud2, hlt, int3: execution does not continue after it */
};

struct insn {
	taddr addr;
	uint8_t len;
	enum flow flow;
	bool target_known;	/* JUMP, BRANCH, CALL with an immediate target */
	taddr target;
	taddr slot;		/* jmp/call *disp(%rip): the slot's address, else 0 */
	uint16_t writes;	/* bit per enum emu_reg written, also in part */
	uint16_t reads;		/* the same for those read, also for an address */
	bool stores;		/* writes memory, other than below or through rsp */
	bool sp_known;		/* the change of rsp is a constant: */
	int32_t sp_change;	/* e.g. push -8 */
	bool padding;		/* a nop form or int3 */
	bool syscall;		/* enters the kernel: never to be displaced */
	/* a step over it may end one instruction late (cpuid under a hypervisor): never to be stepped */
	bool loses_step;
	struct emu emu;		/* op EMU_NONE if it cannot be emulated */
	char text[64];		/* "push r12", for the user */
};

/* Decode the instruction at @code (its address @addr). 0, or -EILSEQ if there is no valid one. */
must_check int decode(struct decoder *d, const uint8_t *code, size_t n, taddr addr, struct insn *out);

/*
 * The instruction in @code rewritten so that it does the same at @to instead of at @insn->addr (rip-relative
 * displacement adjusted). The new length, or -ERANGE if that is impossible (branches, out of reach).
 */
must_check int decode_relocate(struct decoder *d, const struct insn *insn, const uint8_t *code, taddr to,
			       uint8_t *out, size_t n);

#endif
