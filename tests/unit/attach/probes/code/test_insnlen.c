/* SPDX-License-Identifier: MIT */
/*
 * insnlen: forms that differ in their length, one by one. tests/test_callsites.py compares hundreds of
 * thousands of real instructions with objdump.
 */
#include "attach/probes/code/insnlen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* the bytes behind an instruction must not matter */
#define BEHIND "\xc3\x90\x00\xff\x66\x48\x0f\xe8\xc3\x90\x00\xff\x66\x48\x0f\xe8"

static size_t length(const char *bytes, size_t n)
{
	uint8_t code[64];
	struct insn_shape shape;

	memcpy(code, bytes, n);
	memcpy(code + n, BEHIND, sizeof(BEHIND));
	return insn_shape(code, n + 15, &shape) ? shape.len : 0;
}

#define FORM(s) { s, sizeof(s) - 1 }

struct form {
	const char *bytes;
	size_t n;
};

static void test_lengths(void **state)
{
	static const struct form forms[] = {
		FORM("\x90"),
		FORM("\xf3\x0f\x1e\xfa"),
		FORM("\x66\x2e\x0f\x1f\x84\x00\x00\x02\x00\x00"),
		FORM("\x89\xd8"),
		FORM("\x8b\x03"),
		FORM("\x8b\x43\x08"),
		FORM("\x8b\x83\x00\x01\x00\x00"),
		FORM("\x8b\x04\x24"),
		FORM("\x8b\x44\x24\x08"),
		FORM("\x8b\x04\x25\x00\x10\x00\x00"),
		FORM("\x8b\x05\x00\x10\x00\x00"),
		FORM("\x8b\x04\x2c"),
		FORM("\x8b\x04\xc5\x00\x10\x00\x00"),
		FORM("\x41\x8b\x45\x00"),
		FORM("\x43\x8b\x04\x25\x00\x10\x00\x00"),
		FORM("\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08"),
		FORM("\xb8\x01\x02\x03\x04"),
		FORM("\x66\xb8\x01\x02"),
		FORM("\x66\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08"),
		FORM("\x66\x05\x01\x02"),
		FORM("\x48\x05\x01\x02\x03\x04"),
		FORM("\x66\x48\x05\x01\x02\x03\x04"),
		FORM("\x48\x66\x05\x01\x02"),
		FORM("\xf6\xc0\x01"),
		FORM("\xf6\xd0"),
		FORM("\xf7\xc0\x01\x00\x00\x00"),
		FORM("\x66\xf7\xc0\x01\x00"),
		FORM("\xf7\xd8"),
		FORM("\xf7\x84\x24\x00\x01\x00\x00\x01\x00\x00\x00"),
		FORM("\x66\x68\x01\x02"),
		FORM("\x66\xf3\x68\x01\x02"),
		FORM("\xa1\x01\x02\x03\x04\x05\x06\x07\x08"),
		FORM("\x67\xa1\x01\x02\x03\x04"),
		FORM("\xc8\x10\x00\x00"),
		FORM("\xc2\x08\x00"),
		FORM("\x0f\xba\xe0\x01"),
		FORM("\x0f\xa4\xc3\x04"),
		FORM("\x0f\x20\x00"),
		FORM("\x0f\x38\x00\xc1"),
		FORM("\x66\x0f\x3a\x0f\xc1\x04"),
		FORM("\xc5\xf8\x77"),
		FORM("\xc5\xf9\x6f\x06"),
		FORM("\xc5\xf9\x70\xc1\x01"),
		FORM("\xc4\xe2\x79\x18\x06"),
		FORM("\xc4\xe3\x7d\x39\xc1\x01"),
		FORM("\x62\xf1\xfd\x48\x6f\x46\x01"),
		FORM("\x62\xf1\xfd\x48\x6f\x86\x00\x01\x00\x00"),
		FORM("\x62\xf3\xfd\x48\x25\xc0\xff"),
		FORM("\x2e\x62\x02\xb5\xdf\xaa\xda"),
		FORM("\x8f\x00"),
		FORM("\x8f\xe8\x78\xc2\xc0\x07"),
		FORM("\xc7\xf8\x00\x00\x00\x00"),
		FORM("\x64\x48\x8b\x04\x25\x28\x00\x00\x00"),
		FORM("\x66\x66\x48\xe8\x00\x00\x00\x00"),
		FORM("\xf0\x0f\xb1\x0f"),
		FORM("\x0f\x0b"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		size_t n = length(forms[i].bytes, forms[i].n);

		if (n != forms[i].n)
			fail_msg("row %zu (%02x %02x): %zu bytes, not %zu", i, (uint8_t)forms[i].bytes[0],
				 (uint8_t)forms[i].bytes[1], n, forms[i].n);
	}
}

/* Cut off anywhere it is not an instruction. */
static void test_cut(void **state)
{
	static const uint8_t longest[] = "\x64\x2e\x66\x48\xc7\x84\x98\x00\x01\x00\x00\x01\x00\x00";
	struct insn_shape shape;

	(void)state;
	for (size_t n = 0; n < 15; n++)
		assert_int_equal(insn_shape(longest, n, &shape), n == sizeof(longest));
	assert_int_equal(length("\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x90", 15), 15);
	assert_int_equal(length("\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x90", 16), 0);
}

static void test_refused(void **state)
{
	(void)state;
	assert_int_equal(length("\x06", 1), 0);
	/* a two-byte operand on one maker's processors, four bytes on the other's */
	assert_int_equal(length("\x66\xe8\x00\x00\x00\x00", 6), 0);
	assert_int_equal(length("\x66\xe9\x00\x00\x00\x00", 6), 0);
	assert_int_equal(length("\x66\x0f\x84\x00\x00\x00\x00", 7), 0);
	assert_int_equal(length("\x66\xc7\xf8\x00\x00", 5), 0);
	assert_int_equal(length("\x0f\xb9\xc0", 3), 0);
	assert_int_equal(length("\x48\xc5\xf8\x77", 4), 0);
	assert_int_equal(length("\x0f\xff\xc0", 3), 0);
	assert_int_equal(length("\xc4\xe4\x79\x18\x06", 5), 0);
	assert_int_equal(length("\x66\x62\xf1\xfd\x48\x6f\x46\x01", 8), 0);
}

static void test_flow(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		bool call, jump, leaves;
		int32_t rel;
	} cases[] = {
		{ "\xe8\x10\x00\x00\x00", 5, true, false, false, 0 },
		{ "\xf2\xe8\x10\x00\x00\x00", 6, true, false, false, 0 },
		{ "\x67\xe8\x10\x00\x00\x00", 6, true, false, false, 0 },
		{ "\xff\x15\x10\x00\x00\x00", 6, true, false, false, 0 },
		{ "\x3e\xff\xd0", 3, true, false, false, 0 },
		{ "\xff\x18", 2, false, false, false, 0 },	/* far */
		{ "\xeb\xfe", 2, false, true, true, -2 },
		{ "\xe9\x00\x01\x00\x00", 5, false, true, true, 0x100 },
		{ "\xff\x25\x10\x00\x00\x00", 6, false, false, true, 0 },
		{ "\x3e\xff\xe0", 3, false, false, true, 0 },
		{ "\xc3", 1, false, false, true, 0 },
		{ "\xc2\x08\x00", 3, false, false, true, 0 },
		{ "\x74\x10", 2, false, true, false, 0x10 },
		{ "\xe3\x00", 2, false, true, false, 0 },
		{ "\x0f\x85\xfa\xff\xff\xff", 6, false, true, false, -6 },
		{ "\xc7\xf8\x04\x00\x00\x00", 6, false, true, false, 4 },
		{ "\xc7\xc0\x04\x00\x00\x00", 6, false, false, false, 0 },
		{ "\x0f\x05", 2, false, false, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct insn_shape in;

		assert_true(insn_shape((const uint8_t *)cases[i].bytes, cases[i].n, &in));
		if (in.len != cases[i].n || in.call != cases[i].call || in.jump != cases[i].jump ||
		    in.leaves != cases[i].leaves || in.rel != cases[i].rel)
			fail_msg("row %zu: %u bytes, call %d, jump %d, leaves %d, %d", i, in.len, in.call,
				 in.jump, in.leaves, in.rel);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_flow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
