/* SPDX-License-Identifier: MIT */
/*
 * decode: what planning reads out of an instruction, and relocating one.
 *
 * What the keeper reads (struct emu) is compared with the processor in test_emulate.c; relocated instructions
 * are run here, at their new address.
 */
#include "attach/probes/code/decode.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define AT 0x401000UL

static struct decoder *d;

static struct insn decoded(const char *bytes, size_t n)
{
	struct insn in;

	if (decode(d, (const uint8_t *)bytes, n, AT, &in))
		fail_msg("%02x %02x ... is no instruction", (uint8_t)bytes[0], n > 1 ? (uint8_t)bytes[1] : 0);
	assert_int_equal(in.len, n);
	assert_int_equal(in.emu.len, n);
	assert_true(in.addr == AT);
	return in;
}

#define DECODE(s) decoded((s), sizeof(s) - 1)

static void test_flow(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		enum flow flow;
		bool target_known;
		taddr target, slot;
	} cases[] = {
		{ "\xc3", 1, FLOW_RET, false, 0, 0 },
		{ "\xf3\xc3", 2, FLOW_RET, false, 0, 0 },
		{ "\xf2\xc3", 2, FLOW_RET, false, 0, 0 },
		{ "\xc2\x08\x00", 3, FLOW_RET, false, 0, 0 },
		{ "\xeb\xfe", 2, FLOW_JUMP, true, AT, 0 },
		{ "\xe9\x00\x01\x00\x00", 5, FLOW_JUMP, true, AT + 0x105, 0 },
		{ "\xff\x25\x10\x00\x00\x00", 6, FLOW_JUMP, false, 0, AT + 0x16 },
		{ "\xf2\xff\x25\x10\x00\x00\x00", 7, FLOW_JUMP, false, 0, AT + 0x17 },
		{ "\x3e\xff\xe0", 3, FLOW_JUMP, false, 0, 0 },
		{ "\xff\x24\xc5\x00\x10\x40\x00", 7, FLOW_JUMP, false, 0, 0 },
		{ "\x64\xff\x25\x10\x00\x00\x00", 7, FLOW_JUMP, false, 0, 0 },	/* through fs: no slot */
		{ "\xff\x2b", 2, FLOW_JUMP, false, 0, 0 },
		{ "\x74\x10", 2, FLOW_BRANCH, true, AT + 0x12, 0 },
		{ "\x0f\x85\xfa\xff\xff\xff", 6, FLOW_BRANCH, true, AT, 0 },
		{ "\xe3\x00", 2, FLOW_BRANCH, true, AT + 2, 0 },
		{ "\xe2\xfe", 2, FLOW_BRANCH, true, AT, 0 },
		{ "\xe8\x00\x00\x00\x00", 5, FLOW_CALL, true, AT + 5, 0 },
		{ "\xff\x15\x00\x00\x00\x00", 6, FLOW_CALL, false, 0, AT + 6 },
		{ "\xff\xd0", 2, FLOW_CALL, false, 0, 0 },
		{ "\x0f\x0b", 2, FLOW_STOP, false, 0, 0 },
		{ "\xf4", 1, FLOW_STOP, false, 0, 0 },
		{ "\xcc", 1, FLOW_STOP, false, 0, 0 },
		{ "\x48\x89\xc3", 3, FLOW_NEXT, false, 0, 0 },
		{ "\xcb", 1, FLOW_JUMP, false, 0, 0 },	/* the target of a far return is unknown */
		{ "\xca\x08\x00", 3, FLOW_JUMP, false, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct insn in = decoded(cases[i].bytes, cases[i].n);

		if (in.flow != cases[i].flow || in.target_known != cases[i].target_known ||
		    in.target != cases[i].target || in.slot != cases[i].slot)
			fail_msg("row %zu (%s): flow %d, target %#lx, slot %#lx", i, in.text, in.flow,
				 (unsigned long)in.target, (unsigned long)in.slot);
	}
}

static void test_stack_pointer(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		bool known;
		int change;
	} cases[] = {
		{ "\x53", 1, true, -8 },			/* push rbx */
		{ "\x41\x57", 2, true, -8 },
		{ "\x66\x53", 2, false, 0 },			/* two bytes: not trusted */
		{ "\x6a\x01", 2, true, -8 },
		{ "\x5b", 1, true, 8 },
		{ "\x5c", 1, false, 0 },			/* pop rsp */
		{ "\x9c", 1, true, -8 },			/* pushfq */
		{ "\x9d", 1, true, 8 },
		{ "\x48\x83\xec\x28", 4, true, -0x28 },
		{ "\x48\x81\xec\x00\x10\x00\x00", 7, true, -0x1000 },
		{ "\x48\x83\xc4\x28", 4, true, 0x28 },
		{ "\x48\x83\xc4\x80", 4, true, -0x80 },
		{ "\x48\x8d\x64\x24\xf8", 5, true, -8 },	/* lea rsp, [rsp - 8] */
		{ "\x48\x8d\x24\x04", 4, false, 0 },		/* lea rsp, [rsp + rax] */
		{ "\x48\x83\xe4\xf0", 4, false, 0 },		/* and rsp, -16 */
		{ "\x48\x89\xec", 3, false, 0 },		/* mov rsp, rbp */
		{ "\xc9", 1, false, 0 },
		{ "\xc8\x10\x00\x00", 4, false, 0 },
		{ "\x48\x94", 2, false, 0 },			/* xchg rsp, rax */
		{ "\x48\x89\xe5", 3, true, 0 },			/* mov rbp, rsp */
		{ "\x48\x83\xfc\x08", 4, true, 0 },		/* cmp rsp, 8 */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct insn in = decoded(cases[i].bytes, cases[i].n);

		if (in.sp_known != cases[i].known || (in.sp_known && in.sp_change != cases[i].change))
			fail_msg("row %zu (%s): known %d, change %d", i, in.text, in.sp_known, in.sp_change);
	}
}

static void test_writes(void **state)
{
	(void)state;
	assert_int_equal(DECODE("\x48\x89\xc7").writes, 1 << EMU_RDI);
	assert_int_equal(DECODE("\x89\xc7").writes, 1 << EMU_RDI);
	assert_int_equal(DECODE("\x40\x88\xc7").writes, 1 << EMU_RDI);
	assert_int_equal(DECODE("\xb6\x01").writes, 1 << EMU_RDX);	/* mov dh, 1 */
	assert_int_equal(DECODE("\x48\x85\xff").writes, 0);
	assert_int_equal(DECODE("\x48\xf7\xe6").writes, 1 << EMU_RAX | 1 << EMU_RDX);	/* mul rsi */
	assert_int_equal(DECODE("\x49\x87\xf0").writes, 1 << EMU_RSI | 1 << EMU_R8);	/* xchg r8, rsi */
	assert_true(DECODE("\xf3\xa4").writes & 1 << EMU_RDI);	/* rep movsb */
	assert_true(DECODE("\x53").writes & 1 << EMU_RSP);
	assert_int_equal(DECODE("\x66\x0f\xef\xc0").writes, 0);	/* pxor */
	assert_true(DECODE("\x0f\xa2").writes & 1 << EMU_RDX);	/* cpuid */
}

static void test_reads(void **state)
{
	(void)state;
	assert_int_equal(DECODE("\x48\x89\xc7").reads, 1 << EMU_RAX);	/* mov rdi, rax */
	assert_int_equal(DECODE("\x48\x8b\x38").reads, 1 << EMU_RAX);	/* mov rdi, [rax] */
	assert_int_equal(DECODE("\xff\x50\x08").reads & 1 << EMU_RAX, 1 << EMU_RAX);	/* call [rax+8] */
	assert_int_equal(DECODE("\x84\xc0").reads, 1 << EMU_RAX);	/* test al, al */
	assert_int_equal(DECODE("\x48\x89\xf8").reads, 1 << EMU_RDI);	/* mov rax, rdi */
	assert_int_equal(DECODE("\x31\xc0").reads, 0);	/* xor eax, eax */
	assert_int_equal(DECODE("\x48\x29\xc0").reads, 0);	/* sub rax, rax */
	assert_int_equal(DECODE("\x31\xc8").reads, 1 << EMU_RAX | 1 << EMU_RCX);	/* xor eax, ecx */
	assert_int_equal(DECODE("\x0f\x44\xf8").reads & 1 << EMU_RAX, 1 << EMU_RAX);	/* cmove edi, eax */
	assert_int_equal(DECODE("\x66\x48\x0f\x6e\xc0").reads, 1 << EMU_RAX);	/* movq xmm0, rax */
	assert_int_equal(DECODE("\x50").reads & 1 << EMU_RAX, 1 << EMU_RAX);	/* push rax */
	assert_int_equal(DECODE("\x0f\x44\xc7").reads, 1 << EMU_RDI | 1 << EMU_RAX);	/* cmove eax, edi */
	assert_int_equal(DECODE("\x0f\x1f\x44\x00\x00").reads, 0);	/* nop dword ptr [rax + rax] */
	assert_int_equal(DECODE("\xf3\xaa").reads, UINT16_MAX);	/* rep stosb */
}

static void test_stores(void **state)
{
	(void)state;
	assert_true(DECODE("\xf0\x83\x2f\x01").stores);		/* lock sub dword ptr [rdi], 1 */
	assert_true(DECODE("\xff\x4f\x08").stores);		/* dec dword ptr [rdi + 8] */
	assert_true(DECODE("\x48\x89\x3e").stores);		/* mov [rsi], rdi */
	assert_true(DECODE("\x48\x87\x37").stores);		/* xchg [rdi], rsi */
	assert_true(DECODE("\xf0\x0f\xc1\x07").stores);		/* lock xadd [rdi], eax */
	assert_true(DECODE("\xf0\x0f\xb1\x17").stores);		/* lock cmpxchg [rdi], edx */
	assert_true(DECODE("\x0f\xb1\x17").stores);		/* cmpxchg [rdi], edx */
	assert_true(DECODE("\x0f\x11\x07").stores);		/* movups [rdi], xmm0 */
	assert_true(DECODE("\xf3\xa4").stores);		/* rep movsb */
	assert_true(DECODE("\x66\x0f\xf7\xc1").stores);	/* maskmovdqu xmm0, xmm1 */
	assert_true(DECODE("\xf3\x48\xab").stores);		/* rep stosq */
	assert_false(DECODE("\x48\x8b\x07").stores);		/* mov rax, [rdi] */
	assert_false(DECODE("\x48\x8d\x47\x08").stores);	/* lea rax, [rdi + 8] */
	assert_false(DECODE("\x83\x3f\x01").stores);		/* cmp dword ptr [rdi], 1 */
	assert_false(DECODE("\x48\x89\x7c\x24\xf8").stores);	/* mov [rsp - 8], rdi */
	assert_false(DECODE("\x53").stores);			/* push rbx */
	assert_false(DECODE("\x0f\x1f\x40\x00").stores);	/* nop dword ptr [rax] */
	assert_false(DECODE("\x48\x85\xff").stores);
}

static void test_padding(void **state)
{
	(void)state;
	assert_true(DECODE("\x90").padding);
	assert_true(DECODE("\xcc").padding);
	assert_true(DECODE("\x66\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00").padding);
	assert_true(DECODE("\x0f\x1f\x40\x00").padding);
	assert_false(DECODE("\x41\x90").padding);
	assert_false(DECODE("\xc3").padding);
}

static void test_syscall(void **state)
{
	(void)state;
	assert_true(DECODE("\x0f\x05").syscall);
	assert_true(DECODE("\x0f\x34").syscall);
	assert_true(DECODE("\xcd\x80").syscall);
	assert_false(DECODE("\x90").syscall);
}

static void test_text(void **state)
{
	(void)state;
	assert_string_equal(DECODE("\x41\x54").text, "push r12");
	assert_string_equal(DECODE("\xc3").text, "ret");
}

static void test_broken(void **state)
{
	struct insn in;

	(void)state;
	assert_int_equal(decode(d, (const uint8_t *)"\x06", 1, AT, &in), -EILSEQ);
	assert_int_equal(decode(d, (const uint8_t *)"\x48\x89", 2, AT, &in), -EILSEQ);
	assert_int_equal(decode(d, (const uint8_t *)"", 0, AT, &in), -EILSEQ);
	/* seven bytes to the processor, eight to capstone 4 */
	assert_int_equal(decode(d, (const uint8_t *)"\x2e\x62\x02\xb5\xdf\xaa\xda\x90", 8, AT, &in), -EILSEQ);
	/* push imm16 to the processor, imm32 to capstone 4 */
	assert_int_equal(decode(d, (const uint8_t *)"\x66\xf3\x68\x01\x00\x00\x00", 7, AT, &in), -EILSEQ);
	/* and of these: two prefixes that change nothing */
	assert_int_equal(decode(d, (const uint8_t *)"\x66\x48\xc2\x08\x00\x90\x90", 7, AT, &in), -EILSEQ);
	assert_int_equal(decode(d, (const uint8_t *)"\x67\x48\xe8\x01\x00\x00\x00", 7, AT, &in), -EILSEQ);
	/* the length is right, but not where it jumps to */
	assert_int_equal(decode(d, (const uint8_t *)"\x67\x48\xe9\x01\x00\x01\x00", 7, AT, &in), -EILSEQ);
	/* what linkers make of calls is decoded */
	assert_true(DECODE("\x67\xe8\x01\x00\x00\x00").target == AT + 7);
	assert_true(DECODE("\x66\x66\x48\xe8\x01\x00\x00\x00").target == AT + 9);
	assert_true(DECODE("\x66\x48\x67\xe8\x01\x00\x00\x00").target == AT + 9);
}

/* An operand that moves with the module is marked as such; others are not. */
static void test_moves(void **state)
{
	struct insn in = DECODE("\x80\x3d\x10\x00\x00\x00\x00");	/* cmp byte [rip + 16], 0 */

	(void)state;
	assert_int_equal(in.emu.dst.moves, 1);
	assert_true((taddr)in.emu.dst.imm == AT + 7 + 0x10);
	assert_int_equal(DECODE("\xe9\x00\x01\x00\x00").emu.src.moves, 1);
	assert_int_equal(DECODE("\xff\x25\x10\x00\x00\x00").emu.src.moves, 1);
	assert_int_equal(DECODE("\x48\xc7\xc0\x10\x00\x00\x00").emu.src.moves, 0);
	assert_int_equal(DECODE("\x64\x48\x8b\x04\x25\x10\x00\x00\x00").emu.src.moves, 0);
	assert_int_equal(DECODE("\x68\x00\x10\x40\x00").emu.src.moves, 0);
	assert_int_equal(DECODE("\x48\x8b\x44\x24\x08").emu.src.moves, 0);
}

static int relocate(const char *bytes, size_t n, taddr to, uint8_t *out)
{
	struct insn in = decoded(bytes, n);

	return decode_relocate(d, &in, (const uint8_t *)bytes, to, out, 16);
}

static void test_relocate_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
	} refused[] = {
		{ "\xc3", 1 }, { "\xeb\x00", 2 }, { "\x74\x00", 2 }, { "\xe8\x00\x00\x00\x00", 5 },
		{ "\xff\xd0", 2 }, { "\xff\xe0", 2 }, { "\xe2\x00", 2 }, { "\xe3\x00", 2 },
		{ "\x0f\x05", 2 }, { "\xcd\x80", 2 }, { "\x0f\x0b", 2 }, { "\xcc", 1 }, { "\xf4", 1 },
		{ "\x9c", 1 }, { "\x9d", 1 },			/* the trap flag would be visible, or lost */
		{ "\x8e\xd0", 2 },				/* mov ss: delays the trap */
		{ "\xf3\xa4", 2 }, { "\xf2\xae", 2 },		/* many steps */
		{ "\x0f\x01\xe0", 3 }, { "\x0f\x01\x07", 3 },	/* smsw, sgdt: the kernel may emulate them */
		{ "\x0f\xa2", 2 },				/* cpuid: a hypervisor may emulate it */
		{ "\x67\x48\x8b\x05\x10\x00\x00\x00", 8 },	/* [eip + 16] */
		{ "\xc7\xf8\x00\x00\x00\x00", 6 },		/* xbegin */
	};
	uint8_t out[16];

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		if (relocate(refused[i].bytes, refused[i].n, AT + 64, out) != -ERANGE)
			fail_msg("row %zu should not be moved", i);
	}
	/* out of reach */
	assert_int_equal(relocate("\x48\x8b\x05\x10\x00\x00\x00", 7, AT + (1UL << 32), out), -ERANGE);
}

static void test_relocate_plain(void **state)
{
	uint8_t out[16];

	(void)state;
	assert_int_equal(relocate("\xf3\x0f\x10\x07", 4, AT + (1UL << 40), out), 4);
	assert_memory_equal(out, "\xf3\x0f\x10\x07", 4);
}

/*
 * Run at its new address, a rip-relative load finds the same data, also with an immediate behind the
 * displacement.
 */
static void test_relocate_runs(void **state)
{
	static const char load[] = "\x48\x8b\x05\x00\x00\x00\x00";		/* mov rax, [rip + 0] */
	/* imul rax, [rip + 0], 3 */
	static const char multiply[] = "\x48\x69\x05\x00\x00\x00\x00\x03\x00\x00\x00";
	uint8_t *page =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t value = 0x0123456789abcdefULL;
	struct insn in;
	int n;

	(void)state;
	assert_true(page != MAP_FAILED);
	for (int turn = 0; turn < 2; turn++) {
		const char *bytes = turn ? multiply : load;
		size_t len = turn ? sizeof(multiply) - 1 : sizeof(load) - 1;

		memcpy(page, bytes, len);
		memcpy(page + len, &value, sizeof(value));	/* rip + 0 */
		assert_int_equal(decode(d, page, len, (taddr)(uintptr_t)page, &in), 0);
		n = decode_relocate(d, &in, page, (taddr)(uintptr_t)page + 1024, page + 1024, 16);
		assert_int_equal(n, len);
		page[1024 + n] = 0xc3;
		assert_true(((uint64_t (*)(void))(uintptr_t)(page + 1024))() == (turn ? 3 * value : value));
	}
	munmap(page, 4096);
}

static int set_up(void **state)
{
	(void)state;
	return decoder_new(&d);
}

static int tear_down(void **state)
{
	(void)state;
	decoder_free(d);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flow),	       cmocka_unit_test(test_stack_pointer),
		cmocka_unit_test(test_writes),	       cmocka_unit_test(test_reads),
		cmocka_unit_test(test_stores),
		cmocka_unit_test(test_padding),
		cmocka_unit_test(test_syscall),	       cmocka_unit_test(test_text),
		cmocka_unit_test(test_broken),	       cmocka_unit_test(test_moves),
		cmocka_unit_test(test_relocate_refused), cmocka_unit_test(test_relocate_plain),
		cmocka_unit_test(test_relocate_runs),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
