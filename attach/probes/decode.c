/* SPDX-License-Identifier: MIT */
/*
 * decode: capstone's words for one instruction into ours.
 *
 * Two readings of it: for planning (where control goes, what is written, how
 * rsp moves) and for the keeper (struct emu). The second is built from a list
 * of what is known to be exact: an instruction with a prefix, a register or an
 * operand that we did not think of gives EMU_NONE, never an approximation. Each
 * line of that list is held against the processor in tests/unit/test_emulate.c,
 * which also caught what capstone 4 gets wrong (see is_nop and prefixes_fit).
 */
#include "attach/probes/decode.h"

#include <capstone/capstone.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

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

/* Each register under the names of its sizes; the index is enum emu_reg. */
static const struct {
	uint16_t name[4];	/* 8, 4, 2, 1 bytes */
	uint16_t high;		/* ah and its like */
} registers[EMU_REGS] = {
	[EMU_RAX] = { { X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL }, X86_REG_AH },
	[EMU_RCX] = { { X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL }, X86_REG_CH },
	[EMU_RDX] = { { X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL }, X86_REG_DH },
	[EMU_RBX] = { { X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL }, X86_REG_BH },
	[EMU_RSP] = { { X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL }, 0 },
	[EMU_RBP] = { { X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL }, 0 },
	[EMU_RSI] = { { X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL }, 0 },
	[EMU_RDI] = { { X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL }, 0 },
	[EMU_R8] = { { X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B }, 0 },
	[EMU_R9] = { { X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B }, 0 },
	[EMU_R10] = { { X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B }, 0 },
	[EMU_R11] = { { X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B }, 0 },
	[EMU_R12] = { { X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B }, 0 },
	[EMU_R13] = { { X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B }, 0 },
	[EMU_R14] = { { X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B }, 0 },
	[EMU_R15] = { { X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B }, 0 },
};

/* false for registers that are none of the sixteen, and for ah, bh, ch, dh. */
static bool find_register(unsigned name, uint8_t *reg, uint8_t *size)
{
	for (unsigned r = 0; r < EMU_REGS; r++) {
		for (unsigned i = 0; i < 4; i++) {
			if (registers[r].name[i] != name)
				continue;
			*reg = (uint8_t)r;
			*size = (uint8_t)(8 >> i);
			return true;
		}
	}
	return false;
}

static uint16_t register_bit(unsigned name)
{
	uint8_t reg, size;

	if (find_register(name, &reg, &size))
		return (uint16_t)(1U << reg);
	for (unsigned r = 0; r < EMU_REGS; r++) {
		if (name && registers[r].high == name)
			return (uint16_t)(1U << r);
	}
	return 0;
}

/* The prefixes as the bytes say: capstone 4 drops some of them (f3 before a mov, a second segment). */
struct prefixes {
	unsigned size, address, lock, repeat, branch, segment;	/* how many of each */
	uint8_t rex;
	uint8_t opcode;	/* the first byte after them */
	bool in_order;	/* REX, if there is one, is the last before the opcode */
};

static bool is_rex(uint8_t byte)
{
	return (byte & 0xf0) == 0x40;
}

static bool count_prefix(uint8_t byte, struct prefixes *p)
{
	switch (byte) {
	case 0x66: p->size++; return true;
	case 0x67: p->address++; return true;
	case 0xf0: p->lock++; return true;
	case 0xf2:
	case 0xf3: p->repeat++; return true;
	case 0x2e:	/* a hint before a jcc */
	case 0x3e: p->branch++; return true;	/* notrack before a jmp or call */
	case 0x26:
	case 0x36:
	case 0x64:
	case 0x65: p->segment++; return true;
	}
	return false;
}

static struct prefixes prefixes_of(const cs_insn *in)
{
	struct prefixes p = { 0 };
	unsigned i = 0;

	while (i < in->size && count_prefix(in->bytes[i], &p))
		i++;
	if (i < in->size && is_rex(in->bytes[i]))
		p.rex = in->bytes[i++];
	p.opcode = i < in->size ? in->bytes[i] : 0;
	p.in_order = i < in->size && !is_rex(in->bytes[i]) && !count_prefix(in->bytes[i], &(struct prefixes){ 0 });
	return p;
}

/* ins, outs, movs, cmps, stos, lods, scas: they move rsi and rdi. */
static bool is_string(const struct prefixes *p)
{
	return (p->opcode >= 0x6c && p->opcode <= 0x6f) || (p->opcode >= 0xa4 && p->opcode <= 0xa7) ||
	       (p->opcode >= 0xaa && p->opcode <= 0xaf);
}

/*
 * Where capstone 4 forgets a register that is written, or its sums about rsp do not hold.
 * The list is what test_random_writes in tests/unit/test_emulate.c found.
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

static uint16_t registers_written(struct decoder *d)
{
	cs_regs read, write;
	uint8_t nread, nwrite;
	uint16_t bits = 0;

	if (badly_described(d->insn) ||
	    cs_regs_access(d->cs, d->insn, read, &nread, write, &nwrite) != CS_ERR_OK)
		return UINT16_MAX;
	for (unsigned i = 0; i < nwrite; i++)
		bits |= register_bit(write[i]);
	return bits;
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

static void find_target(const cs_insn *in, struct insn *out)
{
	const cs_x86_op *op = in->detail->x86.operands;

	if (out->flow != FLOW_JUMP && out->flow != FLOW_BRANCH && out->flow != FLOW_CALL)
		return;
	if (in->detail->x86.op_count < 1)
		return;
	if (op->type == X86_OP_IMM && in->detail->x86.op_count == 1) {
		out->target_known = true;
		out->target = (taddr)op->imm;
	} else if (op->type == X86_OP_MEM && op->mem.base == X86_REG_RIP &&
		   op->mem.segment == X86_REG_INVALID) {
		out->slot = in->address + in->size + (uint64_t)op->mem.disp;
	}
}

/*
 * `nop` by its bytes: capstone 4 also says nop for the reserved hints (0f 1e, of
 * which rdssp writes a register where shadow stacks are on) and for
 * 41 90, which is `xchg r8, rax`.
 */
static bool is_nop(const cs_insn *in)
{
	const uint8_t *p = in->bytes, *end = in->bytes + in->size;
	bool repeat = false;

	while (p < end && (*p == 0x66 || *p == 0x2e || *p == 0xf3)) {
		repeat |= *p == 0xf3;
		p++;
	}
	if (repeat)
		return end - p == 3 && p == in->bytes + 1 && p[0] == 0x0f && p[1] == 0x1e && p[2] == 0xfa;
	if (p < end && (*p & 0xf0) == 0x40) {
		if (*p & 1 && end - p == 2)
			return false;
		p++;
	}
	if (end - p == 1)
		return *p == 0x90;
	return end - p >= 3 && p[0] == 0x0f && p[1] == 0x1f && (p[2] & 0x38) == 0;
}

static bool by_constant(const cs_x86 *x)
{
	const cs_x86_op *op = x->operands;

	return x->op_count == 2 && op[0].type == X86_OP_REG && op[0].reg == X86_REG_RSP &&
	       op[1].type == X86_OP_IMM && op[1].imm == (int32_t)op[1].imm;
}

static bool lea_from_sp(const cs_x86 *x)
{
	const cs_x86_op *op = x->operands;

	return op[0].reg == X86_REG_RSP && op[1].mem.base == X86_REG_RSP && op[1].mem.index == X86_REG_INVALID &&
	       op[1].mem.disp == (int32_t)op[1].mem.disp;
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
	} else if (mem->base != X86_REG_INVALID && (!find_register(mem->base, &out->base, &size) || size != 8)) {
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

/* What each operation can take; refuses what no such instruction should have. */
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

/* push and pop of eight bytes, jumps to eight: a size prefix makes another instruction of them. */
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
 * f2 (bnd), f3, 2e and 3e before a jump, call or ret change nothing; anywhere
 * else they may, and lock does. Opcode 63 extends the sign only with REX.W, but
 * is movsxd with an eight-byte register to capstone 4 in any case.
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

static bool fill_emu(const cs_insn *in, struct emu *e)
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

/* 66 with f2 or f3 before an opcode that takes neither: capstone 4 then gets the length of an immediate wrong. */
static bool length_doubtful(const cs_insn *in)
{
	struct prefixes p = prefixes_of(in);

	return p.size && p.repeat && p.opcode != 0x0f && !is_string(&p);
}

static bool disassemble(struct decoder *d, const uint8_t *code, size_t n, taddr addr)
{
	return cs_disasm_iter(d->cs, &code, &n, &addr, d->insn) && !length_doubtful(d->insn);
}

int decode(struct decoder *d, const uint8_t *code, size_t n, taddr addr, struct insn *out)
{
	const cs_insn *in = d->insn;

	if (!disassemble(d, code, n, addr))
		return -EILSEQ;
	*out = (struct insn){ .addr = addr, .len = (uint8_t)in->size };
	out->flow = flow_of(d);
	out->writes = registers_written(d);
	out->syscall = enters_kernel(d);
	out->padding = is_nop(in) || in->id == X86_INS_INT3;
	find_target(in, out);
	find_sp_change(in, out);
	if (!fill_emu(in, &out->emu))
		out->emu = (struct emu){ .op = EMU_NONE };
	out->emu.len = out->len;
	snprintf(out->text, sizeof(out->text), "%.14s%s%.47s", in->mnemonic, *in->op_str ? " " : "", in->op_str);
	return 0;
}

/*
 * What behaves the same elsewhere under a single step: no jump, nothing that
 * enters the kernel, nothing that shows or clears the trap flag (pushf,
 * popf), holds the trap back by one instruction (a load of ss), takes several
 * steps (rep), or may be emulated by the kernel, which forgets the step (sgdt and its like, UMIP).
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

/* The four bytes of displacement, found from capstone's word and checked against its value. */
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
