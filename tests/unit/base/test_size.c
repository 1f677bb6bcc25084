/* SPDX-License-Identifier: MIT */
/* size: what users write, what is refused. */
#include "base/size.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void assert_size(const char *text, uint64_t expected)
{
	uint64_t bytes = 1;

	assert_int_equal(size_parse(text, &bytes), 0);
	assert_int_equal(bytes, expected);
}

static void what_people_write(void **state)
{
	(void)state;
	assert_size("0", 0);
	assert_size("4096", 4096);
	assert_size("100b", 100);
	assert_size("64K", 65536);
	assert_size("64k", 65536);
	assert_size("1KB", 1024);
	assert_size("1KiB", 1024);
	assert_size("100M", 104857600);
	assert_size("2G", 2147483648ull);
	assert_size("3T", 3ull << 40);
	assert_size("18446744073709551615", UINT64_MAX);
	assert_size("16777215T", 16777215ull << 40);
}

static void what_is_refused(void **state)
{
	static const char *const bad[] = {
		"", "M", "-1", "+1", " 1", "1 M", "1MM", "1Mi", "1X", "1.5M", "0x10", "18446744073709551616",
		"16777216T", "1K ",
	};
	uint64_t bytes = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(size_parse(bad[i], &bytes), -EINVAL);
	assert_int_equal(bytes, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_people_write),
		cmocka_unit_test(what_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
