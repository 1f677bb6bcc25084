/* SPDX-License-Identifier: MIT */
/* progress: how much of a file has been read, safe for the terminal; none if the work is quick. */
#include "report/tracefiles/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/screen.h"

#define LOOK 4096		/* calls, among which the clock is read */

static void call(struct progress *p, uint64_t size, uint64_t events)
{
	for (unsigned i = 0; i < LOOK; i++)
		progress_reading(p, "a\033b.mmt", 50, size, events);
}

/* Once more when they are over: this process may have had no processor meanwhile. */
static void call_for(struct progress *p, double seconds, uint64_t size, uint64_t events)
{
	for (double began = screen_now(); screen_now() < began + seconds;)
		call(p, size, events);
	call(p, size, events);
}

static void says_how_far(void **state)
{
	struct screen *s = *state;
	struct progress p = { 0 };

	call_for(&p, 1.1, 200, 3240000);
	assert_string_equal(screen_read(s), "\rreading a\\x1bb.mmt: 25 %, 3.2 million events\033[K");
}

static void without_a_size(void **state)
{
	struct screen *s = *state;
	struct progress p = { 0 };

	call_for(&p, 1.1, 0, 999);
	assert_string_equal(screen_read(s), "\rreading a\\x1bb.mmt: 999 events\033[K");
}

static void nothing_for_what_is_quick(void **state)
{
	struct screen *s = *state;
	struct progress p = { 0 };

	call_for(&p, 0.3, 100, 1);
	statusline_erase();
	assert_string_equal(screen_read(s), "");
}

static void nothing_where_it_is_off(void **state)
{
	struct screen *s = *state;
	struct progress p = { 0 };

	statusline_close();
	call_for(&p, 1.1, 100, 1);
	assert_string_equal(screen_read(s), "");
}

int main(void)
{
#define progress_test(f) cmocka_unit_test_setup_teardown(f, screen_begin, screen_end)
	const struct CMUnitTest tests[] = {
		progress_test(says_how_far),
		progress_test(without_a_size),
		progress_test(nothing_for_what_is_quick),
		progress_test(nothing_where_it_is_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
