/* SPDX-License-Identifier: MIT */
/*
 * progress: a line that overwrites itself, safe for the terminal, and gone at the end; none if the work is
 * quick.
 */
#include "report/tracefiles/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static int stderr_copy;
static FILE *file;
static char said[4096];

static int catch_stderr(void **state)
{
	(void)state;
	file = tmpfile();
	stderr_copy = dup(2);
	return file && stderr_copy >= 0 && dup2(fileno(file), 2) == 2 ? 0 : -1;
}

static void look(void)
{
	ssize_t n = pread(fileno(file), said, sizeof(said) - 1, 0);

	said[n > 0 ? n : 0] = '\0';
}

static int let_go(void **state)
{
	(void)state;
	dup2(stderr_copy, 2);
	close(stderr_copy);
	fclose(file);
	return 0;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void call_for(struct progress *p, double seconds, uint64_t size, uint64_t events)
{
	for (double began = now(); now() < began + seconds;)
		progress_reading(p, "a\033b.mmt", 50, size, events);
	look();
}

static void says_how_far(void **state)
{
	struct progress p = { .on = true };

	(void)state;
	call_for(&p, 0.3, 200, 3240000);
	assert_string_equal(said, "\rreading a\\x1bb.mmt: 25 %, 3.2 million events\033[K");
	progress_clear(&p);
	progress_clear(&p);
	look();
	assert_string_equal(said, "\rreading a\\x1bb.mmt: 25 %, 3.2 million events\033[K\r\033[K");
}

static void without_a_size(void **state)
{
	struct progress p = { .on = true };

	(void)state;
	call_for(&p, 0.3, 0, 999);
	assert_string_equal(said, "\rreading a\\x1bb.mmt: 999 events\033[K");
}

static void nothing_for_what_is_quick(void **state)
{
	struct progress p = { .on = true };

	(void)state;
	call_for(&p, 0.05, 100, 1);
	progress_clear(&p);
	look();
	assert_string_equal(said, "");
}

static void nothing_where_it_is_off(void **state)
{
	struct progress p = { .on = false };

	(void)state;
	call_for(&p, 0.3, 100, 1);
	progress_clear(&p);
	look();
	assert_string_equal(said, "");
}

int main(void)
{
#define progress_test(f) cmocka_unit_test_setup_teardown(f, catch_stderr, let_go)
	const struct CMUnitTest tests[] = {
		progress_test(says_how_far),
		progress_test(without_a_size),
		progress_test(nothing_for_what_is_quick),
		progress_test(nothing_where_it_is_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
