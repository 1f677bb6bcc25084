/* SPDX-License-Identifier: MIT */
/* debug_offsets: the table of CPython 3.13.0; those of a free-threaded build and of others are refused. */
#include "attach/stacks/python/debug_offsets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* "xdebugpy", 3.13.0, ... */
static const uint64_t release[DEBUG_OFFSETS_WORDS] = {
	0x7970677562656478, 0x30d00f0, 0x0, 0x452b8, 0x260, 0x278, 0x2f998, 0x1c68, 0x1c60, 0x1cb0, 0x1ce8,
	0x1de8, 0x1dd8, 0x1de0, 0x10, 0x1e48, 0x0, 0x1e58, 0x1e50, 0x130, 0x0, 0x8, 0x10, 0x48, 0x98, 0xa0,
	0xe8, 0x20, 0x50, 0x8, 0x0, 0x38, 0x48, 0x46, 0xd0, 0x70, 0x78, 0x80, 0x88, 0x44, 0x34, 0x60, 0x68, 0xc8,
};

static uint64_t words[DEBUG_OFFSETS_WORDS];
static struct layout layout;
static char why[80];

static int setup(void **state)
{
	(void)state;
	memcpy(words, release, sizeof(words));
	layout = *layouts_find(0x030d);
	why[0] = '\0';
	return 0;
}

static void take(const char *reason)
{
	debug_offsets_take(words, &layout, why, sizeof(why));
	assert_string_equal(why, reason);
}

static void of_a_release(void **state)
{
	(void)state;
	take("");
	assert_int_equal(layout.interpreters, 632);
	assert_int_equal(layout.next_interpreter, 7264);
	assert_int_equal(layout.threads, 7344);
	assert_int_equal(layout.next_thread, 8);
	assert_int_equal(layout.chain.owner, 152);
	assert_int_equal(layout.chain.head, 72);
	assert_int_equal(layout.chain.next, 8);
	assert_int_equal(layout.chain.code, 0);
	assert_int_equal(layout.chain.at, 56);
	assert_int_equal(layout.chain.kind, 70);
	assert_int_equal(layout.chain.link_bytes, 72);
	assert_int_equal(layout.code.first_line, 68);
	assert_int_equal(layout.code.filename, 112);
	assert_int_equal(layout.code.name, 128);
	assert_int_equal(layout.code.lines, 136);
}

static void free_threaded(void **state)
{
	(void)state;
	words[2] = 1;
	take("it is free-threaded");
}

static void others(void **state)
{
	(void)state;
	words[0] ^= 1;
	take("its table of offsets is not as expected");
	setup(NULL);
	words[24] = 1 << 20;
	take("its table of offsets is not as expected");
	setup(NULL);
	words[43] += 8;
	take("its frames are not as those of a release");
	setup(NULL);
	words[33] = 200;
	take("its frames are not as those of a release");
}

/* No offset leads out of what is copied of a link or of a code object. */
static void hostile(void **state)
{
	static const uint32_t of_link[] = { 29, 30, 31 }, of_code[] = { 35, 37, 38, 39 };

	(void)state;
	for (size_t i = 0; i < sizeof(of_link) / sizeof(*of_link); i++) {
		setup(NULL);
		words[of_link[i]] = 64;
		take("");
		words[of_link[i]] = 65;
		take("its frames are not as those of a release");
	}
	for (size_t i = 0; i < sizeof(of_code) / sizeof(*of_code); i++) {
		setup(NULL);
		words[of_code[i]] = 192;
		take("");
		words[of_code[i]] = 193;
		take("its frames are not as those of a release");
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(of_a_release, setup),
		cmocka_unit_test_setup(free_threaded, setup),
		cmocka_unit_test_setup(others, setup),
		cmocka_unit_test_setup(hostile, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
