/* SPDX-License-Identifier: MIT */
/*
 * sampling_spans: whatever the length of a run, it is known what came in its last fifth, up to a part of a
 * span.
 */
#include "attach/sampling/sampling_spans.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SECOND 1000000000ull

/* Ten events a second, evenly, in [@from_s, @to_s). */
static struct sampling_spans evenly(unsigned from_s, unsigned to_s)
{
	struct sampling_spans s = { 0 };

	for (unsigned tenth = 10 * from_s; tenth < 10 * to_s; tenth++)
		sampling_spans_add(&s, tenth * SECOND / 10, 1);
	return s;
}

static void a_fifth_of_what_comes_evenly(void **state)
{
	(void)state;
	for (unsigned seconds = 1; seconds < 5000; seconds = 2 * seconds + 1) {
		const struct sampling_spans s = evenly(0, seconds);
		const double late = sampling_spans_late(&s, seconds * SECOND, SAMPLING_LATE), fifth = 10.0 * seconds / 5;

		assert_true(late > fifth * 0.8 - 1 && late < fifth * 1.2 + 1);
	}
}

static void what_ended_before(void **state)
{
	const struct sampling_spans early = evenly(0, 600), late = evenly(850, 1000);

	(void)state;
	assert_true(sampling_spans_late(&early, 1000 * SECOND, SAMPLING_LATE) == 0);
	assert_true(sampling_spans_late(&late, 1000 * SECOND, SAMPLING_LATE) == 1500);
	assert_int_equal(sampling_spans_surely_late(&early, 1000 * SECOND, SAMPLING_LATE), 0);
	/* the run has gone on for so long that none of it is late */
	assert_true(sampling_spans_late(&late, 100000 * SECOND, SAMPLING_LATE) == 0);
}

/*
 * The first part of a span that is cut has the events. As that is not known, nothing in the span counts as
 * surely late.
 */
static void what_is_surely_late(void **state)
{
	const struct sampling_spans s = evenly(768, 790), after = evenly(832, 900);	/* spans of 64 s */

	(void)state;
	assert_true(sampling_spans_late(&s, 1000 * SECOND, SAMPLING_LATE) > 0);
	assert_int_equal(sampling_spans_surely_late(&s, 1000 * SECOND, SAMPLING_LATE), 0);
	assert_int_equal(sampling_spans_surely_late(&after, 1000 * SECOND, SAMPLING_LATE), 680);
}

/* What came for a while, and then no more; and what comes in bunches, the next of which may be yet to come. */
static void what_is_over(void **state)
{
	const struct sampling_spans early = evenly(0, 20), always = evenly(0, 100), none = { 0 };
	struct sampling_spans bunches = { 0 };

	(void)state;
	assert_true(sampling_spans_is_over(&early, 100 * SECOND));
	assert_false(sampling_spans_is_over(&always, 100 * SECOND));
	assert_false(sampling_spans_is_over(&none, 100 * SECOND));
	for (unsigned s = 0; s <= 60; s += 20)
		sampling_spans_add(&bunches, s * SECOND, 300);
	assert_false(sampling_spans_is_over(&bunches, 80 * SECOND));
	assert_false(sampling_spans_is_over(&bunches, 100 * SECOND));
	assert_true(sampling_spans_is_over(&bunches, 200 * SECOND));
}

static void nothing_at_all(void **state)
{
	const struct sampling_spans s = { 0 };

	(void)state;
	assert_true(sampling_spans_late(&s, 0, SAMPLING_LATE) == 0);
	assert_true(sampling_spans_late(&s, 3600 * SECOND, SAMPLING_LATE) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fifth_of_what_comes_evenly),
		cmocka_unit_test(what_ended_before),
		cmocka_unit_test(what_is_surely_late),
		cmocka_unit_test(what_is_over),
		cmocka_unit_test(nothing_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
