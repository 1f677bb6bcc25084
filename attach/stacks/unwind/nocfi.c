/* SPDX-License-Identifier: MIT */
/* nocfi: see nocfi.h. */
#include "attach/stacks/unwind/nocfi.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <string.h>

#define START_MAX 128	/* bytes; ld.so's start has 0x3a */
#define CALL_MAX 7	/* a call of seven bytes: ff 94 with SIB and a 32-bit offset */

/* mov $15,%rax; syscall: all C libraries' __restore_rt. */
static const uint8_t sigreturn[] = { 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 };

/* Where a ucontext_t at rsp has each register: 40 + 8 * its place in gregset_t. */
/* of 64 and more: two bytes */
#define AT(offset) { DW_OP_breg7, ((offset) & 0x7f) | 0x80, (offset) >> 7 }
static const uint8_t ucontext[FRAME_REGS][3] = {
	[FRAME_R8] = { DW_OP_breg7, 40 },
	[FRAME_R9] = { DW_OP_breg7, 48 },
	[FRAME_R10] = { DW_OP_breg7, 56 },
	[FRAME_R11] = AT(64),
	[FRAME_R12] = AT(72),
	[FRAME_R13] = AT(80),
	[FRAME_R14] = AT(88),
	[FRAME_R15] = AT(96),
	[FRAME_RDI] = AT(104),
	[FRAME_RSI] = AT(112),
	[FRAME_RBP] = AT(120),
	[FRAME_RBX] = AT(128),
	[FRAME_RDX] = AT(136),
	[FRAME_RAX] = AT(144),
	[FRAME_RCX] = AT(152),
	[FRAME_RSP] = AT(160),
	[FRAME_RIP] = AT(168),
};

/* The return address is on top of the stack. */
static void set_top_of_stack(struct cfi_rule *out)
{
	for (unsigned reg = 0; reg < FRAME_REGS; reg++)
		out->regs[reg].how = CFI_SAME;
	out->cfa = (struct cfi_place){ .how = CFI_VAL_OFFSET, .reg = FRAME_RSP, .offset = 8 };
	out->regs[FRAME_RSP] = (struct cfi_place){ .how = CFI_VAL_OFFSET };
	out->regs[FRAME_RIP] = (struct cfi_place){ .how = CFI_OFFSET, .offset = -8 };
}

static void set_signal_frame(struct cfi_rule *out)
{
	for (unsigned reg = 0; reg < FRAME_REGS; reg++) {
		/* Three bytes, or two where the offset is one byte long. */
		uint32_t len = ucontext[reg][1] & 0x80 ? 3 : 2;

		out->regs[reg] = (struct cfi_place){
			.how = CFI_EXPRESSION, .len = len, .expr = ucontext[reg],
		};
	}
	out->cfa = (struct cfi_place){ .how = CFI_VAL_OFFSET, .reg = FRAME_RSP };
	out->signal = true;
}

static bool begins(const uint8_t *code, size_t n, const char *bytes, size_t len)
{
	return n >= len && !memcmp(code, bytes, len);
}

/* With and without a prefix for the branch predictor. */
static bool is_return(const uint8_t *code, size_t n)
{
	return begins(code, n, "\xc3", 1) || begins(code, n, "\xf3\xc3", 2) || begins(code, n, "\xf2\xc3", 2);
}

/* A return, or jmp *slot(%rip). */
static bool leaves(const uint8_t *code, size_t n)
{
	return is_return(code, n) || begins(code, n, "\xff\x25", 2) || begins(code, n, "\xf2\xff\x25", 3);
}

/* The symbol may also be that for the old calling convention, asmcgocall.abi0. */
bool nocfi_changes_stack(const struct elfimage *img, taddr pc)
{
	static const char name[] = "runtime.asmcgocall";
	const char *its = elfimage_symbol_over(img, pc, &(struct code_range){ 0 });

	return its && !strncmp(its, name, sizeof(name) - 1);
}

bool nocfi_at_return(const struct elfimage *img, taddr pc)
{
	uint8_t code[2];

	return is_return(code, elfimage_code(img, pc, code, sizeof(code)));
}

bool nocfi_at_realigned_end(const struct elfimage *img, taddr pc)
{
	uint8_t code[6];
	size_t n = elfimage_code(img, pc, code, sizeof(code));

	return begins(code, n, "\x49\x8d\x62", 3) && n > 4 && is_return(code + 4, n - 4);
}

/*
 * Is the code before @pc that at which the file is entered? Nothing has called it. A program's _start has a
 * table that says so, the dynamic loader's has none.
 */
static bool is_start(const struct elfimage *img, taddr pc)
{
	struct code_range range;
	GElf_Ehdr eh;

	if (!gelf_getehdr(elfimage_elf(img), &eh) || !eh.e_entry || pc <= eh.e_entry ||
	    pc - eh.e_entry > START_MAX)
		return false;
	for (taddr at = eh.e_entry; at < pc; at++)
		if (elfimage_extent(img, at, &range) && range.lo > eh.e_entry)
			return false;	/* another function */
	return true;
}

int nocfi_rule(const struct elfimage *img, taddr pc, bool exact, struct cfi_rule *out)
{
	uint8_t code[sizeof(sigreturn)];
	size_t n = elfimage_code(img, pc, code, sizeof(code));

	if (!n)
		return -ENXIO;
	*out = (struct cfi_rule){ 0 };
	if (n == sizeof(code) && !memcmp(code, sigreturn, n))
		set_signal_frame(out);
	else if (!exact && is_start(img, pc))
		out->regs[FRAME_RIP].how = CFI_UNDEFINED;
	else if (exact && (leaves(code, n) || elfimage_symbol_at(img, pc)))
		set_top_of_stack(out);
	else
		return -ENOENT;
	return 0;
}

/* ff /2 with the length that its ModRM byte asks for. */
static size_t indirect_length(const uint8_t *p)
{
	unsigned mod = p[1] >> 6, rm = p[1] & 7;
	size_t len = 2 + (mod != 3 && rm == 4);

	if (p[0] != 0xff || (p[1] >> 3 & 7) != 2)
		return 0;
	if (mod == 1)
		return len + 1;
	return mod == 2 || (mod == 0 && rm == 5) ? len + 4 : len;
}

bool nocfi_after_call(const struct elfimage *img, taddr pc)
{
	uint8_t code[CALL_MAX];

	if (elfimage_code(img, pc - CALL_MAX, code, sizeof(code)) != sizeof(code))
		return false;
	if (code[CALL_MAX - 5] == 0xe8)
		return true;
	for (size_t len = 2; len <= CALL_MAX; len++) {
		if (indirect_length(code + CALL_MAX - len) == len)
			return true;
	}
	return false;
}
