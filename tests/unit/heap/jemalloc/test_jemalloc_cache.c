/* SPDX-License-Identifier: MIT */
/* Bins of a cache whose words are not what jemalloc writes: none may lead to reading something else than its slots. */
#include "heap/jemalloc/jemalloc_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "heap/jemalloc/jemalloc.h"

#define AT 0x7f0000001000ull
#define STACK 0x7f0000200000ull

static const struct jemalloc_version in_5_3 = { .caches_point_back = true }, in_5_2 = { .caches_point_back = false };
static uint64_t words[JEMALLOC_CACHE_BYTES / 8];
static struct jemalloc_cache_bin bins[JEMALLOC_CACHE_CLASSES];

/* Class 0 of 5.3, whose slots end at @head + @more; @slots of them. */
static void one_bin(taddr head, uint16_t more, uint16_t slots)
{
	uint64_t *w = &words[CACHE_BINS / 8];
	const uint16_t empty = (uint16_t)(head + more), full = (uint16_t)(empty - 8 * slots);

	memset(words, 0, sizeof(words));
	w[BIN_HEAD / 8] = head;
	w[BIN_BITS / 8] = (uint64_t)full << 16 | (uint64_t)empty << 32;
	jemalloc_cache_bins(&in_5_3, AT, words, bins);
}

static void usual(void **state)
{
	(void)state;
	one_bin(STACK, 80, 20);
	assert_int_equal(bins[0].at, AT + CACHE_BINS);
	assert_int_equal(bins[0].end, STACK + 80);
	assert_int_equal(bins[0].slots, 20);
	assert_int_equal(jemalloc_cache_held(&in_5_3, &bins[0], &words[CACHE_BINS / 8]), 10);
	assert_int_equal(bins[1].slots, 0);
}

static void no_words(void **state)
{
	(void)state;
	one_bin(STACK + 3, 80, 20);
	assert_int_equal(bins[0].slots, 0);
	one_bin(STACK, 77, 20);
	assert_int_equal(bins[0].slots, 0);
	one_bin(STACK, 80, 20);
	jemalloc_cache_bins(&in_5_3, AT + 4, words, bins);
	assert_int_equal(bins[0].slots, 0);
}

/* More slots than there are addresses below their end. */
static void below_all_memory(void **state)
{
	(void)state;
	one_bin(8, 80, 20);
	assert_int_equal(bins[0].slots, 0);
}

static void ends_of_5_2(void **state)
{
	(void)state;
	memset(words, 0, sizeof(words));
	words[(CACHE_SMALL + BIN_STACK) / 8] = STACK;
	words[(CACHE_SMALL + BIN + BIN_STACK) / 8] = STACK + 160;
	words[(CACHE_SMALL + 2 * BIN + BIN_STACK) / 8] = STACK + 333;
	jemalloc_cache_bins(&in_5_2, AT, words, bins);
	assert_int_equal(bins[1].slots, 20);
	assert_int_equal(bins[2].slots, 0);
	words[(CACHE_SMALL + BIN_STACK) / 8] = 80;
	jemalloc_cache_bins(&in_5_2, AT, words, bins);
	assert_int_equal(bins[0].slots, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(usual), cmocka_unit_test(no_words), cmocka_unit_test(below_all_memory),
		cmocka_unit_test(ends_of_5_2),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
