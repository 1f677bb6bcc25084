/* SPDX-License-Identifier: MIT */
/*
 * random: below the limit, evenly distributed, the same for the same seed; and a state of zero is left again.
 */
#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define PARTS 10
#define DRAWN 100000u

static void assert_spread(uint64_t seed)
{
	unsigned parts[PARTS] = { 0 };

	for (unsigned i = 0; i < DRAWN; i++) {
		uint64_t n = random_below(&seed, PARTS);

		assert_true(n < PARTS);
		parts[n]++;
	}
	for (unsigned i = 0; i < PARTS; i++)
		assert_in_range(parts[i], DRAWN / PARTS * 95 / 100, DRAWN / PARTS * 105 / 100);
}

static void spread(void **state)
{
	(void)state;
	assert_spread(0);
	assert_spread(1);
	assert_spread(UINT64_MAX);
}

static void limits(void **state)
{
	uint64_t seed = 3, high = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(random_below(&seed, 1), 0);
		high |= random_below(&seed, UINT64_MAX);
	}
	assert_int_equal(high >> 60, 0xf);
}

static void repeats(void **state)
{
	uint64_t a = 12345, b = 12345;

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_int_equal(random_below(&a, 1u << 20), random_below(&b, 1u << 20));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spread),
		cmocka_unit_test(limits),
		cmocka_unit_test(repeats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
