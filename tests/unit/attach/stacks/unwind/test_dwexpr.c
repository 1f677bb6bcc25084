/* SPDX-License-Identifier: MIT */
/* dwexpr: each operation that call frames use, and each way in which an expression can be wrong. */
#include "attach/stacks/unwind/dwexpr.h"

#include <dwarf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MEMORY_AT 0x1000

static const uint64_t memory[] = { 0x1122334455667788, 42, 0xfedcba9876543210 };

static int load(void *ctx, taddr addr, void *buf, size_t n)
{
	taddr at = addr - MEMORY_AT;

	(void)ctx;
	if (n > sizeof(memory) || at > sizeof(memory) - n)
		return -EFAULT;
	memcpy(buf, (const uint8_t *)memory + at, n);
	return 0;
}

static const struct frame_regs regs = {
	.r = { [FRAME_RBP] = 0x1010, [FRAME_RSP] = 0x1000, [FRAME_R10] = 77, [FRAME_RIP] = 0x40100b },
	.known = 1u << FRAME_RBP | 1u << FRAME_RSP | 1u << FRAME_R10 | 1u << FRAME_RIP,
};

static int eval(const uint8_t *ops, size_t n, const taddr *start, uint64_t *out)
{
	const struct dwexpr_env env = { .regs = &regs, .start = start, .load = load };

	*out = 0xdead;
	return dwexpr_eval(ops, n, &env, out);
}

struct example {
	const char *what;
	uint8_t ops[24];
	uint8_t n;
	uint64_t result;
};

#define OPS(...) { __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ })

static const struct example examples[] = {
	{ "lit0", OPS(DW_OP_lit0), 0 },
	{ "lit31", OPS(DW_OP_lit31), 31 },
	{ "const1u", OPS(DW_OP_const1u, 0xff), 255 },
	{ "const1s", OPS(DW_OP_const1s, 0xff), UINT64_MAX },
	{ "const2u", OPS(DW_OP_const2u, 0x34, 0x92), 0x9234 },
	{ "const2s", OPS(DW_OP_const2s, 0x34, 0x92), 0xffffffffffff9234 },
	{ "const4u", OPS(DW_OP_const4u, 1, 0, 0, 0x80), 0x80000001 },
	{ "const4s", OPS(DW_OP_const4s, 1, 0, 0, 0x80), 0xffffffff80000001 },
	{ "const8u", OPS(DW_OP_const8u, 1, 2, 3, 4, 5, 6, 7, 8), 0x0807060504030201 },
	{ "const8s", OPS(DW_OP_const8s, 1, 2, 3, 4, 5, 6, 7, 0x88), 0x8807060504030201 },
	{ "constu", OPS(DW_OP_constu, 0xe5, 0x8e, 0x26), 624485 },
	{ "consts", OPS(DW_OP_consts, 0x80, 0x7f), (uint64_t)-128 },
	{ "uleb of eleven bytes",
	  OPS(DW_OP_constu, 0x85, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00), 5 },
	{ "breg", OPS(DW_OP_breg6, 0x08), 0x1018 },
	{ "breg, negative", OPS(DW_OP_breg7, 0x78), 0xff8 },
	{ "bregx", OPS(DW_OP_bregx, 10, 0), 77 },
	{ "deref", OPS(DW_OP_breg7, 8, DW_OP_deref), 42 },
	{ "deref_size", OPS(DW_OP_breg7, 0, DW_OP_deref_size, 2), 0x7788 },
	{ "dup", OPS(DW_OP_lit3, DW_OP_dup, DW_OP_mul), 9 },
	{ "drop", OPS(DW_OP_lit3, DW_OP_lit4, DW_OP_drop), 3 },
	{ "over", OPS(DW_OP_lit3, DW_OP_lit4, DW_OP_over), 3 },
	{ "pick", OPS(DW_OP_lit1, DW_OP_lit2, DW_OP_lit3, DW_OP_pick, 2), 1 },
	{ "swap", OPS(DW_OP_lit9, DW_OP_lit4, DW_OP_swap, DW_OP_minus), (uint64_t)-5 },
	{ "rot", OPS(DW_OP_lit1, DW_OP_lit2, DW_OP_lit3, DW_OP_rot), 2 },
	{ "rot, below", OPS(DW_OP_lit1, DW_OP_lit2, DW_OP_lit3, DW_OP_rot, DW_OP_drop), 1 },
	{ "rot, lowest", OPS(DW_OP_lit1, DW_OP_lit2, DW_OP_lit3, DW_OP_rot, DW_OP_drop, DW_OP_drop), 3 },
	{ "plus", OPS(DW_OP_lit3, DW_OP_lit4, DW_OP_plus), 7 },
	{ "plus_uconst", OPS(DW_OP_lit3, DW_OP_plus_uconst, 0x80, 0x01), 131 },
	{ "and", OPS(DW_OP_lit12, DW_OP_lit10, DW_OP_and), 8 },
	{ "or", OPS(DW_OP_lit12, DW_OP_lit10, DW_OP_or), 14 },
	{ "xor", OPS(DW_OP_lit12, DW_OP_lit10, DW_OP_xor), 6 },
	{ "neg", OPS(DW_OP_lit1, DW_OP_neg), UINT64_MAX },
	{ "not", OPS(DW_OP_lit0, DW_OP_not), UINT64_MAX },
	{ "abs", OPS(DW_OP_const1s, 0xf9, DW_OP_abs), 7 },
	{ "div is signed", OPS(DW_OP_const1s, 0xf8, DW_OP_lit2, DW_OP_div), (uint64_t)-4 },
	{ "mod", OPS(DW_OP_lit17, DW_OP_lit5, DW_OP_mod), 2 },
	{ "shl", OPS(DW_OP_lit1, DW_OP_lit12, DW_OP_shl), 4096 },
	{ "shl too far", OPS(DW_OP_lit1, DW_OP_const1u, 64, DW_OP_shl), 0 },
	{ "shr", OPS(DW_OP_const1s, 0xff, DW_OP_const1u, 60, DW_OP_shr), 15 },
	{ "shra", OPS(DW_OP_const1s, 0x80, DW_OP_lit4, DW_OP_shra), (uint64_t)-8 },
	{ "shra too far", OPS(DW_OP_const1s, 0x80, DW_OP_const1u, 200, DW_OP_shra), UINT64_MAX },
	{ "eq", OPS(DW_OP_lit4, DW_OP_lit4, DW_OP_eq), 1 },
	{ "ne", OPS(DW_OP_lit4, DW_OP_lit4, DW_OP_ne), 0 },
	{ "lt is signed", OPS(DW_OP_const1s, 0xff, DW_OP_lit4, DW_OP_lt), 1 },
	{ "le", OPS(DW_OP_lit4, DW_OP_lit4, DW_OP_le), 1 },
	{ "gt", OPS(DW_OP_lit4, DW_OP_lit4, DW_OP_gt), 0 },
	{ "ge", OPS(DW_OP_lit4, DW_OP_lit4, DW_OP_ge), 1 },
	{ "skip", OPS(DW_OP_lit1, DW_OP_skip, 1, 0, DW_OP_lit2), 1 },
	{ "bra taken", OPS(DW_OP_lit5, DW_OP_lit1, DW_OP_bra, 1, 0, DW_OP_lit2), 5 },
	{ "bra not taken", OPS(DW_OP_lit5, DW_OP_lit0, DW_OP_bra, 1, 0, DW_OP_lit2), 2 },
	/* 3 + 2 + 1, by a branch backwards */
	{ "a loop",
	  OPS(DW_OP_lit0, DW_OP_lit3, DW_OP_dup, DW_OP_rot, DW_OP_plus, DW_OP_swap, DW_OP_lit1, DW_OP_minus,
	      DW_OP_dup, DW_OP_bra, 0xf6, 0xff, DW_OP_drop),
	  6 },
	{ "nop", OPS(DW_OP_lit1, DW_OP_nop), 1 },
	/* The linker's expression for a PLT stub: rsp + 8, and 8 more behind the stub's push */
	{ "plt",
	  OPS(DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and, DW_OP_lit11, DW_OP_ge, DW_OP_lit3,
	      DW_OP_shl, DW_OP_plus),
	  0x1010 },
};

static void test_operations(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		const struct example *e = &examples[i];
		uint64_t result;
		int err = eval(e->ops, e->n, NULL, &result);

		if (err || result != e->result)
			fail_msg("%s: %d, 0x%lx and not 0x%lx", e->what, err, (unsigned long)result,
				 (unsigned long)e->result);
	}
}

static void test_begins_with_the_cfa(void **state)
{
	static const uint8_t ops[] = { DW_OP_lit8, DW_OP_minus };
	const taddr cfa = 0x7008;
	uint64_t result;

	(void)state;
	assert_int_equal(eval(ops, sizeof(ops), &cfa, &result), 0);
	assert_int_equal(result, 0x7000);
	assert_int_equal(eval(ops, 0, &cfa, &result), 0);
	assert_int_equal(result, 0x7008);
	assert_int_equal(eval(ops, sizeof(ops), NULL, &result), -EINVAL);
}

struct refusal {
	const char *what;
	uint8_t ops[12];
	uint8_t n;
	int err;
};

static const struct refusal refusals[] = {
	{ "nothing", { 0 }, 0, -EINVAL },
	{ "an empty stack at the end", OPS(DW_OP_lit1, DW_OP_drop), -EINVAL },
	{ "a number cut off", OPS(DW_OP_const4u, 1, 2), -EINVAL },
	{ "an endless leb", OPS(DW_OP_constu, 0x80, 0x80), -EINVAL },
	{ "a register not known", OPS(DW_OP_breg0, 0), -ENODATA },
	{ "a register that is none", OPS(DW_OP_breg17, 0), -EINVAL },
	{ "a register far away", OPS(DW_OP_bregx, 0xff, 0xff, 0xff, 0x7f, 0), -EINVAL },
	{ "memory that is not there", OPS(DW_OP_lit8, DW_OP_deref), -EFAULT },
	{ "deref of nothing", OPS(DW_OP_deref), -EINVAL },
	{ "deref_size 0", OPS(DW_OP_breg7, 0, DW_OP_deref_size, 0), -EINVAL },
	{ "deref_size 9", OPS(DW_OP_breg7, 0, DW_OP_deref_size, 9), -EINVAL },
	{ "division by 0", OPS(DW_OP_lit1, DW_OP_lit0, DW_OP_div), -EINVAL },
	{ "mod by 0", OPS(DW_OP_lit1, DW_OP_lit0, DW_OP_mod), -EINVAL },
	{ "the division that traps",
	  OPS(DW_OP_lit1, DW_OP_const1u, 63, DW_OP_shl, DW_OP_const1s, 0xff, DW_OP_div), -EINVAL },
	{ "one operand of two", OPS(DW_OP_lit1, DW_OP_plus), -EINVAL },
	{ "no operand of one", OPS(DW_OP_neg), -EINVAL },
	{ "swap of one", OPS(DW_OP_lit1, DW_OP_swap), -EINVAL },
	{ "rot of two", OPS(DW_OP_lit1, DW_OP_lit1, DW_OP_rot), -EINVAL },
	{ "pick too deep", OPS(DW_OP_lit1, DW_OP_pick, 1), -EINVAL },
	{ "dup of nothing", OPS(DW_OP_dup), -EINVAL },
	{ "drop of nothing", OPS(DW_OP_drop), -EINVAL },
	{ "bra on nothing", OPS(DW_OP_bra, 0, 0), -EINVAL },
	{ "a branch before the beginning", OPS(DW_OP_lit1, DW_OP_skip, 0xfb, 0xff), -EINVAL },
	{ "a branch behind the end", OPS(DW_OP_lit1, DW_OP_skip, 1, 0), -EINVAL },
	{ "a loop without an end", OPS(DW_OP_lit1, DW_OP_skip, 0xfd, 0xff), -EINVAL },
	{ "a stack without an end", OPS(DW_OP_lit1, DW_OP_skip, 0xfc, 0xff), -EINVAL },
	{ "call_frame_cfa", OPS(DW_OP_call_frame_cfa), -EINVAL },
	{ "reg0", OPS(DW_OP_reg0), -EINVAL },
	{ "addr", OPS(DW_OP_addr, 1, 2, 3, 4, 5, 6, 7, 8), -EINVAL },
	{ "piece", OPS(DW_OP_lit1, DW_OP_piece, 8), -EINVAL },
	{ "no operation", OPS(DW_OP_lit1, 0xff), -EINVAL },
};

static void test_refusals(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const struct refusal *r = &refusals[i];
		uint64_t result;
		int err = eval(r->ops, r->n, NULL, &result);

		if (err != r->err || result != 0xdead)
			fail_msg("%s: %d and not %d", r->what, err, r->err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_begins_with_the_cfa),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
