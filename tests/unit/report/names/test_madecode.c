/* SPDX-License-Identifier: MIT */
/* madecode: a function has the same name in every tier; another function has another name. */
#include "report/names/madecode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void same_names(const struct defs_name *a, const struct defs_name *b, bool want)
{
	assert_int_equal(madecode_same(a, b), want);
	assert_int_equal(madecode_same(b, a), want);
	assert_int_equal(madecode_hash(a) == madecode_hash(b), want);
}

static void same(const char *a, const char *b, bool want)
{
	same_names(&(struct defs_name){ .function = a }, &(struct defs_name){ .function = b }, want);
}

static void tiers(void **state)
{
	(void)state;
	same("JS:~work app.js:3:10", "JS:*work app.js:3:10", true);
	same("JS:^work app.js:3:10", "JS:+work app.js:3:10", true);
	same("LazyCompile:*work app.js:3", "LazyCompile:~work app.js:3", true);
	same("void [svc] Cache::Add()[Tier0]", "void [svc] Cache::Add()[OptimizedTier1]", true);
	same("Interpreter", "Interpreter", true);
	same("", "", true);
}

static void others(void **state)
{
	(void)state;
	same("JS:*work app.js:3:10", "JS:*work app.js:4:10", false);
	same("JS:*work", "Script:*work", false);
	same("a::*b", "a::b", false);
	same("int[] Sort(int[])", "int[] Sort(int[]", false);
	same("f[2]", "f", false);
	same("Lsvc/Cache;::add", "Lsvc/Cache;::remove", false);
}

/* Of a function of a script each line is a frame of its own. */
static void scripts(void **state)
{
	const struct defs_name one = { .function = "load", .file = "/srv/orders.py", .line = 41 };
	struct defs_name other = one;

	(void)state;
	same_names(&one, &other, true);
	other.line = 42;
	same_names(&one, &other, false);
	other = (struct defs_name){ .function = "load", .file = "/srv/users.py", .line = 41 };
	same_names(&one, &other, false);
	other.file = NULL;
	other.line = 0;
	same_names(&one, &other, false);
}

int main(void)
{
	static const struct CMUnitTest tests[] = { cmocka_unit_test(tiers), cmocka_unit_test(others),
						   cmocka_unit_test(scripts) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
