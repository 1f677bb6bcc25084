/* SPDX-License-Identifier: MIT */
/* The share that the line of progress and the report show first (report/model/stop_share.h). */
#include "report/model/stop_share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct summary_run run;

static int begin(void **state)
{
	(void)state;
	run = (struct summary_run){ .seconds = 10, .stopped_seconds = 2, .thread_seconds = 50, .hitting = 4,
				    .hitting_seconds = 40, .hitting_stopped = 2 };
	return 0;
}

static void of_those_that_hit_traps(void **state)
{
	struct stop_share s;

	(void)state;
	assert_true(stop_share_first(&run, &s));
	assert_int_equal(s.threads, 4);
	assert_true(s.stopped_s == 2 && s.time_s == 40);
	assert_true(stop_share_of_all(&run, &s));
	assert_int_equal(s.threads, 5);
	assert_true(s.stopped_s == 2 && s.time_s == 50);
}

static void of_all(void **state)
{
	struct stop_share s;

	(void)state;
	run.hitting_seconds = 46;	/* nearly all */
	assert_true(stop_share_first(&run, &s) && s.threads == 5);
	run.hitting_seconds = 40;
	run.hitting_stopped = 1;	/* less than the share of all: a budget has other costs, too */
	assert_true(stop_share_first(&run, &s) && s.threads == 5 && s.stopped_s == 2);
	run.hitting_seconds = 0;
	assert_true(stop_share_first(&run, &s) && s.threads == 5);
}

static void not_known(void **state)
{
	struct stop_share s;

	(void)state;
	run.thread_seconds = run.hitting_seconds = 0;
	assert_false(stop_share_first(&run, &s));
	assert_int_equal(s.threads, 0);
}

static void never_more_than_all_the_time(void **state)
{
	struct stop_share s;

	(void)state;
	run = (struct summary_run){ .seconds = 1, .stopped_seconds = 3, .thread_seconds = 1 };
	assert_true(stop_share_first(&run, &s) && s.stopped_s == 1);
}

/* Whatever the others do; a budget promises something else. */
static void of_the_worst(void **state)
{
	struct stop_share s;

	(void)state;
	run = (struct summary_run){ .seconds = 10, .stopped_seconds = 9, .thread_seconds = 300, .worst_seconds = 9 };
	run.worst_stopped = 8;
	assert_true(stop_share_of_worst(&run, &s) && s.threads == 1 && s.stopped_s == 8 && s.time_s == 9);
	run.worst_stopped = 10;
	assert_true(stop_share_of_worst(&run, &s) && s.stopped_s == 9);
	run.mode = "sampled";
	assert_false(stop_share_of_worst(&run, &s));
	run = (struct summary_run){ .seconds = 10, .stopped_seconds = 9, .thread_seconds = 300 };
	assert_false(stop_share_of_worst(&run, &s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_the_worst),
		cmocka_unit_test_setup(of_those_that_hit_traps, begin),
		cmocka_unit_test_setup(of_all, begin),
		cmocka_unit_test_setup(not_known, begin),
		cmocka_unit_test_setup(never_more_than_all_the_time, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
