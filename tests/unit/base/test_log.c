/* SPDX-License-Identifier: MIT */
/* log: what reaches stderr, byte for byte; errno is preserved; nothing in a message controls the terminal. */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int kept_stderr;
static int pipe_fds[2];

/* stderr goes to a pipe during a test. */
static int redirect(void **state)
{
	(void)state;
	kept_stderr = dup(STDERR_FILENO);
	return pipe2(pipe_fds, O_NONBLOCK) || dup2(pipe_fds[1], STDERR_FILENO) < 0;
}

static int restore(void **state)
{
	(void)state;
	dup2(kept_stderr, STDERR_FILENO);
	close(kept_stderr);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	return 0;
}

/* What was written since the last time. */
static const char *written(char *buf, size_t n)
{
	ssize_t got = read(pipe_fds[0], buf, n - 1);

	buf[got > 0 ? got : 0] = '\0';
	return buf;
}

static char buf[2 * LOG_LINE_MAX];

static void one_line_each(void **state)
{
	(void)state;
	log_error_errno(-EPERM, "cannot attach to %d", 1234);
	assert_string_equal(written(buf, sizeof(buf)),
			    "mmattach: cannot attach to 1234: Operation not permitted\n");
	log_warn("short of %s", "time");
	log_hint("take more");
	assert_string_equal(written(buf, sizeof(buf)),
			    "mmattach: warning: short of time\nmmattach: hint: take more\n");
	log_verbose("detail");
	assert_string_equal(written(buf, sizeof(buf)), "");
}

static void errno_is_kept(void **state)
{
	(void)state;
	errno = EXDEV;
	log_error_errno(EPERM, "x");
	log_info("x");
	log_hint("x");
	assert_int_equal(errno, EXDEV);
	written(buf, sizeof(buf));

	/* also if writing fails: a pipe that is full */
	char fill[4096] = { 0 };
	while (write(pipe_fds[1], fill, sizeof(fill)) > 0)
		;
	errno = EXDEV;
	log_error("nobody reads");
	assert_int_equal(errno, EXDEV);
}

static void names_cannot_drive_the_terminal(void **state)
{
	(void)state;
	log_error("no process %s", "a\x1b[2J\nmmattach: all is well\x7f \xc2\x9b \xc3\xbc");
	assert_string_equal(written(buf, sizeof(buf)),
			    "mmattach: no process a?[2J?mmattach: all is well? ?? \xc3\xbc\n");
	log_error("no process %s", "\xe2\x80\xae" "b\xd8\x9c\xef\xbb\xbf \x9b" "2J\xff \xe2\x82\xac");
	assert_string_equal(written(buf, sizeof(buf)), "mmattach: no process ???b????? ?2J? \xe2\x82\xac\n");
}

static void long_messages_are_cut(void **state)
{
	char big[2 * LOG_LINE_MAX];

	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	log_error_errno(ENOENT, "%s", big);
	written(buf, sizeof(buf));
	assert_int_equal(strlen(buf), LOG_LINE_MAX - 1);
	assert_int_equal(strcspn(buf, "\n"), LOG_LINE_MAX - 2);
}

static void debug_by_domain(void **state)
{
	char bad[8] = "";

	(void)state;
	assert_int_equal(log_debug_enable("trap,nonsense,event", bad, sizeof(bad)), -EINVAL);
	assert_string_equal(bad, "nonsens");
	assert_int_equal(log_debug_enable("trap,", bad, sizeof(bad)), -EINVAL);
	log_debug(TRAP, "planted");
	assert_string_equal(written(buf, sizeof(buf)), "");

	assert_int_equal(log_debug_enable("trap,plan", bad, sizeof(bad)), 0);
	log_debug(TRAP, "planted at %d", 5);
	assert_true(strstr(written(buf, sizeof(buf)), " trap: planted at 5\n") != NULL);
	int evaluated = 0;
	log_debug(EVENT, "%d", evaluated++);
	assert_int_equal(evaluated, 0);
	assert_string_equal(written(buf, sizeof(buf)), "");
	log_debug(PLAN, "%d", evaluated++);
	assert_int_equal(evaluated, 1);
}

static void each_domain_can_be_named(void **state)
{
	const char *name, *what;
	char bad[16];
	size_t n = 0;

	(void)state;
	for (; log_domain_describe(n, &name, &what); n++) {
		assert_int_equal(log_debug_enable(name, bad, sizeof(bad)), 0);
		assert_true(log_debug_on((enum log_domain)n));
		assert_true(strlen(what) > 0);
	}
	assert_int_equal(n, LOG_DOMAIN_COUNT);
	assert_int_equal(log_debug_enable("all", bad, sizeof(bad)), 0);
}

static void quiet_and_verbose(void **state)
{
	(void)state;
	log_set_quiet();
	log_warn("a");
	log_hint("b");
	log_info("c");
	assert_string_equal(written(buf, sizeof(buf)), "");
	log_error("d");
	log_hint("e");
	log_announce("watching %d", 1);
	assert_string_equal(written(buf, sizeof(buf)), "mmattach: d\nmmattach: hint: e\n");
	log_set_verbose();
	log_announce("watching %d", 2);
	assert_string_equal(written(buf, sizeof(buf)), "watching 2\n");
	log_verbose("f");
	assert_string_equal(written(buf, sizeof(buf)), "mmattach: f\n");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, redirect, restore)

static void diverted_and_named(void **state)
{
	char text[32] = "";

	(void)state;
	log_divert(text, sizeof(text));
	log_warn("not this");
	log_hint("nor this");
	log_error_errno(EPERM, "cannot attach");
	log_error("a second one");
	assert_string_equal(written(buf, sizeof(buf)), "");
	assert_string_equal(text, "cannot attach: Operation not pe");
	log_divert(NULL, 0);
	log_set_subject("nginx 812");
	log_error("it was lost");
	assert_string_equal(written(buf, sizeof(buf)), "mmattach: nginx 812: it was lost\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_line_each),
		TEST(errno_is_kept),
		TEST(names_cannot_drive_the_terminal),
		TEST(long_messages_are_cut),
		TEST(debug_by_domain),
		TEST(each_domain_can_be_named),
		TEST(quiet_and_verbose),
		TEST(diverted_and_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
