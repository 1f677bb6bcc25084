/* SPDX-License-Identifier: MIT */
/* quiet_clock: the time in which no thread is stopped because of us, and which hits count in it. */
#include "attach/keeper/budget/quiet_clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct quiet_time at(uint64_t ns)
{
	return (struct quiet_time){ ns, 0 };
}

static void goes_while_nobody_stands(void **state)
{
	struct quiet_clock c = { 0 };

	(void)state;
	assert_int_equal(quiet_clock_ns(&c, 500), 0);
	quiet_clock_begin(&c, 1, at(1000));
	assert_int_equal(quiet_clock_ns(&c, 1100), 100);
	assert_true(quiet_clock_end(&c, 2, at(1300)));
	assert_int_equal(quiet_clock_ns(&c, 9000), 300);
	quiet_clock_begin(&c, 2, at(2000));
	quiet_clock_begin(&c, 3, at(2500)); /* it is quiet already */
	assert_int_equal(quiet_clock_ns(&c, 3000), 1300);
}

static void one_ends_it(void **state)
{
	struct quiet_clock c = { 0 };

	(void)state;
	quiet_clock_begin(&c, 1, at(1000));
	assert_true(quiet_clock_end(&c, 2, at(1500)));
	assert_false(quiet_clock_end(&c, 3, at(1500)));
	assert_false(quiet_clock_end(&c, 4, at(1800)));
	assert_int_equal(quiet_clock_ns(&c, 2000), 500);
}

/* A stop that is seen only now, but was earlier than the last resume. */
static void late_stops_do_not_count(void **state)
{
	struct quiet_clock c = { 0 };

	(void)state;
	quiet_clock_begin(&c, 1, at(1000));
	assert_false(quiet_clock_end(&c, 2, at(990)));
	assert_int_equal(quiet_clock_ns(&c, 5000), 0);
	/* the thread that was resumed last has run, however early its next stop seems to be */
	quiet_clock_begin(&c, 1, at(2000));
	assert_true(quiet_clock_end(&c, 1, at(1990)));
	assert_int_equal(quiet_clock_ns(&c, 5000), 0);
}

/* Quiet time may begin a moment from now: a thread needs some time until it runs. */
static void begins_later(void **state)
{
	struct quiet_clock c = { 0 };

	(void)state;
	quiet_clock_begin(&c, 1, at(1000));
	assert_int_equal(quiet_clock_ns(&c, 900), 0);
	assert_int_equal(quiet_clock_ns(&c, 1001), 1);
}

/*
 * The CPU time that a stop takes of the target is half before the thread is stopped, and half when it is
 * resumed.
 */
static void work_is_what_is_left(void **state)
{
	struct quiet_clock c = { .stop_cpu_ns = 20 };

	(void)state;
	quiet_clock_begin(&c, 1, (struct quiet_time){ 1000, 0 }); /* not known yet */
	assert_true(quiet_clock_end(&c, 1, (struct quiet_time){ 2000, 5000 }));
	assert_int_equal(c.work_ns, 0);
	quiet_clock_begin(&c, 1, (struct quiet_time){ 3000, 6000 });
	assert_int_equal(quiet_clock_work_ns(&c, 6005), 0);
	assert_int_equal(quiet_clock_work_ns(&c, 6110), 100);
	assert_true(quiet_clock_end(&c, 1, (struct quiet_time){ 4000, 6320 }));
	assert_int_equal(c.work_ns, 300);
	/* the work of other threads while one is stopped is not counted, as their hits are not */
	quiet_clock_begin(&c, 1, (struct quiet_time){ 5000, 9000 });
	assert_true(quiet_clock_end(&c, 1, (struct quiet_time){ 5001, 9005 }));
	assert_int_equal(c.work_ns, 300);
	assert_int_equal(c.stops, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goes_while_nobody_stands),
		cmocka_unit_test(one_ends_it),
		cmocka_unit_test(late_stops_do_not_count),
		cmocka_unit_test(begins_later),
		cmocka_unit_test(work_is_what_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
