/* SPDX-License-Identifier: MIT */
/* capinsn: registers, prefixes and nops, decoded again from the instruction. */
#include "attach/probes/code/capinsn.h"

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

bool find_register(unsigned name, uint8_t *reg, uint8_t *size)
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

uint16_t register_bit(unsigned name)
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

struct prefixes prefixes_of(const cs_insn *in)
{
	struct prefixes p = { 0 };
	unsigned i = 0;
	bool late = false;

	for (; i < in->size; i++) {
		unsigned before = p.segment + p.branch;

		if (!count_prefix(in->bytes[i], &p))
			break;
		late |= p.repeat && p.segment + p.branch > before;
	}
	if (i < in->size && is_rex(in->bytes[i]))
		p.rex = in->bytes[i++];
	p.opcode = i < in->size ? in->bytes[i] : 0;
	p.in_order = i < in->size && !is_rex(in->bytes[i]) &&
		     !count_prefix(in->bytes[i], &(struct prefixes){ 0 }) &&
		     !(late && p.opcode == 0x0f);
	return p;
}

bool is_string(const struct prefixes *p)
{
	return (p->opcode >= 0x6c && p->opcode <= 0x6f) || (p->opcode >= 0xa4 && p->opcode <= 0xa7) ||
	       (p->opcode >= 0xaa && p->opcode <= 0xaf);
}

/*
 * `nop` by its bytes: capstone 4 also reports nop for the reserved hints (0f 1e, of which rdssp writes a
 * register where shadow stacks are on) and for 41 90, which is `xchg r8, rax`.
 */
bool is_nop(const cs_insn *in)
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
