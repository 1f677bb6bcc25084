/* SPDX-License-Identifier: MIT */
/* What the words of a span, of a thread cache and of a transfer cache say: also if they are what they cannot be. */
#include "heap/tcmalloc/tcmalloc_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define LO 0x7f0000000000ull
#define SHIFT 13u

static const struct tcmalloc_version version = { .name = "", .next = 4144, .prev = 4152 };
static const struct tcmalloc_map map = { .version = &version, .page_shift = SHIFT, .nclasses = 3, .root = 0x1000,
					 .central = 0x5000, .classes = { [1] = { 16, 1, 32 }, [2] = { 48, 1, 32 } } };

/* A span of @pages pages, @used blocks of class @class; @place: 0: in use. */
static struct tcmalloc_place place(uint64_t pages, unsigned used, unsigned class, unsigned where, taddr at)
{
	const uint64_t words[TCMALLOC_SPAN_WORDS] = { LO >> SHIFT, pages, 0, 0, 0x1234,
						      used | (uint64_t)class << 16 | (uint64_t)where << 24 };

	return tcmalloc_map_place(&map, words, at);
}

static void blocks_of_a_class(void **state)
{
	const struct tcmalloc_place p = place(1, 100, 2, 0, LO + 96);

	(void)state;
	assert_int_equal(p.size, 48);
	assert_int_equal(p.class, 2);
	assert_int_equal(p.free, 70);
	assert_int_equal(p.objects, 0x1234);
	assert_int_equal(place(1, 100, 2, 0, LO + 169 * 48).size, 48);
	/* inside of a block; behind the last one; behind the span, and before it */
	assert_int_equal(place(1, 100, 2, 0, LO + 97).size, 0);
	assert_int_equal(place(1, 100, 2, 0, LO + 170 * 48).size, 0);
	assert_int_equal(place(1, 100, 2, 0, LO + 8192).size, 0);
	assert_int_equal(place(1, 100, 2, 0, LO - 48).size, 0);
}

static void no_such_span(void **state)
{
	(void)state;
	assert_int_equal(place(1, 100, 2, 1, LO + 96).size, 0);
	assert_int_equal(place(1, 100, 2, 2, LO + 96).size, 0);
	assert_int_equal(place(1, 100, 3, 0, LO + 96).size, 0);
	assert_int_equal(place(2, 100, 2, 0, LO + 96).size, 0);
	assert_int_equal(place(0, 100, 0, 0, LO).size, 0);
	/* more blocks in use than there are */
	assert_int_equal(place(1, 171, 2, 0, LO).free, 0);
}

static void large(void **state)
{
	(void)state;
	assert_int_equal(place(5, 1, 0, 0, LO).size, 5 << SHIFT);
	assert_int_equal(place(5, 1, 0, 0, LO + 8192).size, 0);
	assert_int_equal(place(5, 1, 0, 1, LO).size, 0);
}

static void the_way(void **state)
{
	const uint64_t page = LO >> SHIFT;

	(void)state;
	assert_int_equal(tcmalloc_map_step(&map, LO), 0x1000 + 8 * (page >> 18));
	assert_int_equal(tcmalloc_map_element(&map, 0x2000, LO + 3 * 8192), 0x2000 + 8 * ((page + 3) % (1 << 18)));
}

static void lists(void **state)
{
	uint64_t words[TCMALLOC_CHAINS_WORDS] = { 0 };

	(void)state;
	words[1] = 0x500000007;
	assert_int_equal(tcmalloc_map_listed(words), 7);
	words[TCMALLOC_CHAINS_WORDS - 1] = 0x900000002;
	assert_int_equal(tcmalloc_map_chained(words), 2);
	words[TCMALLOC_CHAINS_WORDS - 1] = 65;
	assert_int_equal(tcmalloc_map_chained(words), 0);
}

static void caches(void **state)
{
	uint64_t words[TCMALLOC_CACHE_WORDS] = { 0 };
	taddr next, prev;

	(void)state;
	words[(32 + 24) / 8] = 16;
	words[(64 + 24) / 8] = 48 | UINT64_C(1) << 40;
	words[4144 / 8] = 0x10;
	words[4152 / 8] = 0x20;
	assert_true(tcmalloc_map_cache(&map, words, &next, &prev));
	assert_int_equal(next, 0x10);
	assert_int_equal(prev, 0x20);
	words[(64 + 24) / 8] = 49;
	assert_false(tcmalloc_map_cache(&map, words, &next, &prev));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_of_a_class), cmocka_unit_test(no_such_span), cmocka_unit_test(large),
		cmocka_unit_test(the_way), cmocka_unit_test(lists), cmocka_unit_test(caches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
