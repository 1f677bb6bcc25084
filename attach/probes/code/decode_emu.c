/* SPDX-License-Identifier: MIT */
/*
 * decode_emu: decodes an instruction into struct emu, for the keeper.
 *
 * Only what is listed here as exact is accepted: an instruction with an unforeseen prefix, register or
 * operand is refused, never approximated. Each line of that list is checked against the processor in
 * tests/unit/attach/keeper/traps/test_emulate.c, which also found what capstone 4 gets wrong.
 */
#include "attach/probes/code/capinsn.h"

static enum emu_op op_of(const cs_insn *in)
{
	switch (in->id) {
	case X86_INS_PUSH: return EMU_PUSH;
	case X86_INS_POP: return EMU_POP;
	case X86_INS_RET: return EMU_RET;
	case X86_INS_LEAVE: return EMU_LEAVE;
	case X86_INS_JMP: return EMU_JMP;
	case X86_INS_CALL: return EMU_CALL;
	case X86_INS_MOV:
	case X86_INS_MOVABS: return EMU_MOV;
	case X86_INS_MOVZX: return EMU_MOVZX;
	case X86_INS_MOVSX:
	case X86_INS_MOVSXD: return EMU_MOVSX;
	case X86_INS_LEA: return EMU_LEA;
	case X86_INS_ADD: return EMU_ADD;
	case X86_INS_SUB: return EMU_SUB;
	case X86_INS_AND: return EMU_AND;
	case X86_INS_OR: return EMU_OR;
	case X86_INS_XOR: return EMU_XOR;
	case X86_INS_CMP: return EMU_CMP;
	case X86_INS_TEST: return EMU_TEST;
	}
	return EMU_NONE;
}

/* jo ... jg: 70 to 7f, or 0f 80 to 0f 8f. */
static bool is_jcc(const cs_insn *in)
{
	const uint8_t *opcode = in->detail->x86.opcode;

	return (opcode[0] & 0xf0) == 0x70 || (opcode[0] == 0x0f && (opcode[1] & 0xf0) == 0x80);
}

static uint8_t condition_of(const cs_insn *in)
{
	const uint8_t *opcode = in->detail->x86.opcode;

	return (opcode[0] == 0x0f ? opcode[1] : opcode[0]) & 0x0f;
}

static bool memory_operand(const cs_insn *in, const cs_x86_op *op, struct emu_operand *out)
{
	const x86_op_mem *mem = &op->mem;
	uint8_t size;

	*out = (struct emu_operand){ .kind = EMU_MEM, .size = op->size, .base = EMU_NOREG,
				     .index = EMU_NOREG, .scale = (uint8_t)mem->scale, .imm = mem->disp };
	if (mem->segment == X86_REG_FS)
		out->seg = EMU_SEG_FS;
	else if (mem->segment == X86_REG_GS)
		out->seg = EMU_SEG_GS;
	if (mem->base == X86_REG_RIP) {
		out->imm += (int64_t)(in->address + in->size);
		out->moves = 1;
	} else if (mem->base != X86_REG_INVALID &&
		   (!find_register(mem->base, &out->base, &size) || size != 8)) {
		return false;
	}
	if (mem->index != X86_REG_INVALID && mem->index != X86_REG_RIZ &&
	    (!find_register(mem->index, &out->index, &size) || size != 8))
		return false;
	return true;
}

static bool operand_of(const cs_insn *in, const cs_x86_op *op, struct emu_operand *out)
{
	*out = (struct emu_operand){ .base = EMU_NOREG, .index = EMU_NOREG, .size = op->size };
	switch (op->type) {
	case X86_OP_REG:
		out->kind = EMU_REG;
		return find_register(op->reg, &out->reg, &out->size);
	case X86_OP_IMM:
		out->kind = EMU_IMM;
		out->imm = op->imm;
		return true;
	case X86_OP_MEM:
		return memory_operand(in, op, out);
	default:
		return false;
	}
}

/* Checks the operands of each operation; refuses what no such instruction should have. */
static bool sizes_fit(struct emu *e)
{
	switch (e->op) {
	case EMU_LEA:
		e->src.seg = EMU_SEG_NONE;	/* lea computes the offset alone */
		return e->dst.kind == EMU_REG && e->src.kind == EMU_MEM;
	case EMU_MOVZX:
	case EMU_MOVSX:
		return e->dst.kind == EMU_REG && e->src.size <= e->dst.size;
	default:
		e->src.size = e->src.kind == EMU_IMM ? e->dst.size : e->src.size;
		return e->src.size == e->dst.size;
	}
}

static bool two_operands(const cs_insn *in, struct emu *e)
{
	const cs_x86 *x = &in->detail->x86;

	return x->op_count == 2 && operand_of(in, &x->operands[0], &e->dst) &&
	       operand_of(in, &x->operands[1], &e->src) && sizes_fit(e);
}

/*
 * push and pop of eight bytes, jumps to an address of eight; a size prefix makes a different instruction of
 * them.
 */
static bool one_operand(const cs_insn *in, struct emu *e)
{
	const cs_x86 *x = &in->detail->x86;
	struct emu_operand *place = e->op == EMU_POP ? &e->dst : &e->src;

	if (x->op_count != 1 || !operand_of(in, &x->operands[0], place))
		return false;
	if (place->kind == EMU_IMM)
		place->size = 8;
	if (place->kind == EMU_IMM && e->op != EMU_PUSH)
		place->moves = 1;
	return place->size == 8 && (e->op != EMU_POP || place->kind == EMU_REG);
}

static bool ret_operand(const cs_insn *in, struct emu *e)
{
	const cs_x86 *x = &in->detail->x86;

	e->src = (struct emu_operand){ .kind = EMU_IMM, .size = 8, .base = EMU_NOREG, .index = EMU_NOREG };
	if (x->op_count == 1)
		e->src.imm = x->operands[0].imm & 0xffff;
	return true;
}

/*
 * f2 (bnd), f3, 2e and 3e before a jump, call or ret change nothing; before anything else they may, and lock
 * does. Opcode 63 extends the sign only with REX.W, but capstone 4 always reports it as movsxd with an
 * eight-byte register.
 */
static bool prefixes_fit(const cs_insn *in, const struct emu *e)
{
	struct prefixes p = prefixes_of(in);
	bool jumps = e->op == EMU_RET || e->op == EMU_JMP || e->op == EMU_JCC || e->op == EMU_CALL;
	bool stack = jumps || e->op == EMU_PUSH || e->op == EMU_POP || e->op == EMU_LEAVE;

	if (!p.in_order || p.lock || p.address || p.size > 1 || p.segment > 1)
		return false;
	if (p.repeat + p.branch && (!jumps || p.repeat > 1 || p.branch > 1 || (p.branch && p.segment)))
		return false;
	if (stack && p.size)
		return false;
	return in->id != X86_INS_MOVSXD || (p.rex & 8);
}

bool decode_emu(const cs_insn *in, struct emu *e)
{
	if (is_nop(in)) {
		e->op = EMU_NOP;
		return true;
	}
	e->op = (uint8_t)(is_jcc(in) ? EMU_JCC : op_of(in));
	if (!prefixes_fit(in, e))
		return false;
	switch (e->op) {
	case EMU_NONE:
		return false;
	case EMU_LEAVE:
		return true;
	case EMU_RET:
		return ret_operand(in, e);
	case EMU_JCC:
		e->cc = condition_of(in);
		return one_operand(in, e);
	case EMU_PUSH:
	case EMU_POP:
	case EMU_JMP:
	case EMU_CALL:
		return one_operand(in, e);
	default:
		return two_operands(in, e);
	}
}
