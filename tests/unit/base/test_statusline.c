/* SPDX-License-Identifier: MIT */
/*
 * statusline: a line that overwrites itself, as wide as the terminal at most, gone before a message of the
 * log; none where stderr is no terminal; and it does not wait for a terminal that takes nothing.
 */
#include "base/statusline.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "tests/unit/screen.h"

static void overwrites_itself(void **state)
{
	struct screen *s = *state;

	statusline_show("first");
	statusline_show("2");
	assert_string_equal(screen_read(s), "\rfirst\033[K\r2\033[K");
	statusline_erase();
	assert_string_equal(screen_read(s), "\r\033[K");
	statusline_erase();
	assert_string_equal(screen_read(s), "");
}

static void never_wraps(void **state)
{
	struct screen *s = *state;
	const struct winsize half = { .ws_row = 24, .ws_col = 40 }, narrow = { .ws_row = 24, .ws_col = 4 };

	ioctl(s->ours, TIOCSWINSZ, &half);
	statusline_show("0123456789012345678901234567890123456789");
	assert_string_equal(screen_read(s), "\r012345678901234567890123456789012345678\033[K");
	ioctl(s->ours, TIOCSWINSZ, &narrow);
	statusline_show("0123456789");
	assert_string_equal(screen_read(s), "\r012\033[K");
	statusline_show("0\xe4\xb8\xad\xe6\x96\x87");	/* two columns each */
	assert_string_equal(screen_read(s), "\r0\xe4\xb8\xad\033[K");
}

static void makes_way_for_messages(void **state)
{
	struct screen *s = *state;

	statusline_show("watching");
	screen_read(s);
	log_warn("a \033 message");
	assert_string_equal(screen_read(s), "\r\033[Kmmattach: warning: a ? message\r\n");
	log_warn("another");
	assert_string_equal(screen_read(s), "mmattach: warning: another\r\n");
	statusline_show("watching");
	assert_string_equal(screen_read(s), "\rwatching\033[K");
}

static void nothing_where_there_is_no_terminal(void **state)
{
	struct screen *s = *state;
	const int screen = dup(STDERR_FILENO);
	int fds[2];
	char c;

	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	dup2(fds[1], STDERR_FILENO);
	statusline_open();
	statusline_show("x");
	statusline_erase();
	assert_int_equal(read(fds[0], &c, 1), -1);
	dup2(screen, STDERR_FILENO);
	setenv("TERM", "dumb", 1);
	statusline_open();
	statusline_show("x");
	assert_string_equal(screen_read(s), "");
	close(screen);
	close(fds[0]);
	close(fds[1]);
}

/* Until it takes nothing more; its reader has stopped reading. */
static void fill(void)
{
	char junk[4096];

	memset(junk, 'x', sizeof(junk));
	fcntl(STDERR_FILENO, F_SETFL, fcntl(STDERR_FILENO, F_GETFL) | O_NONBLOCK);
	for (size_t n = sizeof(junk); n; n /= 2)
		while (write(STDERR_FILENO, junk, n) > 0)
			;
	fcntl(STDERR_FILENO, F_SETFL, fcntl(STDERR_FILENO, F_GETFL) & ~O_NONBLOCK);
}

/* An alarm ends the test if it waits. */
static void does_not_wait(void **state)
{
	struct screen *s = *state;

	fill();
	alarm(20);
	for (int i = 0; i < 100; i++)
		statusline_show("a line");
	statusline_erase();
	alarm(0);
	assert_int_equal(fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK, 0);
	while (*screen_read(s))
		;
	statusline_show("again");
	assert_string_equal(screen_read(s), "\ragain\033[K");
}

/* Nearly full, so that poll would return POLLOUT, and stopped by Ctrl-S. */
static void does_not_wait_for_the_rest(void **state)
{
	struct screen *s = *state;
	char some[3];

	fill();
	assert_true(read(s->ours, some, sizeof(some)) > 0);
	alarm(20);
	for (int i = 0; i < 100; i++)
		statusline_show("a line that is longer than what is left");
	while (*screen_read(s))
		;
	assert_int_equal(tcflow(STDERR_FILENO, TCOOFF), 0);
	for (int i = 0; i < 100; i++)
		statusline_show("a line");
	assert_string_equal(screen_read(s), "");
	assert_int_equal(tcflow(STDERR_FILENO, TCOON), 0);
	alarm(0);
}

static void a_step_with_much_memory(void **state)
{
	struct screen *s = *state;

	statusline_step("listing", 1000000);
	assert_string_equal(screen_read(s), "");
	statusline_step("listing", UINT64_C(3) << 30);
	assert_string_equal(screen_read(s), "\rlisting: 3.0 GiB\033[K");
}

static void due_after_a_second(void **state)
{
	struct statusline_work work = { 0 };
	const double began = screen_now();
	double last = began, least = 1;

	/* the time is read after the answer: however long this process waits for a processor, that is true */
	(void)state;
	for (unsigned times = 0; times < 3; times++) {
		while (!statusline_due(&work))
			assert_true(screen_now() < last + 20);
		assert_true(screen_now() >= last + least);
		last += least;
		least = 0.2;
	}
}

int main(void)
{
#define screen_test(f) cmocka_unit_test_setup_teardown(f, screen_begin, screen_end)
	const struct CMUnitTest tests[] = {
		screen_test(overwrites_itself),
		screen_test(never_wraps),
		screen_test(makes_way_for_messages),
		screen_test(nothing_where_there_is_no_terminal),
		screen_test(does_not_wait),
		screen_test(does_not_wait_for_the_rest),
		screen_test(a_step_with_much_memory),
		screen_test(due_after_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
