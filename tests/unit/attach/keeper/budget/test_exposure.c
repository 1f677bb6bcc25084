/* SPDX-License-Identifier: MIT */
/* exposure: by which clock the exposure of an interval is measured. */
#include "attach/keeper/budget/exposure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define US 1000ull
#define MS 1000000ull
#define S 1000000000ull

/* Half a processor, for four seconds. */
static const struct exposure_mark now = { 4 * S, 2 * S };

static struct exposure half_a_processor(void)
{
	struct exposure p = { 0 };

	exposure_add_mark(&p, S, (struct exposure_mark){ 0 });
	return p;
}

static struct exposure_span hot(void)
{
	return (struct exposure_span){
		.wall_ns = 2 * MS, .quiet_ns = 1 * MS, .work_ns = 300 * US, .stops_cpu_ns = 40 * US,
		.hits = 4, .quiet_hits = 3, .full = true,
	};
}

static void a_clock_drives_what_is_not_hot(void **state)
{
	struct exposure p = half_a_processor();
	struct exposure_span s = hot();
	uint32_t hits;

	(void)state;
	s.full = false;
	assert_int_equal(exposure_of_span(&p, &s, now, &hits), 2 * MS);
	assert_int_equal(hits, 4);
	s.full = true;
	s.wall_ns = 21 * MS; /* more than five a hit */
	assert_int_equal(exposure_of_span(&p, &s, now, &hits), 21 * MS);
	assert_int_equal(hits, 4);
}

static void work_at_the_usual_pace(void **state)
{
	struct exposure p = half_a_processor();
	struct exposure_span s = hot();
	uint32_t hits;

	(void)state;
	assert_int_equal(exposure_of_span(&p, &s, now, &hits), 600 * US);
	assert_int_equal(hits, 3);
	/* it has waited for a processor; but the exposure before was hot */
	s.wall_ns = 40 * MS;
	s.hot = true;
	assert_int_equal(exposure_of_span(&p, &s, now, &hits), 600 * US);
}

/*
 * The rate of CPU time is not known yet: then it is the quiet time. Most of it was stops: then it is what half of
 * these took, at the usual pace; but not more than the quiet time.
 */
static void work_that_is_not_known(void **state)
{
	struct exposure p = half_a_processor(), none = { 0 };
	struct exposure_span s = hot();
	uint32_t hits;

	(void)state;
	assert_int_equal(exposure_of_span(&none, &s, now, &hits), 1 * MS);
	assert_int_equal(exposure_of_span(&p, &s, (struct exposure_mark){ 10 * MS, 5 * MS }, &hits), 1 * MS);
	assert_int_equal(exposure_of_span(&p, &s, (struct exposure_mark){ 4 * S, 0 }, &hits), 1 * MS);
	s.work_ns = 19 * US;
	assert_int_equal(exposure_of_span(&p, &s, now, &hits), 2 * s.stops_cpu_ns / 2);
	s.stops_cpu_ns = 3 * MS;
	assert_int_equal(exposure_of_span(&p, &s, now, &hits), 1 * MS);
	assert_int_equal(hits, 3);
	/* none of its hits counts */
	s.quiet_hits = 0;
	assert_int_equal(exposure_of_span(&p, &s, now, &hits), 2 * MS);
}

static void of_the_last_seconds(void **state)
{
	struct exposure p = { 0 };
	struct exposure_span s = hot();
	uint32_t hits;

	(void)state;
	assert_true(exposure_due(&p, 1));
	/* idle for ten seconds, then one processor */
	for (unsigned i = 0; i < 14; i++) {
		assert_true(exposure_due(&p, i * S));
		exposure_add_mark(&p, i * S, (struct exposure_mark){ i * S, i < 10 ? 0 : (i - 9) * S });
	}
	assert_false(exposure_due(&p, 13 * S + S / 2));
	assert_int_equal(exposure_of_span(&p, &s, (struct exposure_mark){ 14 * S, 5 * S }, &hits), 300 * US);
}

static void as_much_as_can_be(void **state)
{
	struct exposure p = half_a_processor(), none = { 0 };

	(void)state;
	assert_int_equal(exposure_max_work(&none, now, MS), MS);
	assert_int_equal(exposure_max_work(&p, now, MS), MS);
	assert_int_equal(exposure_max_work(&p, (struct exposure_mark){ 4 * S, 16 * S }, MS), 6 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clock_drives_what_is_not_hot),
		cmocka_unit_test(work_at_the_usual_pace),
		cmocka_unit_test(work_that_is_not_known),
		cmocka_unit_test(of_the_last_seconds),
		cmocka_unit_test(as_much_as_can_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
