/* SPDX-License-Identifier: MIT */
/* time_heap: compared with a plain search, through random changes; and full. */
#include "attach/keeper/budget/time_heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct time_heap d;
static uint64_t want[TIME_HEAP_MAX];	/* 0: none */

static uint64_t earliest(void)
{
	uint64_t first = 0;

	for (uint32_t i = 0; i < TIME_HEAP_MAX; i++)
		if (want[i] && (!first || want[i] < first))
			first = want[i];
	return first;
}

static void assert_first(void)
{
	uint32_t first = time_heap_first(&d);
	uint64_t at = earliest();

	if (!at) {
		assert_int_equal(first, TIME_HEAP_NONE);
		return;
	}
	assert_int_equal(d.at_ns[first], at);
	assert_int_equal(want[first], at);
}

static void random_changes(void **state)
{
	(void)state;
	srandom(7);
	memset(&d, 0, sizeof(d));
	memset(want, 0, sizeof(want));
	for (int one_iteration = 0; one_iteration < 20000; one_iteration++) {
		uint32_t i = random() % (one_iteration < 10000 ? 40 : TIME_HEAP_MAX);

		if (random() % 3) {
			want[i] = 1 + random() % 1000;
			time_heap_set(&d, i, want[i]);
		} else {
			want[i] = 0;
			time_heap_drop(&d, i);
		}
		assert_int_equal(time_heap_has(&d, i), want[i] != 0);
		assert_first();
	}
}

static void all_in_order(void **state)
{
	uint64_t last = 0;

	(void)state;
	memset(&d, 0, sizeof(d));
	for (uint32_t i = 0; i < TIME_HEAP_MAX; i++)
		time_heap_set(&d, i, 1 + random() % 100000);
	for (uint32_t n = 0; n < TIME_HEAP_MAX; n++) {
		uint32_t i = time_heap_first(&d);

		assert_true(d.at_ns[i] >= last);
		last = d.at_ns[i];
		time_heap_drop(&d, i);
		time_heap_drop(&d, i); /* dropping twice does nothing */
	}
	assert_int_equal(time_heap_first(&d), TIME_HEAP_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_changes),
		cmocka_unit_test(all_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
