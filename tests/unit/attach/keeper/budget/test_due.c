/* SPDX-License-Identifier: MIT */
/* due: compared with a plain search, through random changes; and full. */
#include "attach/keeper/budget/due.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct due d;
static uint64_t want[DUE_MAX];	/* 0: none */

static uint64_t earliest(void)
{
	uint64_t first = 0;

	for (uint32_t i = 0; i < DUE_MAX; i++)
		if (want[i] && (!first || want[i] < first))
			first = want[i];
	return first;
}

static void assert_first(void)
{
	uint32_t first = due_first(&d);
	uint64_t at = earliest();

	if (!at) {
		assert_int_equal(first, DUE_NONE);
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
	for (int turn = 0; turn < 20000; turn++) {
		uint32_t i = random() % (turn < 10000 ? 40 : DUE_MAX);

		if (random() % 3) {
			want[i] = 1 + random() % 1000;
			due_set(&d, i, want[i]);
		} else {
			want[i] = 0;
			due_drop(&d, i);
		}
		assert_int_equal(due_has(&d, i), want[i] != 0);
		assert_first();
	}
}

static void all_in_order(void **state)
{
	uint64_t last = 0;

	(void)state;
	memset(&d, 0, sizeof(d));
	for (uint32_t i = 0; i < DUE_MAX; i++)
		due_set(&d, i, 1 + random() % 100000);
	for (uint32_t n = 0; n < DUE_MAX; n++) {
		uint32_t i = due_first(&d);

		assert_true(d.at_ns[i] >= last);
		last = d.at_ns[i];
		due_drop(&d, i);
		due_drop(&d, i); /* dropping twice does nothing */
	}
	assert_int_equal(due_first(&d), DUE_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_changes),
		cmocka_unit_test(all_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
