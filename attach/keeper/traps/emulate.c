/* SPDX-License-Identifier: MIT */
/*
 * emulate: one instruction, carried out on a copy of the registers.
 *
 *	read operands (old registers, memory) -> compute -> write memory (at
 *	most once, last) -> hand the copy over
 *
 * In this order a failing memory access leaves nothing half done: the caller's registers are unchanged until
 * the end, and the only write is the last step.
 *
 * Runs in the keeper: no allocation, no system call of its own, nothing of libc but memcpy. Values are held
 * in 64 bits, masked to the operand's size.
 */
#include "attach/keeper/traps/emulate.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

enum {
	FLAG_CF = 1 << 0,
	FLAG_PF = 1 << 2,
	FLAG_AF = 1 << 4,
	FLAG_ZF = 1 << 6,
	FLAG_SF = 1 << 7,
	FLAG_OF = 1 << 11,
	FLAGS = FLAG_CF | FLAG_PF | FLAG_AF | FLAG_ZF | FLAG_SF | FLAG_OF,
};

/* One emulation: @was is read, @now is written. */
struct step {
	const struct emu *e;
	const struct emu_mem *mem;
	const struct user_regs_struct *was;
	struct user_regs_struct *now;
};

#define SLOT(r) (offsetof(struct user_regs_struct, r) / sizeof(unsigned long long))

static const uint8_t slots[EMU_REGS] = {
	[EMU_RAX] = SLOT(rax), [EMU_RCX] = SLOT(rcx), [EMU_RDX] = SLOT(rdx), [EMU_RBX] = SLOT(rbx),
	[EMU_RSP] = SLOT(rsp), [EMU_RBP] = SLOT(rbp), [EMU_RSI] = SLOT(rsi), [EMU_RDI] = SLOT(rdi),
	[EMU_R8] = SLOT(r8),   [EMU_R9] = SLOT(r9),   [EMU_R10] = SLOT(r10), [EMU_R11] = SLOT(r11),
	[EMU_R12] = SLOT(r12), [EMU_R13] = SLOT(r13), [EMU_R14] = SLOT(r14), [EMU_R15] = SLOT(r15),
};

unsigned long long *emu_reg_slot(struct user_regs_struct *regs, unsigned r)
{
	return (unsigned long long *)regs + slots[r];
}

static uint64_t reg_get(const struct user_regs_struct *regs, unsigned r)
{
	return ((const unsigned long long *)regs)[slots[r]];
}

static uint64_t mask(unsigned size)
{
	return size >= 8 ? UINT64_MAX : (1ULL << (8 * size)) - 1;
}

static uint64_t sign_bit(unsigned size)
{
	return 1ULL << (8 * size - 1);
}

static uint64_t sign_extend(uint64_t v, unsigned size)
{
	return (v ^ sign_bit(size)) - sign_bit(size);
}

static taddr address_of(const struct step *s, const struct emu_operand *op)
{
	taddr addr = (uint64_t)op->imm;

	if (op->base != EMU_NOREG)
		addr += reg_get(s->was, op->base);
	if (op->index != EMU_NOREG)
		addr += reg_get(s->was, op->index) * op->scale;
	if (op->seg == EMU_SEG_FS)
		addr += s->was->fs_base;
	if (op->seg == EMU_SEG_GS)
		addr += s->was->gs_base;
	return addr;
}

static int load(const struct step *s, taddr addr, unsigned size, uint64_t *v)
{
	*v = 0;
	return s->mem->read(s->mem->ctx, addr, v, size);
}

static int operand_get(const struct step *s, const struct emu_operand *op, uint64_t *v)
{
	switch (op->kind) {
	case EMU_REG:
		*v = reg_get(s->was, op->reg) & mask(op->size);
		return 0;
	case EMU_IMM:
		*v = (uint64_t)op->imm & mask(op->size);
		return 0;
	case EMU_MEM:
		return load(s, address_of(s, op), op->size, v);
	}
	return -ENOSYS;
}

/* As the processor does: a 32-bit result clears the upper half, 8 and 16 bits leave the rest unchanged. */
static void reg_set(struct step *s, const struct emu_operand *op, uint64_t v)
{
	unsigned long long *slot = emu_reg_slot(s->now, op->reg);
	uint64_t keep = op->size < 4 ? ~mask(op->size) : 0;

	*slot = (*slot & keep) | (v & mask(op->size));
}

static int operand_set(struct step *s, const struct emu_operand *op, uint64_t v)
{
	switch (op->kind) {
	case EMU_REG:
		reg_set(s, op, v);
		return 0;
	case EMU_MEM:
		return s->mem->write(s->mem->ctx, address_of(s, op), &v, op->size);
	}
	return -ENOSYS;
}

static uint64_t flags_of(uint64_t result, unsigned size)
{
	uint64_t flags = 0;

	if (!result)
		flags |= FLAG_ZF;
	if (result & sign_bit(size))
		flags |= FLAG_SF;
	if (!__builtin_parity((unsigned)(result & 0xff)))
		flags |= FLAG_PF;
	return flags;
}

/* AF is undefined after and, or, xor, test; processors clear it, and so do we. */
static uint64_t arithmetic(unsigned op, uint64_t a, uint64_t b, unsigned size, uint64_t *flags)
{
	uint64_t r, overflow = 0, carry = 0, half = 0;

	switch (op) {
	case EMU_ADD:
		r = (a + b) & mask(size);
		carry = r < a;
		overflow = (a ^ r) & (b ^ r);
		half = a ^ b ^ r;
		break;
	case EMU_SUB:
	case EMU_CMP:
		r = (a - b) & mask(size);
		carry = a < b;
		overflow = (a ^ b) & (a ^ r);
		half = a ^ b ^ r;
		break;
	case EMU_OR:
		r = a | b;
		break;
	case EMU_XOR:
		r = a ^ b;
		break;
	default:	/* EMU_AND, EMU_TEST */
		r = a & b;
	}
	*flags = flags_of(r, size) | (carry ? FLAG_CF : 0) | (half & FLAG_AF);
	if (overflow & sign_bit(size))
		*flags |= FLAG_OF;
	return r;
}

static int do_arithmetic(struct step *s)
{
	const struct emu *e = s->e;
	uint64_t a, b, r, flags;
	int rc;

	rc = operand_get(s, &e->dst, &a);
	if (!rc)
		rc = operand_get(s, &e->src, &b);
	if (rc)
		return rc;
	r = arithmetic(e->op, a, b, e->dst.size, &flags);
	s->now->eflags = (s->was->eflags & ~(uint64_t)FLAGS) | flags;
	if (e->op == EMU_CMP || e->op == EMU_TEST)
		return 0;
	return operand_set(s, &e->dst, r);
}

static int do_move(struct step *s)
{
	const struct emu *e = s->e;
	uint64_t v;
	int rc;

	if (e->op == EMU_LEA)
		return operand_set(s, &e->dst, address_of(s, &e->src));
	rc = operand_get(s, &e->src, &v);
	if (rc)
		return rc;
	if (e->op == EMU_MOVSX)
		v = sign_extend(v, e->src.size);
	return operand_set(s, &e->dst, v);
}

static int push_value(struct step *s, uint64_t v)
{
	s->now->rsp = s->was->rsp - 8;
	return s->mem->write(s->mem->ctx, s->now->rsp, &v, sizeof(v));
}

static int do_push(struct step *s)
{
	uint64_t v;
	int rc = operand_get(s, &s->e->src, &v);

	return rc ? rc : push_value(s, v);
}

/* rsp moves before the value is stored: `pop rsp` keeps the value. */
static int do_pop(struct step *s)
{
	uint64_t v;
	int rc = load(s, s->was->rsp, 8, &v);

	if (rc)
		return rc;
	s->now->rsp = s->was->rsp + 8;
	return operand_set(s, &s->e->dst, v);
}

static int do_leave(struct step *s)
{
	uint64_t v;
	int rc = load(s, s->was->rbp, 8, &v);

	if (rc)
		return rc;
	s->now->rsp = s->was->rbp + 8;
	s->now->rbp = v;
	return 0;
}

static int do_ret(struct step *s)
{
	uint64_t v;
	int rc = load(s, s->was->rsp, 8, &v);

	if (rc)
		return rc;
	s->now->rsp = s->was->rsp + 8 + (uint64_t)s->e->src.imm;
	s->now->rip = v;
	return 0;
}

static bool condition_holds(unsigned cc, uint64_t flags)
{
	bool cf = flags & FLAG_CF, zf = flags & FLAG_ZF;
	bool sf = flags & FLAG_SF, of = flags & FLAG_OF, pf = flags & FLAG_PF;
	bool holds = false;

	switch (cc >> 1) {
	case 0: holds = of; break;
	case 1: holds = cf; break;
	case 2: holds = zf; break;
	case 3: holds = cf || zf; break;
	case 4: holds = sf; break;
	case 5: holds = pf; break;
	case 6: holds = sf != of; break;
	case 7: holds = zf || sf != of; break;
	}
	return holds != (cc & 1);
}

static int do_jump(struct step *s)
{
	const struct emu *e = s->e;
	taddr next = s->now->rip;
	uint64_t target;
	int rc;

	if (e->op == EMU_JCC && !condition_holds(e->cc, s->was->eflags))
		return 0;
	rc = operand_get(s, &e->src, &target);
	if (rc)
		return rc;
	s->now->rip = target;
	return e->op == EMU_CALL ? push_value(s, next) : 0;
}

static int carry_out(struct step *s)
{
	switch (s->e->op) {
	case EMU_NOP:
		return 0;
	case EMU_PUSH:
		return do_push(s);
	case EMU_POP:
		return do_pop(s);
	case EMU_RET:
		return do_ret(s);
	case EMU_LEAVE:
		return do_leave(s);
	case EMU_JMP:
	case EMU_JCC:
	case EMU_CALL:
		return do_jump(s);
	case EMU_MOV:
	case EMU_MOVZX:
	case EMU_MOVSX:
	case EMU_LEA:
		return do_move(s);
	case EMU_ADD:
	case EMU_SUB:
	case EMU_AND:
	case EMU_OR:
	case EMU_XOR:
	case EMU_CMP:
	case EMU_TEST:
		return do_arithmetic(s);
	}
	return -ENOSYS;
}

int emulate(const struct emu *e, taddr pc, struct user_regs_struct *regs, const struct emu_mem *mem)
{
	struct user_regs_struct after = *regs;
	struct step s = { .e = e, .mem = mem, .was = regs, .now = &after };
	int rc;

	after.rip = pc + e->len;
	rc = carry_out(&s);
	if (!rc)
		memcpy(regs, &after, sizeof(after));
	return rc;
}
