/* SPDX-License-Identifier: MIT */
/*
 * pylines: one function as CPython 3.9, 3.10, 3.11 and 3.13 compile it, with their own answers; damaged
 * tables.
 */
#include "attach/stacks/python/pylines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/*
 * def f(a):			41
 *     b = 1
 *     if a:
 *
 *         b = [
 *             a,
 *             2]
 *     for x in (1, 2):
 *         b = x
 *     return (b +
 *             a)
 */
static const uint8_t lnotab[] = {
	0x00, 0x01, 0x04, 0x01, 0x04, 0x03, 0x02, 0x01, 0x02, 0xfe,
	0x04, 0x03, 0x08, 0x01, 0x06, 0x01, 0x02, 0x01, 0x02, 0xff,
};
static const uint8_t ranges[] = {
	0x04, 0x01, 0x04, 0x01, 0x02, 0x03, 0x02, 0x01, 0x04, 0xfe,
	0x08, 0x03, 0x06, 0x01, 0x02, 0x01, 0x02, 0x01, 0x04, 0xff,
};
static const uint8_t locations[] = {
	0x80, 0x00, 0xd8, 0x08, 0x09, 0x80, 0x41, 0xd8, 0x07, 0x08, 0xf0, 0x00, 0x04, 0x05,
	0x0f, 0xf0, 0x06, 0x00, 0x0d, 0x0e, 0xd8, 0x0c, 0x0d, 0xf0, 0x05, 0x02, 0x0d, 0x0f,
	0x88, 0x01, 0xf0, 0x06, 0x00, 0x0e, 0x14, 0xf0, 0x00, 0x01, 0x05, 0x0e, 0xf0, 0x00,
	0x01, 0x05, 0x0e, 0x88, 0x01, 0xd8, 0x0c, 0x0d, 0x88, 0x01, 0x88, 0x01, 0xd8, 0x0c,
	0x0d, 0xd8, 0x0c, 0x0d, 0xf1, 0x03, 0x01, 0x0d, 0x0e, 0xf0, 0x00, 0x01, 0x05, 0x0f,
};
static const uint8_t locations13[] = {
	0x80, 0x00, 0xd8, 0x08, 0x09, 0x80, 0x41, 0xde, 0x07, 0x08, 0xf0, 0x06, 0x00, 0x0d, 0x0e,
	0xd8, 0x0c, 0x0d, 0xf0, 0x05, 0x02, 0x0d, 0x0f, 0x88, 0x01, 0xf3, 0x06, 0x00, 0x0e, 0x14,
	0x88, 0x01, 0xd8, 0x0c, 0x0d, 0x8a, 0x01, 0xf1, 0x03, 0x00, 0x0e, 0x14, 0xe0, 0x0c, 0x0d,
	0xd8, 0x0c, 0x0d, 0xf1, 0x03, 0x01, 0x0d, 0x0e, 0xf0, 0x00, 0x01, 0x05, 0x0f,
};

/* From @at on, until the next one. */
struct at_line {
	uint32_t at, line;
};

static void check(enum layouts_lines form, const uint8_t *table, size_t n, const struct at_line *want,
		  size_t nwant)
{
	for (size_t i = 0; i + 1 < nwant; i++)
		for (uint32_t at = want[i].at; at < want[i + 1].at; at += 2)
			assert_int_equal(pylines_at(form, table, n, 41, at), want[i].line);
}

#define CHECK(form, table, ...)                                                        \
	do {                                                                           \
		static const struct at_line want[] = { __VA_ARGS__ };                  \
		check(form, table, sizeof(table), want, sizeof(want) / sizeof(*want)); \
	} while (0)

static void as_they_say(void **state)
{
	(void)state;
	CHECK(LAYOUTS_LINES_LNOTAB, lnotab, { 0, 42 }, { 4, 43 }, { 8, 46 }, { 10, 47 }, { 12, 45 },
	      { 16, 48 }, { 24, 49 }, { 30, 50 }, { 32, 51 }, { 34, 50 }, { 38, 0 });
	CHECK(LAYOUTS_LINES_RANGES, ranges, { 0, 42 }, { 4, 43 }, { 8, 46 }, { 10, 47 }, { 12, 45 },
	      { 16, 48 }, { 24, 49 }, { 30, 50 }, { 32, 51 }, { 34, 50 }, { 38, 0 });
	CHECK(LAYOUTS_LINES_LOCATIONS, locations, { 0, 41 }, { 2, 42 }, { 6, 43 }, { 10, 46 }, { 12, 47 },
	      { 14, 45 }, { 18, 48 }, { 26, 49 }, { 32, 50 }, { 34, 51 }, { 36, 50 }, { 42, 0 });
	CHECK(LAYOUTS_LINES_LOCATIONS, locations13, { 0, 41 }, { 2, 42 }, { 6, 43 }, { 20, 46 }, { 22, 47 },
	      { 24, 45 }, { 28, 48 }, { 38, 49 }, { 46, 48 }, { 50, 50 }, { 52, 51 }, { 54, 50 }, { 60, 0 });
}

/* Behind the last range, and where the table says that there is none. */
static void no_line(void **state)
{
	static const uint8_t none[] = { 0x04, 0x01, 0x02, 0x80, 0x02, 0x00 },
			     none11[] = { 0xd8, 0x08, 0x09, 0xf8 };

	(void)state;
	assert_int_equal(pylines_at(LAYOUTS_LINES_RANGES, none, sizeof(none), 7, 2), 8);
	assert_int_equal(pylines_at(LAYOUTS_LINES_RANGES, none, sizeof(none), 7, 4), 0);
	assert_int_equal(pylines_at(LAYOUTS_LINES_RANGES, none, sizeof(none), 7, 6), 8);
	assert_int_equal(pylines_at(LAYOUTS_LINES_RANGES, none, sizeof(none), 7, 8), 0);
	assert_int_equal(pylines_at(LAYOUTS_LINES_LOCATIONS, none11, sizeof(none11), 7, 0), 8);
	assert_int_equal(pylines_at(LAYOUTS_LINES_LOCATIONS, none11, sizeof(none11), 7, 2), 0);
	assert_int_equal(pylines_at(LAYOUTS_LINES_LOCATIONS, none11, sizeof(none11), 7, 4), 0);
	assert_int_equal(pylines_at(LAYOUTS_LINES_LOCATIONS, NULL, 0, 7, 0), 0);
}

/* Nothing is read behind a table that ends in the middle, whatever is in it (with the sanitizers). */
static void damaged(void **state)
{
	(void)state;
	for (size_t n = 1; n < 64; n++) {
		uint8_t *table = malloc(n);

		assert_non_null(table);
		for (int seed = 0; seed < 64; seed++) {
			for (size_t i = 0; i < n; i++)
				table[i] =
					(uint8_t)((i * 37 + (size_t)seed * 101) ^ (size_t)(seed << 3) ^ 0xff);
			for (int form = LAYOUTS_LINES_LNOTAB; form <= LAYOUTS_LINES_LOCATIONS; form++)
				(void)pylines_at((enum layouts_lines)form, table, n, 1, 1000);
		}
		free(table);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_they_say),
		cmocka_unit_test(no_line),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
