/* SPDX-License-Identifier: MIT */
/* stall_timer: time in which nothing could run does not count. */
#include "base/stall_timer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define S 1000000000ull

static void looks_add_up(void **state)
{
	struct stall_timer p = stall_timer_begin(1000 * S);

	(void)state;
	assert_int_equal(stall_timer_look(&p, 1000 * S), 0);
	for (uint64_t i = 1; i <= 100; i++)
		assert_int_equal(stall_timer_look(&p, 1000 * S + i * S / 100), i * S / 100);
}

static void all_stood_for_half_a_minute(void **state)
{
	struct stall_timer p = stall_timer_begin(0);

	(void)state;
	assert_int_equal(stall_timer_look(&p, S / 10), S / 10);
	assert_int_equal(stall_timer_look(&p, 31 * S), S / 10 + STALL_TIMER_LOOK_NS);
	assert_int_equal(stall_timer_look(&p, 31 * S + S / 10), S / 5 + STALL_TIMER_LOOK_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(looks_add_up),
		cmocka_unit_test(all_stood_for_half_a_minute),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
