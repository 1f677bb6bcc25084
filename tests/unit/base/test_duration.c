/* SPDX-License-Identifier: MIT */
/* duration: what is accepted, what is refused, and that formatted text can be parsed again. */
#include "base/duration.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void takes(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{ "30s", 30 * SECOND },		{ "10m", 600 * SECOND },
		{ "1h30m", 5400 * SECOND },	{ "200ms", SECOND / 5 },
		{ "5", 5 * SECOND },		{ "0", 0 },
		{ "0.25", SECOND / 4 },		{ "1.5h", 5400 * SECOND },
		{ "2d", 172800 * SECOND },	{ "1m1ms", 60 * SECOND + 1000000 },
		{ "10us", 10000 },		{ "7ns", 7 },
		{ "90m", 5400 * SECOND },	{ "1.123456789s", 1123456789 },
		{ "0.3333333333333333333333s", 333333333 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		uint64_t ns = 1;
		assert_int_equal(duration_parse(good[i].text, &ns), 0);
		assert_int_equal(ns, good[i].ns);
	}
}

static void refuses(void **state)
{
	static const char *const bad[] = {
		"", " ", "s", "-1s", "+1s", "1 s", " 1s", "1s ", "1x", "1.s", ".5s", "1..5s", "30m1h", "1s1s",
		"1h30", "1e3s", "0x10s", "1S", "inf", "1sec", "1h m", "1,5s",
	};
	uint64_t ns = 42;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(duration_parse(bad[i], &ns), -EINVAL);
	assert_int_equal(duration_parse("99999999999999999999s", &ns), -ERANGE);
	assert_int_equal(duration_parse("10000000000s", &ns), -ERANGE);
	assert_int_equal(duration_parse("106752d", &ns), -ERANGE);
	assert_int_equal(ns, 42);
}

static void formats(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} pairs[] = {
		{ 0, "0s" },				{ 10 * SECOND, "10s" },
		{ 1500000000, "1.5s" },			{ 200000000, "200ms" },
		{ 5400 * SECOND, "1h30m" },		{ 600 * SECOND, "10m" },
		{ 3600 * SECOND + 1, "1h" },		{ 86400 * SECOND * 3 + 7200 * SECOND, "3d2h" },
		{ 59999999999, "59.9s" },		{ 1, "1ns" },
	};
	char buf[DURATION_TEXT];

	(void)state;
	for (size_t i = 0; i < COUNT(pairs); i++)
		assert_string_equal(duration_format(pairs[i].ns, buf, sizeof(buf)), pairs[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes),
		cmocka_unit_test(refuses),
		cmocka_unit_test(formats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
