/* SPDX-License-Identifier: MIT */
/* text_path: tidied as debug information needs it, shortened in the middle, safe to print. */
#include "report/text/groups/text_path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_path(const char *path, int line, size_t width, const char *expected)
{
	struct strbuf sb = STRBUF_INIT;

	text_path(&sb, path, line, width);
	assert_int_equal(strbuf_error(&sb), 0);
	assert_string_equal(strbuf_str(&sb), expected);
	strbuf_fini(&sb);
}

static void tidied(void **state)
{
	(void)state;
	assert_path("./nptl/./nptl/allocate.S", 442, 100, "nptl/allocate.S:442");
	assert_path("/build/./src/./x.c", 0, 100, "/build/src/x.c");
	assert_path("./csu/../csu/libc-start.c", 360, 100, "csu/../csu/libc-start.c:360");
	assert_path("//usr//src/x.c", 1, 100, "/usr/src/x.c:1");
	/* two directories may have one name, and so may a directory and a file */
	assert_path("/src/redis/redis/x.c", 7, 100, "/src/redis/redis/x.c:7");
	assert_path("./x/./x", 7, 100, "x/x:7");
	assert_path("x.c", 7, 100, "x.c:7");
	assert_path("./.", 0, 100, "./.");
	assert_path("/", 0, 100, "/");
	assert_path("", 0, 100, "");
}

static void shortened_in_the_middle(void **state)
{
	const char *path = "/build/reproducible-path/svc-1.2/src/session.cc";

	(void)state;
	assert_path(path, 120, 51, "/build/reproducible-path/svc-1.2/src/session.cc:120");
	assert_path(path, 120, 50, "/build/.../svc-1.2/src/session.cc:120");
	assert_path(path, 120, 37, "/build/.../svc-1.2/src/session.cc:120");
	assert_path(path, 120, 36, "/build/.../src/session.cc:120");
	/* the first directory and the name stay, also where that is too long */
	assert_path(path, 120, 28, "/build/.../session.cc:120");
	assert_path(path, 120, 0, "/build/.../session.cc:120");
	assert_path("csu/deep/down/x.c", 3, 14, "csu/.../x.c:3");
	assert_path("/a/long_directory_\xc3\xbc/\xc3\xbc/x.S", 0, 12, "/a/.../\xc3\xbc/x.S");
}

/* Nothing is gained by dots for less than they are. */
static void nothing_to_leave_out(void **state)
{
	(void)state;
	assert_path("/build/session.cc", 120, 5, "/build/session.cc:120");
	assert_path("session.cc", 120, 5, "session.cc:120");
	assert_path("/build/src/session.cc", 120, 5, "/build/src/session.cc:120");
	assert_path("/build/srcs/session.cc", 120, 5, "/build/.../session.cc:120");
}

static void safe_to_print(void **state)
{
	(void)state;
	assert_path("/a\x1b[2J/b\n/c\xff", 1, 100, "/a\\x1b[2J/b\\x0a/c\\xff:1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tidied),
		cmocka_unit_test(shortened_in_the_middle),
		cmocka_unit_test(nothing_to_leave_out),
		cmocka_unit_test(safe_to_print),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
