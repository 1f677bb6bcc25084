/* SPDX-License-Identifier: MIT */
/* uprobe_load, uprobe_jit: what the verifier refused, and where a compiled program has its stack. */
#include "attach/uprobe/uprobe_load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "attach/uprobe/uprobe_jit.h"

static void the_line_that_says_why(void **state)
{
	char out[160];

	(void)state;
	/* as libbpf 1.1 prints what Linux 6.1 says */
	assert_true(uprobe_load_refusal("libbpf: prog 'at_site': -- BEGIN PROG LOAD LOG --\n"
					"; asks = bpf_map_lookup_elem(&sites, &h->outer);\n"
					"148: (85) call bpf_map_lookup_elem#1\n"
					"R2 type=alloc_mem expected=fp, pkt, pkt_meta, map_key, map_value\n"
					"processed 148 insns (limit 1000000) max_states_per_insn 0\n"
					"-- END PROG LOAD LOG --\n", out, sizeof(out)));
	assert_string_equal(out, "at_site: R2 type=alloc_mem expected=fp, pkt, pkt_meta, map_key, map_value");
	assert_true(uprobe_load_refusal("libbpf: prog 'on_fork': -- BEGIN PROG LOAD LOG --\nonly this\n"
					"-- END PROG LOAD LOG --\n", out, sizeof(out)));
	assert_string_equal(out, "on_fork: only this");
	/* it is cut, not written beyond */
	assert_true(uprobe_load_refusal("prog 'p': -- BEGIN PROG LOAD LOG --\nmuch too long a line\n"
					"-- END PROG LOAD LOG --\n", out, 8));
	assert_string_equal(out, "p: much");
}

static void what_is_no_refusal(void **state)
{
	static const char *const texts[] = {
		"", "libbpf: prog 'at_site': BPF program load failed: Permission denied\n",
		"libbpf: Error in bpf_create_map_xattr(ring):Operation not permitted(-1).\n",
		"-- BEGIN PROG LOAD LOG --\nbut no end\n",
	};
	char out[160];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(uprobe_load_refusal(texts[i], out, sizeof(out)));
	/* an empty log names the program at most */
	assert_true(uprobe_load_refusal("prog 'p': -- BEGIN PROG LOAD LOG --\n-- END PROG LOAD LOG --\n", out, sizeof(out)));
}

/* As Linux 6.18 has compiled it: push, mov, ..., and in front of the stack's use its address for the processor. */
static const unsigned char shared[] = {
	0x55, 0x48, 0x89, 0xe5, 0x53, 0x49, 0xb9, 0xb0, 0xff, 0xaf, 0x5b, 0x79, 0x60, 0x00, 0x00, 0x65, 0x4c, 0x03, 0x0c,
	0x25, 0x28, 0xc0, 0xb0, 0x83, 0x48, 0x89, 0xfb, 0xc9, 0xc3,
};

static void where_the_stack_is(void **state)
{
	unsigned char code[sizeof(shared)];

	(void)state;
	memcpy(code, shared, sizeof(code));
	assert_true(uprobe_jit_code_shares_stack(code, sizeof(code)));
	/* the address relative to rip */
	code[18] = 0x0d;
	assert_true(uprobe_jit_code_shares_stack(code, sizeof(code)));
	/* another register: rax, as where the kernel's current task is read */
	memcpy(code, shared, sizeof(code));
	code[16] = 0x48;
	code[18] = 0x04;
	assert_false(uprobe_jit_code_shares_stack(code, sizeof(code)));
	/* a constant in r9 alone */
	memcpy(code, shared, sizeof(code));
	code[15] = 0x90;
	assert_false(uprobe_jit_code_shares_stack(code, sizeof(code)));
	for (size_t n = 0; n < 5 + 10 + 8; n++)
		assert_false(uprobe_jit_code_shares_stack(shared, n));
	assert_false(uprobe_jit_shares_stack(-1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_line_that_says_why),
		cmocka_unit_test(what_is_no_refusal),
		cmocka_unit_test(where_the_stack_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
