/* SPDX-License-Identifier: MIT */
/* What the words of a page say: also if they are what they cannot be. */
#include "heap/mimalloc/mimalloc_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SEGMENT 0x20000000000ull
#define SLICE 0x10000u
#define PAGE_AT (SEGMENT + 264 + 80 * 3)	/* the page of slices 3 and 4 */
#define HEAP 0x1000u

static struct mimalloc_place place(uint32_t block, uint64_t flags, unsigned foreign)
{
	const uint64_t words[MIMALLOC_PAGE_WORDS] = {
		2, UINT64_C(10) << 16 | UINT64_C(20) << 32 | flags << 48, 0, 4 | (uint64_t)block << 32, 0, foreign, HEAP,
	};

	return mimalloc_map_place(PAGE_AT, words);
}

static void a_page(void **state)
{
	struct mimalloc_place p = place(48, 0, 2);

	(void)state;
	assert_int_equal(p.size, 48);
	assert_int_equal(p.lo, SEGMENT + 3 * SLICE);
	assert_int_equal(p.hi, SEGMENT + 5 * SLICE);
	assert_int_equal(p.heap, HEAP);
	assert_true(p.delayed);
	assert_false(p.aligned);
	p = place(48, 2, 0);
	assert_false(p.delayed);
	assert_true(p.aligned);
	assert_int_equal(place(0x80000000, 0, 0).size, 2 * SLICE);
}

static void no_page(void **state)
{
	(void)state;
	assert_int_equal(place(0, 0, 0).size, 0);
	assert_int_equal(place(1, 0, 0).size, 0);
}

static void the_way(void **state)
{
	const struct mimalloc_map m = { .cookie = 0x123 };
	const taddr slice = mimalloc_map_slice(SEGMENT + 4 * SLICE + 77);
	uint64_t value;

	(void)state;
	assert_int_equal(slice, PAGE_AT + 80);
	assert_int_equal(mimalloc_map_page(slice, UINT64_C(80) << 32), PAGE_AT);
	assert_int_equal(mimalloc_map_page(slice, 1), slice);
	/* not to a slice; before the first one */
	assert_int_equal(mimalloc_map_page(slice, UINT64_C(79) << 32), 0);
	assert_int_equal(mimalloc_map_page(slice, UINT64_C(400) << 32), 0);
	assert_int_equal(mimalloc_map_cookie(&m, SEGMENT + 77, &value), SEGMENT + 216);
	assert_int_equal(value, 0x123 ^ SEGMENT);
}

static void lists(void **state)
{
	uint64_t words[MIMALLOC_OWN_WORDS] = { 2, UINT64_C(10) << 16 | UINT64_C(20) << 32, 0x50, 4, 0x60 };
	taddr free, local;

	(void)state;
	assert_int_equal(mimalloc_map_own(words, &free, &local), 6);
	assert_int_equal(free, 0x50);
	assert_int_equal(local, 0x60);
	words[3] = 11;
	assert_int_equal(mimalloc_map_own(words, &free, &local), 0);
	assert_int_equal(mimalloc_map_foreign(PAGE_AT), PAGE_AT + 40);
	assert_int_equal(mimalloc_map_foreign_first(0x1002), 0x1000);
	assert_int_equal(mimalloc_map_delayed(HEAP), HEAP + 2840);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page), cmocka_unit_test(no_page), cmocka_unit_test(the_way), cmocka_unit_test(lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
