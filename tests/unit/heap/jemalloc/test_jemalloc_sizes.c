/* SPDX-License-Identifier: MIT */
/* jemalloc_sizes: against the table in jemalloc's manual, and what malloc_usable_size returns. */
#include "heap/jemalloc/jemalloc_sizes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_small(void **state)
{
	static const uint64_t sizes[JEMALLOC_SMALL] = {
		8,    16,   32,	  48,	64,   80,   96,	  112,	128,  160,  192,  224,	 256,	320,  384,  448,  512,	 640,
		768,  896,  1024, 1280, 1536, 1792, 2048, 2560, 3072, 3584, 4096, 5120, 6144, 7168, 8192, 10240, 12288,
		14336,
	};

	(void)state;
	for (unsigned i = 0; i < JEMALLOC_SMALL; i++)
		assert_int_equal(jemalloc_size(i), sizes[i]);
}

static void test_large(void **state)
{
	(void)state;
	assert_int_equal(jemalloc_size(36), 16 << 10);
	assert_int_equal(jemalloc_size(37), 20 << 10);
	assert_int_equal(jemalloc_size(60), 1 << 20);
	assert_int_equal(jemalloc_size(JEMALLOC_SIZES - 1), UINT64_C(7) << 60);
	assert_int_equal(jemalloc_size(JEMALLOC_SIZES), 0);
	assert_int_equal(jemalloc_size(UINT32_MAX), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
