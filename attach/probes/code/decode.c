/* SPDX-License-Identifier: MIT */
/*
 * decode: translates capstone's description of one instruction into ours.
 *
 *	decode.c	for planning: where control goes, what is written, how rsp moves; and moving an
 *			instruction elsewhere
 *	decode_emu.c	for the keeper: struct emu
 *	capinsn.c	what both need to know about an instruction
 *
 * Only these three use capstone. Where it is wrong (capstone 4 forgets registers that are written, drops
 * prefixes, and misreads some lengths), the instruction is treated as the worst it could be.
 */
#include "attach/probes/code/decode.h"

#include <capstone/capstone.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/probes/code/capinsn.h"
#include "attach/probes/code/insnlen.h"

struct decoder {
	csh cs;
	cs_insn *insn;	/* the one instruction decoded last */
};

int decoder_new(struct decoder **out)
{
	struct decoder *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &d->cs) != CS_ERR_OK) {
		free(d);
		return -EIO;
	}
	cs_option(d->cs, CS_OPT_DETAIL, CS_OPT_ON);
	d->insn = cs_malloc(d->cs);
	if (!d->insn) {
		decoder_free(d);
		return -ENOMEM;
	}
	*out = d;
	return 0;
}

void decoder_free(struct decoder *d)
{
	if (!d)
		return;
	if (d->insn)
		cs_free(d->insn, 1);
	cs_close(&d->cs);
	free(d);
}

/*
 * Instructions for which capstone 4 forgets a register that is written, or gets the change of rsp wrong. The
 * list is what test_random_writes in tests/unit/attach/keeper/traps/test_emulate.c found.
 */
static bool badly_described(const cs_insn *in)
{
	struct prefixes p = prefixes_of(in);

	if (!p.in_order || is_string(&p))
		return true;
	switch (in->id) {
	case X86_INS_PUSH:
	case X86_INS_POP:
		return p.size || p.opcode == 0x0f;	/* of 16 bits; of fs and gs */
	case X86_INS_NOP:
		return !is_nop(in);
	case X86_INS_CMPXCHG:
	case X86_INS_ENTER:
	case X86_INS_SGDT:
	case X86_INS_SIDT:
	case X86_INS_SLDT:
	case X86_INS_SMSW:
	case X86_INS_STR:
	case X86_INS_XLATB:
		return true;
	}
	return false;
}

static uint16_t register_bits(const uint16_t *regs, uint8_t n)
{
	uint16_t bits = 0;

	for (unsigned i = 0; i < n; i++)
		bits |= register_bit(regs[i]);
	return bits;
}

/* `xor eax, eax` and its like: the result is 0, whatever was there. */
static bool is_zeroing(const cs_insn *in)
{
	const cs_x86_op *op = in->detail->x86.operands;

	return (in->id == X86_INS_XOR || in->id == X86_INS_SUB) && op[0].type == X86_OP_REG &&
	       op[1].type == X86_OP_REG && op[0].reg == op[1].reg;
}

static void find_registers(struct decoder *d, struct insn *out)
{
	cs_regs read, written;
	uint8_t nread, nwritten;

	out->reads = out->writes = UINT16_MAX;
	if (badly_described(d->insn) ||
	    cs_regs_access(d->cs, d->insn, read, &nread, written, &nwritten) != CS_ERR_OK)
		return;
	out->reads = is_zeroing(d->insn) || is_nop(d->insn) ? 0 : register_bits(read, nread);
	out->writes = register_bits(written, nwritten);
}

static bool in_group(struct decoder *d, unsigned group)
{
	return cs_insn_group(d->cs, d->insn, group);
}

static enum flow flow_of(struct decoder *d)
{
	switch (d->insn->id) {
	case X86_INS_RET:
		return FLOW_RET;
	case X86_INS_JMP:
	case X86_INS_LJMP:
	case X86_INS_RETF:
	case X86_INS_RETFQ:
	case X86_INS_IRET:
	case X86_INS_IRETD:
	case X86_INS_IRETQ:
	case X86_INS_SYSEXIT:
	case X86_INS_SYSRET:
		return FLOW_JUMP;
	case X86_INS_CALL:
	case X86_INS_LCALL:
		return FLOW_CALL;
	case X86_INS_UD0:
	case X86_INS_UD2:
	case X86_INS_UD2B:
	case X86_INS_HLT:
	case X86_INS_INT3:
		return FLOW_STOP;
	case X86_INS_LOOP:
	case X86_INS_LOOPE:
	case X86_INS_LOOPNE:
	case X86_INS_XBEGIN:
		return FLOW_BRANCH;
	}
	if (in_group(d, CS_GRP_JUMP) || in_group(d, CS_GRP_BRANCH_RELATIVE))
		return FLOW_BRANCH;
	return FLOW_NEXT;
}

static bool enters_kernel(struct decoder *d)
{
	switch (d->insn->id) {
	case X86_INS_SYSCALL:
	case X86_INS_SYSENTER:
	case X86_INS_INT:
	case X86_INS_INT1:
	case X86_INS_INTO:
		return true;
	}
	return in_group(d, CS_GRP_INT) && d->insn->id != X86_INS_INT3;
}

/*
 * Where capstone does not say whether an operand is read or written, it counts as written. What it says is
 * wrong of cmpxchg, with which counts are changed, and of movups: a first operand in memory is taken to be
 * written, too, except by the common instructions that only read it.
 */
static bool stores(const cs_insn *in)
{
	const cs_x86 *x = &in->detail->x86;
	const bool always = x->prefix[0] == X86_PREFIX_LOCK || in->id == X86_INS_CMPXCHG,
		   reads = in->id == X86_INS_CMP || in->id == X86_INS_TEST || in->id == X86_INS_PUSH;

	/* these write where rdi points, and have no such operand */
	if (in->id == X86_INS_MASKMOVQ || in->id == X86_INS_MASKMOVDQU || in->id == X86_INS_VMASKMOVDQU)
		return true;
	for (unsigned i = 0; i < x->op_count; i++) {
		const cs_x86_op *op = &x->operands[i];

		if (op->type == X86_OP_MEM && op->mem.base != X86_REG_RSP && in->id != X86_INS_LEA &&
		    (always || op->access != CS_AC_READ || (i == 0 && !reads)))
			return true;
	}
	return false;
}

static void find_target(const cs_insn *in, struct insn *out)
{
	const cs_x86_op *op = in->detail->x86.operands;

	if (out->flow != FLOW_JUMP && out->flow != FLOW_BRANCH && out->flow != FLOW_CALL)
		return;
	/* the operand of a far return is a number of bytes */
	if (in->detail->x86.op_count < 1 || in->id == X86_INS_RETF || in->id == X86_INS_RETFQ)
		return;
	if (op->type == X86_OP_IMM && in->detail->x86.op_count == 1) {
		out->target_known = true;
		out->target = (taddr)op->imm;
	} else if (op->type == X86_OP_MEM && op->mem.base == X86_REG_RIP &&
		   op->mem.segment == X86_REG_INVALID) {
		out->slot = in->address + in->size + (uint64_t)op->mem.disp;
	}
}

static bool by_constant(const cs_x86 *x)
{
	const cs_x86_op *op = x->operands;

	return x->op_count == 2 && op[0].type == X86_OP_REG && op[0].reg == X86_REG_RSP &&
	       op[1].type == X86_OP_IMM && op[1].imm > INT32_MIN && op[1].imm <= INT32_MAX;
}

static bool lea_from_sp(const cs_x86 *x)
{
	const cs_x86_op *op = x->operands;

	return op[0].reg == X86_REG_RSP && op[1].mem.base == X86_REG_RSP &&
	       op[1].mem.index == X86_REG_INVALID && op[1].mem.disp == (int32_t)op[1].mem.disp;
}

static bool pops_sp(const cs_x86 *x)
{
	return x->operands[0].type == X86_OP_REG && register_bit(x->operands[0].reg) == 1U << EMU_RSP;
}

static void find_sp_change(const cs_insn *in, struct insn *out)
{
	const cs_x86 *x = &in->detail->x86;

	out->sp_known = !badly_described(in);
	if (in->id == X86_INS_PUSH || in->id == X86_INS_PUSHFQ)
		out->sp_change = -8;
	else if ((in->id == X86_INS_POP && !pops_sp(x)) || in->id == X86_INS_POPFQ)
		out->sp_change = 8;
	else if (in->id == X86_INS_SUB && by_constant(x))
		out->sp_change = (int32_t)-x->operands[1].imm;
	else if (in->id == X86_INS_ADD && by_constant(x))
		out->sp_change = (int32_t)x->operands[1].imm;
	else if (in->id == X86_INS_LEA && lea_from_sp(x))
		out->sp_change = (int32_t)x->operands[1].mem.disp;
	else if (out->writes & 1U << EMU_RSP)
		out->sp_known = false;
}

/*
 * capstone 4 gets the length wrong of some EVEX instructions (first byte 62), and of an immediate after 66
 * together with f2 or f3 if the opcode takes neither.
 */
static bool length_doubtful(const cs_insn *in)
{
	struct prefixes p = prefixes_of(in);

	return p.opcode == 0x62 || (p.size && p.repeat && p.opcode != 0x0f && !is_string(&p));
}

static bool disassemble(struct decoder *d, const uint8_t *code, size_t n, taddr addr)
{
	return cs_disasm_iter(d->cs, &code, &n, &addr, d->insn) && !length_doubtful(d->insn);
}

/*
 * capstone 4 takes an operand to be of 16 bits where 67 and REX.W stand before a call or jmp, and of 32 where
 * 66 and REX.W stand before ret: after an instruction of the wrong length a trap would be planted within one.
 */
static bool is_as_by_its_bytes(const uint8_t *code, size_t n, const struct insn *in)
{
	struct insn_shape shape;

	if (!insn_shape(code, n, &shape))
		return true;
	return shape.len == in->len && (!shape.jump || !in->target_known ||
					in->target == in->addr + in->len + (taddr)(int64_t)shape.rel);
}

int decode(struct decoder *d, const uint8_t *code, size_t n, taddr addr, struct insn *out)
{
	const cs_insn *in = d->insn;

	if (!disassemble(d, code, n, addr))
		return -EILSEQ;
	*out = (struct insn){ .addr = addr, .len = (uint8_t)in->size };
	out->flow = flow_of(d);
	find_registers(d, out);
	out->stores = stores(in) && !is_nop(in);
	out->syscall = enters_kernel(d);
	out->loses_step = in->id == X86_INS_CPUID;
	out->padding = is_nop(in) || in->id == X86_INS_INT3;
	find_target(in, out);
	find_sp_change(in, out);
	if (!decode_emu(in, &out->emu))
		out->emu = (struct emu){ .op = EMU_NONE };
	out->emu.len = out->len;
	snprintf(out->text, sizeof(out->text), "%.14s%s%.47s", in->mnemonic, *in->op_str ? " " : "",
		 in->op_str);
	return is_as_by_its_bytes(code, n, out) ? 0 : -EILSEQ;
}

/*
 * Instructions that behave the same elsewhere under a single step. Excluded: jumps; what enters the kernel;
 * what shows or clears the trap flag (pushf, popf), delays the trap by one instruction (a load of ss), takes
 * several steps (rep), or may be emulated by the kernel or a hypervisor, which then lose the step (sgdt and
 * its like, UMIP; cpuid).
 */
static bool can_be_displaced(struct decoder *d)
{
	const cs_insn *in = d->insn;
	const cs_x86 *x = &in->detail->x86;
	bool stack_segment = x->op_count && x->operands[0].type == X86_OP_REG &&
			     x->operands[0].reg == X86_REG_SS;
	struct prefixes p = prefixes_of(in);

	if (flow_of(d) != FLOW_NEXT || enters_kernel(d) || in_group(d, CS_GRP_PRIVILEGE))
		return false;
	switch (in->id) {
	case X86_INS_CPUID:
	case X86_INS_PUSHF:
	case X86_INS_PUSHFD:
	case X86_INS_PUSHFQ:
	case X86_INS_POPF:
	case X86_INS_POPFD:
	case X86_INS_POPFQ:
	case X86_INS_SGDT:
	case X86_INS_SIDT:
	case X86_INS_SLDT:
	case X86_INS_SMSW:
	case X86_INS_STR:
		return false;
	}
	return !stack_segment && p.in_order && !(p.repeat && is_string(&p));
}

static const cs_x86_op *rip_operand(const cs_insn *in)
{
	const cs_x86 *x = &in->detail->x86;

	for (unsigned i = 0; i < x->op_count; i++) {
		const cs_x86_op *op = &x->operands[i];

		if (op->type == X86_OP_MEM && (op->mem.base == X86_REG_RIP || op->mem.base == X86_REG_EIP))
			return op;
	}
	return NULL;
}

/* Where rip-relative @in finds its memory; 0 if it is not rip-relative. */
static taddr rip_target(const cs_insn *in)
{
	const cs_x86_op *op = rip_operand(in);

	return op && op->mem.base == X86_REG_RIP ? in->address + in->size + (uint64_t)op->mem.disp : 0;
}

/* Where the four bytes of displacement are, according to capstone; checked against capstone's value. */
static int displacement_at(const cs_insn *in, unsigned *at)
{
	const cs_x86_op *op = rip_operand(in);
	int32_t disp;

	*at = in->detail->x86.encoding.disp_offset;
	if (op->mem.base != X86_REG_RIP || !*at || *at + sizeof(disp) > in->size)
		return -ERANGE;
	memcpy(&disp, in->bytes + *at, sizeof(disp));
	return disp == op->mem.disp ? 0 : -ERANGE;
}

int decode_relocate(struct decoder *d, const struct insn *insn, const uint8_t *code, taddr to,
		    uint8_t *out, size_t n)
{
	taddr target;
	int64_t disp;
	unsigned at, id;

	if (n < insn->len || !disassemble(d, code, insn->len, insn->addr) || !can_be_displaced(d))
		return -ERANGE;
	memcpy(out, code, insn->len);
	if (!rip_operand(d->insn))
		return insn->len;
	if (displacement_at(d->insn, &at))
		return -ERANGE;
	target = rip_target(d->insn);
	id = d->insn->id;
	disp = (int64_t)(target - (to + insn->len));
	if (disp != (int32_t)disp)
		return -ERANGE;
	memcpy(out + at, &(int32_t){ (int32_t)disp }, sizeof(int32_t));
	if (!disassemble(d, out, insn->len, to) || d->insn->id != id || rip_target(d->insn) != target)
		return -ERANGE;
	return insn->len;
}
