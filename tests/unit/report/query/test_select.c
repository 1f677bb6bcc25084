/* SPDX-License-Identifier: MIT */
/* select: --focus and --ignore together, on every part of a frame, and errors in an expression. */
#include "report/query/select.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct summary_frame session[] = {
	{ .function = "session_open", .module = "/usr/bin/svc", .file = "/src/session.c", .line = 42 },
	{ .pc = 1 },
	{ .function = "main", .module = "/usr/bin/svc" },
	{ .module = "/usr/bin/svc", .offset = 0x18c8 },
};
static const struct summary_frame cache[] = { { .function = "cache_put", .module = "/usr/lib/libcache.so",
					       .offset = 0xabc } };

struct wants {
	struct select *s;
	char why[100];
};

static struct wants make(const char *focus, const char *second_focus, const char *ignore)
{
	struct wants w = { 0 };

	assert_int_equal(select_new(&w.s), 0);
	if (focus)
		assert_int_equal(select_focus(w.s, focus, w.why, sizeof(w.why)), 0);
	if (second_focus)
		assert_int_equal(select_focus(w.s, second_focus, w.why, sizeof(w.why)), 0);
	if (ignore)
		assert_int_equal(select_ignore(w.s, ignore, w.why, sizeof(w.why)), 0);
	return w;
}

static void assert_wants(const char *focus, const char *second_focus, const char *ignore, bool want_session,
			 bool want_cache)
{
	struct wants w = make(focus, second_focus, ignore);

	assert_int_equal(select_wants(w.s, session, 4), want_session);
	assert_int_equal(select_wants(w.s, cache, 1), want_cache);
	select_free(w.s);
}

static void both_together(void **state)
{
	(void)state;
	assert_wants(NULL, NULL, NULL, true, true);
	assert_wants("^session", NULL, NULL, true, false);
	assert_wants("libcache", NULL, NULL, false, true);
	assert_wants("session\\.c$", NULL, NULL, true, false);
	assert_wants("session\\.c:42", NULL, NULL, true, false);
	assert_wants("session\\.c:4$", NULL, NULL, false, false);
	assert_wants("nobody", "cache_(get|put)", NULL, false, true);
	assert_wants("session", "cache", NULL, true, true);
	assert_wants(NULL, NULL, "^main$", false, true);
	assert_wants("svc", NULL, "session", false, false);
	assert_wants("0x18c8", NULL, NULL, true, false);
	assert_wants("^svc\\+0x18c8$", NULL, NULL, true, false);
	assert_wants("^svc\\+0x18c$", NULL, NULL, false, false);
	assert_wants(NULL, NULL, "libcache.so\\+0xab", true, false);
	assert_wants(".", NULL, "libcache", true, false);
}

static void a_stack_without_names(void **state)
{
	struct wants w = make(".*", NULL, NULL);

	(void)state;
	assert_true(select_wants(NULL, NULL, 0));
	assert_false(select_wants(w.s, NULL, 0));
	assert_false(select_wants(w.s, session + 1, 1));
	select_free(w.s);
	select_free(NULL);
}

static void a_wrong_expression_says_why(void **state)
{
	struct wants w = make("ok", NULL, NULL);

	(void)state;
	assert_int_equal(select_focus(w.s, "(a", w.why, sizeof(w.why)), -EINVAL);
	assert_true(strlen(w.why) > 3);
	assert_int_equal(select_ignore(w.s, "[", w.why, 2), -EINVAL);
	assert_int_equal(strlen(w.why), 1);
	assert_false(select_wants(w.s, session, 4));
	select_free(w.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_together),
		cmocka_unit_test(a_stack_without_names),
		cmocka_unit_test(a_wrong_expression_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
