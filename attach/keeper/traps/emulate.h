/* SPDX-License-Identifier: MIT */
/*
 * emulate: do on saved registers what one displaced instruction would have done, so that a trap stays planted
 * while other threads run through it.
 *
 * The controller has decoded the instruction beforehand (probes/decode, with capstone) into a struct emu;
 * nothing here parses machine code. The function is pure except for the memory accessors it is given, so it
 * is tested against the processor itself (tests/unit/attach/keeper/traps/test_emulate.c).
 */
#ifndef MM_EMULATE_H
#define MM_EMULATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/user.h>

#include "base/cleanup.h"
#include "base/taddr.h"

enum emu_op {
	EMU_NONE,	/* cannot be emulated: plant elsewhere, or step it displaced */
	EMU_NOP,	/* nop in any form, endbr64 */
	EMU_PUSH,	/* src: 64-bit register, immediate or memory */
	EMU_POP,	/* dst: 64-bit register */
	EMU_RET,	/* src.imm: extra bytes to pop, usually 0 */
	EMU_LEAVE,
	EMU_JMP,	/* src: target (immediate = absolute address), register or memory */
	EMU_JCC,	/* cc, src.imm: absolute target */
	EMU_CALL,	/* as EMU_JMP, the return address pushed */
	EMU_MOV,	/* dst = src */
	EMU_MOVZX,	/* dst = zero-extended src (sizes of the operands) */
	EMU_MOVSX,	/* dst = sign-extended src (also movsxd) */
	EMU_LEA,	/* dst = address of src (a memory operand) */
	EMU_ADD, EMU_SUB, EMU_AND, EMU_OR, EMU_XOR,	/* dst op= src, flags */
	EMU_CMP, EMU_TEST,				/* flags only */
	EMU_OPS
};

/* Order of the encoding in the instruction set: rax rcx rdx rbx rsp rbp rsi rdi r8..r15. */
enum emu_reg {
	EMU_RAX, EMU_RCX, EMU_RDX, EMU_RBX, EMU_RSP, EMU_RBP, EMU_RSI, EMU_RDI,
	EMU_R8, EMU_R9, EMU_R10, EMU_R11, EMU_R12, EMU_R13, EMU_R14, EMU_R15,
	EMU_REGS,
	EMU_NOREG = 0xff
};

enum emu_kind { EMU_ABSENT, EMU_REG, EMU_IMM, EMU_MEM };
enum emu_seg { EMU_SEG_NONE, EMU_SEG_FS, EMU_SEG_GS };

/* Registers are the low part only (al, ax, eax, rax): ah, bh, ch, dh are not emulated. */
struct emu_operand {
	uint8_t kind;	/* enum emu_kind */
	uint8_t size;	/* bytes: 1, 2, 4, 8 */
	uint8_t reg;	/* EMU_REG: enum emu_reg */
	uint8_t base;	/* EMU_MEM: enum emu_reg or EMU_NOREG */
	uint8_t index;	/* EMU_MEM: enum emu_reg or EMU_NOREG */
	uint8_t scale;	/* EMU_MEM: 1, 2, 4, 8 */
	uint8_t seg;	/* EMU_MEM: enum emu_seg */
	uint8_t moves;	/* imm is an address inside the module: add the load bias before use */
	/* EMU_IMM: the value, sign-extended; EMU_MEM: displacement (rip-relative: absolute address) */
	int64_t imm;
};

struct emu {
	uint8_t op;	/* enum emu_op */
	uint8_t len;	/* bytes of the instruction */
	uint8_t cc;	/* EMU_JCC: low four bits of the opcode (0 = o ... 15 = nle) */
	struct emu_operand dst, src;
};

/* How memory of the thread is accessed; 0 or -errno. */
struct emu_mem {
	int (*read)(void *ctx, taddr addr, void *buf, size_t n);
	int (*write)(void *ctx, taddr addr, const void *buf, size_t n);
	void *ctx;
};

/*
 * Carry out @e, whose instruction is at @pc, on @regs (in: as they were before the instruction, rip ignored;
 * out: as after it, rip included). 0; -ENOSYS if @e cannot be emulated; -errno of the memory accessor. On
 * failure @regs are unchanged and nothing was written.
 */
must_check int emulate(const struct emu *e, taddr pc, struct user_regs_struct *regs,
		       const struct emu_mem *mem);

/* A pointer to register number @r in @regs. */
unsigned long long *emu_reg_slot(struct user_regs_struct *regs, unsigned r);

#endif
